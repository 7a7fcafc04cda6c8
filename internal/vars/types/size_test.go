package types

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// storing is a frame that has one number everywhere.
type storing uint64

func (s storing) Number(u *dwarf.Unit, v *dwarf.Value) (uint64, error) { return v.U, nil }

func (s storing) Stored(u *dwarf.Unit, v *dwarf.Value, size uint64) (uint64, error) {
	return uint64(s), nil
}

// The size of a string whose length lies somewhere is not that of the length.
func TestSizeOfString(t *testing.T) {
	for _, c := range []struct {
		name  string
		attrs []any
		want  uint64
	}{
		{"of its own", []any{sized(7)}, 7},
		{"elsewhere", []any{sized(4), nodeAttr{dwarf.AttrStringLength, []byte{0x91, 0}}}, 25},
	} {
		typ := die(dwarf.TagStringType, "character", c.attrs...)
		u := &tree{lang: dwarf.LangFortran90, kids: []*node{typ}}
		if got, err := typeIn(t, open(forest(u)), u, typ).SizeIn(storing(25)); err != nil || got != c.want {
			t.Errorf("%s: %d bytes, %v; want %d", c.name, got, err, c.want)
		}
	}
}

// An array's elements are no larger than an array may be.
func TestSizeOfElements(t *testing.T) {
	for size, ok := range map[int]bool{maxExtent/8 - 1: true, maxExtent / 8: true, maxExtent/8 + 1: false} {
		elem := structure("large", sized(size))
		typ := die(dwarf.TagArrayType, "", nodeAttr{dwarf.AttrType, elem}, die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrCount, 1}))
		u := &tree{lang: dwarf.LangC99, kids: []*node{elem, typ}}
		got, err := typeIn(t, open(forest(u)), u, typ).SizeIn(storing(0))
		if (err == nil) != ok || ok && got != uint64(size) {
			t.Errorf("%d bytes: %d, %v", size, got, err)
		}
	}
}

