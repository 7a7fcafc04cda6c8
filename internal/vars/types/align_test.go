package types

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
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
	chars := func(n int) *node { // in structures, as one has no more members than are kept
		s := structure("many", sized(n))
		for i := range n {
			s.kids = append(s.kids, at(i, "c", char))
		}
		return s
	}
	for what, c := range map[string]struct {
		typ  *node
		want uint64
	}{
		"number":               {num, 4},
		"struct":               {structure("s", sized(16), at(0, "c", char), at(8, "l", long)), 8},
		"small":                {structure("s", sized(2), at(0, "c", char)), 1},
		"array":                {arrayOf(num, 5), 4},
		"asked for":            {structure("s", sized(64), attr(dwarf.AttrAlignment, 64), at(0, "c", char)), 64},
		"typedef of what asks": {typed(dwarf.TagTypedef, "t", structure("s", sized(64), attr(dwarf.AttrAlignment, 64), at(0, "c", char))), 64},
		"typedef":              {typed(dwarf.TagTypedef, "t", long), 8},
		"pointer":              {pointerTo(char), 8},
		"not a power":          {base("odd", 3), 0},
		"member":               {typed(dwarf.TagPtrToMemberType, "", num), 8},
		"packed":               {structure("s", sized(5), at(0, "c", char), at(1, "i", num)), 0},
		"of packed":            {structure("s", sized(8), at(0, "p", structure("p", sized(5), at(0, "c", char), at(1, "i", num)))), 0},
		"short":                {structure("s", sized(5), at(0, "i", num), at(4, "c", char)), 0},
		"bits":                 {structure("s", sized(4), at(1, "b", num, nodeAttr{dwarf.AttrBitSize, 3}, nodeAttr{dwarf.AttrDataBitOffset, 9})), 4},
		"virtual":              {structure("s", sized(8), typed(dwarf.TagInheritance, "", structure("v", sized(8), at(0, "l", long)), nodeAttr{dwarf.AttrVirtuality, 1}, nodeAttr{dwarf.AttrDataMemberLoc, 12})), 8},
		"static":               {structure("s", sized(1), at(0, "c", char), at(0, "l", long, nodeAttr{dwarf.AttrExternal, true})), 1},
		"vector":               {typed(dwarf.TagArrayType, "", num, die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrCount, 8}), nodeAttr{attrGNUVector, true}), 32},
		"complex":              {die(dwarf.TagBaseType, "complex float", sized(8), nodeAttr{dwarf.AttrEncoding, int(EncComplexFloat)}), 4},
		"of a method":          {typed(dwarf.TagPtrToMemberType, "", die(dwarf.TagSubroutineType, "")), 8},
		"16 at most":           {base("wide", 32), 16},
		"declared":             {structure("only", declared), 0},
		"asks for 1":           {structure("s", sized(5), attr(dwarf.AttrAlignment, 1), at(0, "c", char), at(1, "i", num)), 1},
		"asks for 0":           {structure("s", sized(16), attr(dwarf.AttrAlignment, 0), at(0, "l", long)), 8},
		"no size":              {die(dwarf.TagBaseType, "none"), 0},
		"own size":             {typed(dwarf.TagPtrToMemberType, "", num, sized(16)), 8},
		"long complex":         {die(dwarf.TagBaseType, "complex double", sized(16), nodeAttr{dwarf.AttrEncoding, int(EncComplexFloat)}), 8},
		"const":                {typed(dwarf.TagConstType, "", typed(dwarf.TagVolatileType, "", num)), 4},
		"at odds":              {structure("s", sized(12), at(0, "i", num), at(6, "j", num)), 0},
		"one bit":              {structure("s", sized(4), typed(dwarf.TagMember, "b", num, nodeAttr{dwarf.AttrBitSize, 1}, nodeAttr{dwarf.AttrDataBitOffset, 9})), 4},
		"deep":                 {arraysIn(MaxChain-1, num), 4},
		"as deep as may be":    {arraysIn(MaxChain, num), 4},
		"deeper":               {arraysIn(MaxChain+1, num), 0},
		"many":                 {chars(maxLooked - 1), 1},
		"too many":             {chars(maxLooked), 0},
	} {
		if got := typeOf(t, dwarf.LangCPlus14, c.typ).Align(); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
}

// A number asks for less than its size where the processor's ABI says so.
func TestAlignOfProcessors(t *testing.T) {
	for _, c := range []struct {
		arch *arch.Arch
		want uint64
	}{{arch.AMD64, 8}, {arch.X86, 4}, {arch.M68K, 2}} {
		if got := NewSet(c.arch, nil).Number("double", 8, EncFloat).Align(); got != c.want {
			t.Errorf("%s: %d, want %d", c.arch.Name, got, c.want)
		}
	}
}

// A class that is only declared asks for what its definition does.
func TestAlignOfDeclared(t *testing.T) {
	long := base("long", 8)
	lost := structure("s", declared)
	typ := typeOf(t, dwarf.LangCPlus14, structure("holder", sized(16), at(0, "one", lost)), structure("s", sized(16), at(0, "l", long)))
	if got := typ.MemberType(&typ.Members().Fields[0]).Align(); got != 8 {
		t.Errorf("%d", got)
	}
	if got := typ.Align(); got != 8 {
		t.Errorf("of one that has it: %d", got)
	}
}
