package modules

import "testing"

// Nothing is near a program in the root directory or at home, which have everything below them.
func TestIsNear(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	for _, c := range []struct {
		dir, path string
		near      bool
	}{{"/opt/x", "/opt/x/src/a.c", true}, {"/opt/x", "/opt/xy/a.c", false}, {"/opt/x", "/opt/a.c", false}, {"/", "/etc/a.c", false}, {"/home/u", "/home/u/a.c", false}, {"/home/u/x", "/home/u/x/a.c", true}} {
		if isNear(c.dir, c.path) != c.near {
			t.Errorf("%s of %s: not %t", c.path, c.dir, c.near)
		}
	}
}
