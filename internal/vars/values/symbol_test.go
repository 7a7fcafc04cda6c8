package values

import "testing"

// Names that tell nothing, or the text that is printed anyway.
func TestSymbolsOfConstants(t *testing.T) {
	for name, want := range map[string][2]bool{
		"??_C@_05HPNJKEMN@a?5job?$AA@": {true, false},
		"__real@3ff8000000000000":      {false, true},
		"__xmm@00":                     {false, true},
		"??_7Foo@@6B@":                 {false, false},
		"main":                         {false, false},
	} {
		s := Symbol{Linkage: name}
		if s.literal() != want[0] || s.unnamed() != want[1] {
			t.Errorf("%s: literal %v, unnamed %v; want %v", name, s.literal(), s.unnamed(), want)
		}
	}
}
