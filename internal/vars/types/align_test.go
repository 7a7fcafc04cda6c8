package types

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// Types that are parts of themselves end.
func TestAlignOfEndless(t *testing.T) {
	self := structure("s", sized(8))
	var parts []any
	for i := range 200 {
		parts = append(parts, at(i, "a", self), typed(dwarf.TagInheritance, "", self, attr(dwarf.AttrDataMemberLoc, i)))
	}
	*self = *structure("s", append(parts, sized(8))...)
	typ := typeOf(t, dwarf.LangCPlus14, self)
	if got := typ.Align(); got != 0 {
		t.Errorf("%d", got)
	}
	if n := len(typ.Definition(Layout{Offsets: true})); n > MaxDefinition {
		t.Errorf("%d lines", n)
	}
}

// The address of an object is a multiple of what its members ask for, unless the declaration says more.
func TestAlign(t *testing.T) {
	num, char, long := base("int", 4), base("char", 1), base("long", 8)
	for what, c := range map[string]struct {
		typ  *node
		want uint64
	}{
		"number":      {num, 4},
		"struct":      {structure("s", sized(16), at(0, "c", char), at(8, "l", long)), 8},
		"small":       {structure("s", sized(2), at(0, "c", char)), 1},
		"array":       {arrayOf(num, 5), 4},
		"asked for":   {structure("s", sized(64), attr(dwarf.AttrAlignment, 64), at(0, "c", char)), 64},
		"typedef":     {typed(dwarf.TagTypedef, "t", long), 8},
		"pointer":     {pointerTo(char), 8},
		"not a power": {base("odd", 3), 0},
		"member":      {typed(dwarf.TagPtrToMemberType, "", num), 8},
		"declared":    {structure("only", declared), 0},
	} {
		if got := typeOf(t, dwarf.LangCPlus14, c.typ).Align(); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
}
