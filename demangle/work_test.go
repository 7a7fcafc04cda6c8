package demangle

import (
	"strings"
	"testing"
)

// Names that would take the demangler minutes or gigabytes are not demangled; long names as compilers make them
// are.
func TestTooMuchWork(t *testing.T) {
	rep := strings.Repeat
	for what, s := range map[string]string{
		"a pack expanded often":           "_Z1fIJ" + rep("i", 3000) + "EEv" + rep("Dp1aIT_E", 300),
		"a small pack expanded too often": "_Z1fIJ" + rep("i", 400) + "EEv" + rep("DpT_", 1000),
		"hidden behind an array's length": "_Z1fIJA5000_" + rep("i", 3000) + "EEv" + rep("Dp1aIT_E", 300),
		"hidden behind a literal":         "_Z1fIJLi5000E" + rep("i", 3000) + "EEv" + rep("Dp1aIT_E", 300),
		"hidden behind an enumerator":     "_Z1fIJL1a5000E" + rep("i", 3000) + "EEv" + rep("Dp1aIT_E", 300),
	} {
		if !tooMuchWork(s) {
			t.Errorf("%s: not refused", what)
		}
		if got := Name(s); got != s {
			t.Errorf("%s: %.100s", what, got)
		}
	}
	long := rep("14a_long_segment", 400)
	for what, s := range map[string]string{
		"deep namespaces":            "_ZN" + long + "1fEv",
		"a tuple of 250 identifiers": "_Z1fIJ" + rep("N14a_long_segment3foo3barE", 250) + "EEvDpOT_",
		"pointers":                   "_Z1f" + rep("P", 4000) + "i",
	} {
		if tooMuchWork(s) || len(s) > MaxInput || Name(s) == s {
			t.Errorf("%s: refused", what)
		}
	}
}