// Without its virtual base classes, a base class ends behind its last member.
func TestOwnSize(t *testing.T) {
	num, char, long := base("int", 4), base("char", 1), base("long", 8)
	virtual := nodeAttr{dwarf.AttrVirtuality, 1}
	inherits := func(of *node, off int, parts ...any) *node {
		return typed(dwarf.TagInheritance, "", of, append(parts, nodeAttr{dwarf.AttrDataMemberLoc, off})...)
	}
	top := structure("top", sized(8), at(0, "t", long))
	left := structure("left", sized(24), inherits(top, 16, virtual), at(8, "l", char))
	chain := func(n int) *node { // bases of bases, the innermost of which has a virtual one
		in := left
		for range n {
			in = structure("b", sized(24), inherits(in, 0))
		}
		return in
	}
	for _, c := range []struct {
		what string
		typ  *node
		want uint64
	}{
		{"no virtual base", structure("s", sized(16), at(0, "n", num)), 16},
		{"a virtual base", left, 9},
		{"only a virtual base", structure("s", sized(16), inherits(top, 8, virtual)), 0},
		{"a base that has one", structure("s", sized(40), inherits(left, 8)), 17},
		{"a base that has none", structure("s", sized(40), inherits(top, 8)), 40},
		{"one of both", structure("s", sized(48), inherits(left, 0), inherits(top, 24), at(12, "c", char)), 32},
		{"a bit field", structure("s", sized(24), inherits(top, 16, virtual), typed(dwarf.TagMember, "b", num, nodeAttr{dwarf.AttrBitSize, 3}, nodeAttr{dwarf.AttrDataBitOffset, 64})), 9},
		{"a bit field of a byte", structure("s", sized(24), inherits(top, 16, virtual), typed(dwarf.TagMember, "b", num, nodeAttr{dwarf.AttrBitSize, 8}, nodeAttr{dwarf.AttrDataBitOffset, 64})), 9},
		{"one bit", structure("s", sized(24), inherits(top, 16, virtual), typed(dwarf.TagMember, "b", num, nodeAttr{dwarf.AttrBitSize, 1}, nodeAttr{dwarf.AttrDataBitOffset, 72})), 10},
		{"many bits", structure("s", sized(120), inherits(top, 112, virtual), typed(dwarf.TagMember, "b", num, nodeAttr{dwarf.AttrBitSize, 8}, nodeAttr{dwarf.AttrDataBitOffset, 800})), 101},
		{"a member that has one", structure("s", sized(40), inherits(top, 32, virtual), at(0, "l", left)), 24},
		{"a static member", structure("s", sized(24), inherits(top, 16, virtual), at(0, "c", char), at(8, "l", long, nodeAttr{dwarf.AttrExternal, true})), 1},
		{"deep", chain(maxInner), 9},
		{"too deep", chain(maxInner + 1), 24},
	} {
		left := maxLooked
		if got := typeOf(t, dwarf.LangCPlus14, c.typ).ownSize(0, &left); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
	for n, want := range map[int]uint64{0: 24, 1: 9} { // no more than n classes are looked at
		if got := typeOf(t, dwarf.LangCPlus14, left).ownSize(0, &n); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

// A dimension has a first element, with the number that the language or the declaration gives it.
func TestLower(t *testing.T) {
	array := func(attrs ...any) *node {
		return typed(dwarf.TagArrayType, "", base("int", 4), die(dwarf.TagSubrangeType, "", attrs...), die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrLowerBound, -7}))
	}
	for _, c := range []struct {
		lang dwarf.Language
		typ  *node
		dim  int
		want int64
		ok   bool
	}{
		{dwarf.LangC99, array(), 0, 0, true}, {dwarf.LangAda95, array(), 0, 1, true}, {dwarf.LangAda2005, array(), 0, 0, true},
		{dwarf.LangAda95, array(nodeAttr{dwarf.AttrLowerBound, 5}), 0, 5, true}, {dwarf.LangC99, array(), 1, -7, true}, {dwarf.LangC99, array(), 2, 0, false},
		{dwarf.LangC99, array(nodeAttr{dwarf.AttrLowerBound, 1<<32 - 3}), 0, 1<<32 - 3, true},
	} {
		if got, err := typeOf(t, c.lang, c.typ).Lower(storing(0), c.dim); got != c.want || (err == nil) != c.ok {
			t.Errorf("language %#x, dimension %d: %d, %v", uint16(c.lang), c.dim, got, err)
		}
	}
	typ := typeOf(t, dwarf.LangC99, array(nodeAttr{dwarf.AttrLowerBound, 1<<32 - 3}))
	typ.Dims()[0].lower.Form = dwarf.FormData4 // which has no sign
	if got, err := typ.Lower(storing(0), 0); got != -3 || err != nil {
		t.Errorf("of four bytes: %d, %v", got, err)
	}
}

// Some languages' variables of functions hold a pointer; other types of functions are those of functions.
func TestFunctionValue(t *testing.T) {
	for _, c := range []struct {
		lang dwarf.Language
		typ  *node
		want bool
		size uint64
	}{
		{dwarf.LangGo, die(dwarf.TagSubroutineType, "f"), true, 8}, {dwarf.LangPascal83, die(dwarf.TagSubroutineType, "f"), true, 8},
		{dwarf.LangC99, die(dwarf.TagSubroutineType, "f"), false, 0}, {dwarf.LangPascal83, structure("f", sized(4)), false, 4}, {dwarf.LangGo, typed(dwarf.TagTypedef, "g", die(dwarf.TagSubroutineType, "f")), true, 8},
	} {
		typ := typeOf(t, c.lang, c.typ)
		if size, err := typ.SizeIn(storing(0)); typ.FunctionValue() != c.want || size != c.size || err != nil {
			t.Errorf("%s of language %#x: %t, %d bytes, %v", typ.Name(), uint16(c.lang), typ.FunctionValue(), size, err)
		}
	}
}

func TestAda(t *testing.T) {
	for l := dwarf.Language(0); l < 0x40; l++ {
		if want := l == 3 || l == 0xd || l == 0x2e || l == 0x2f; Ada(l) != want {
			t.Errorf("language %#x: %t", uint16(l), !want)
		}
	}
}

// A pointer to a member has a size of its own, if it has one.
func TestWholeOfMemberPointer(t *testing.T) {
	for want, typ := range map[uint64]*node{8: typed(dwarf.TagPtrToMemberType, "", base("int", 4)), 4: typed(dwarf.TagPtrToMemberType, "", base("int", 4), sized(4)), 16: typed(dwarf.TagPtrToMemberType, "", die(dwarf.TagSubroutineType, ""))} {
		if got := typeOf(t, dwarf.LangCPlus14, typ).Whole(); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}
