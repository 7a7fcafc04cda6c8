package image

import "testing"

func TestGoMinor(t *testing.T) {
	for version, want := range map[string]int{
		"go1.22.3": 22, "go1.21.5 X:nocoverageredesign": 21, "go1.18": 18, "go1.24rc1": 24, "devel go1.27-5f0a": 27, "": 0, "gc": 0, "go1.x": 0,
	} {
		if got := GoMinor(version); got != want {
			t.Errorf("%q is 1.%d, want 1.%d", version, got, want)
		}
	}
}
