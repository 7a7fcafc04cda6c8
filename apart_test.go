package corewalk

import (
	"strings"
	"testing"
)

// TestApart: paths of files that a dump made up do not make a pack that cannot be unpacked.
func TestApart(t *testing.T) {
	files := []string{"/usr/bin/program", "/tmp/jit-7.dump"}
	for path, want := range map[string]bool{
		"/tmp/perf-7.map": true, "/srv/a/jit-7.dump": true, "/usr/bin/jit-7.dump": true,
		"/tmp/jit-7.dump": false, "/usr/bin/program/jit-7.dump": false, "/usr/bin": false,
		"jit-7.dump": false, "/srv/../jit-7.dump": false, "/srv//jit-7.dump": false, "/" + strings.Repeat("a", 5000) + "/jit-7.dump": false,
	} {
		if apart(files, path) != want {
			t.Errorf("%.40s: not %v", path, want)
		}
	}
}
