package types

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Which units may define types is remembered only once all of them were looked at.
func TestCandidates(t *testing.T) {
	d := open(forest(&tree{lang: dwarf.LangC99}, &tree{lang: dwarf.LangCPlus14}, &tree{lang: dwarf.LangGo}, &tree{lang: dwarf.LangC99}))
	set := NewSet(arch.AMD64, noLibraries{})
	for _, c := range []struct {
		lang   dwarf.Language
		scoped bool
		stop   int
		want   int
	}{
		{dwarf.LangC99, false, 1, 1}, {dwarf.LangC99, false, 9, 3}, {dwarf.LangC99, false, 2, 2}, {dwarf.LangC99, false, 9, 3}, {dwarf.LangCPlus14, true, 9, 1},
		{dwarf.LangGo, false, 9, 1}, {dwarf.LangRust, false, 9, 0},
	} {
		n := 0
		set.candidates(d, c.lang, c.scoped, func(*dwarf.Unit) bool { n++; return n < c.stop })
		if n != c.want {
			t.Errorf("%+v: %d", c, n)
		}
	}
}
