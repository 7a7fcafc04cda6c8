package types

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// Text may be where characters or bytes are, and where it is not known what is; beside them it may not.
func TestMayHoldText(t *testing.T) {
	long, char, wide := base("long", 8), base("char", 1), die(dwarf.TagBaseType, "char32_t", sized(4), nodeAttr{dwarf.AttrEncoding, 0x10})
	label := structure("label", sized(32), at(0, "n", long), at(8, "text", arrayOf(char, 16)), at(24, "p", pointerTo(char)))
	bits := nodeAttr{dwarf.AttrBitSize, 3}
	static := nodeAttr{dwarf.AttrExternal, true}
	numbers := structure("numbers", sized(16), at(0, "a", long), at(8, "b", long))
	first := structure("first", sized(16), at(0, "c", char), at(8, "n", long))
	computed := nodeAttr{dwarf.AttrDataMemberLoc, []byte{0x06}} // where a pointer leads
	longs := func(n int) *node {
		s := structure("longs", sized(8*n))
		for i := range n {
			s.kids = append(s.kids, at(8*i, "", long))
		}
		return s
	}
	for _, c := range []struct {
		what      string
		typ       *node
		from, end uint64
		want      bool
	}{
		{"a number before", label, 0, 8, false},
		{"the characters", label, 8, 24, true},
		{"the last of them", label, 23, 32, true},
		{"a pointer to characters", label, 24, 32, false},
		{"all", label, 0, 32, true},
		{"the next in an array", label, 32, 40, true},
		{"from one to the next", label, 24, 40, true},
		{"numbers of the next in an array", numbers, 8, 24, false},
		{"characters that are wide", structure("s", sized(8), at(0, "t", arrayOf(wide, 2))), 0, 8, true},
		{"an array of what has some", structure("s", sized(72), at(0, "n", long), at(8, "all", arrayOf(label, 2))), 8, 16, true},
		{"an array of one that begins with some", arrayOf(structure("e", sized(8), at(0, "c", char), at(4, "n", base("int", 4))), 1), 0, 8, true},
		{"an array of what ends with a number", structure("s", sized(16), at(0, "all", arrayOf(structure("e", sized(8), at(0, "c", char), at(4, "n", base("int", 4))), 2))), 12, 16, true},
		{"an array of what has none", structure("s", sized(40), at(0, "n", long), at(8, "all", arrayOf(numbers, 2))), 0, 40, false},
		{"one that is inside", structure("s", sized(40), at(0, "n", long), at(8, "one", label)), 32, 40, false},
		{"the characters of one that is inside", structure("s", sized(40), at(0, "n", long), at(8, "one", label)), 8, 32, true},
		{"one of the names of a union", union(16, at(0, "n", numbers), at(0, "t", arrayOf(char, 16))), 0, 8, true},
		{"a union of numbers", union(16, at(0, "n", numbers), at(0, "m", long)), 0, 8, false},
		{"a bit field of a byte", structure("s", sized(8), at(0, "b", char, bits), at(1, "n", base("short", 2))), 0, 8, false},
		{"a static member", structure("s", sized(8), at(0, "n", long), at(0, "c", char, static)), 0, 8, false},
		{"a virtual base", structure("s", sized(16), at(0, "n", long), typed(dwarf.TagInheritance, "", numbers, nodeAttr{dwarf.AttrVirtuality, 1}, nodeAttr{dwarf.AttrDataMemberLoc, 8})), 0, 8, true},
		{"one of several variants", structure("s", sized(8), at(0, "n", long), die(dwarf.TagVariantPart, "")), 0, 8, true},
		{"no members", structure("s", sized(8)), 0, 8, true},
		{"no size", structure("s", at(0, "n", long)), 0, 8, true},
		{"only declared", structure("s", declared), 0, 8, true},
		{"the first byte of the next in an array", first, 8, 17, true},
		{"an array of what begins with some", structure("s", sized(40), at(0, "n", long), at(8, "all", arrayOf(first, 2))), 8, 16, true},
		{"a member whose place is computed", structure("s", sized(16), at(0, "n", long), typed(dwarf.TagMember, "m", long, computed)), 0, 8, true},
		{"as many parts as are looked at", longs(maxTextParts - 1), 0, 8 * maxTextParts, false},
		{"more parts than are looked at", longs(maxTextParts), 0, 8 * maxTextParts, true},
		{"some of many parts", longs(maxTextParts), 0, 8, false},
	} {
		if got := typeOf(t, dwarf.LangC99, c.typ).MayHoldText(c.from, c.end); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
	}
}

// A pointer counts that is wholly between the offsets, and surely there.
func TestHasPointer(t *testing.T) {
	long, char := base("long", 8), base("char", 1)
	pointer := pointerTo(long)
	pointer.attrs = append(pointer.attrs, sized(8))
	box := structure("box", sized(32), at(0, "n", long), at(8, "p", pointer), at(16, "text", arrayOf(char, 16)))
	variant := structure("s", sized(8), at(0, "p", pointer), die(dwarf.TagVariantPart, ""))
	longs := structure("longs", sized(8*maxTextParts+8))
	for i := range maxTextParts {
		longs.kids = append(longs.kids, at(8*i, "", long))
	}
	longs.kids = append(longs.kids, at(8*maxTextParts, "p", pointer))
	pointerBehind := func(n int) *node {
		s := structure("longs", sized(8*n+8))
		for range n {
			s.kids = append(s.kids, at(0, "", long))
		}
		s.kids = append(s.kids, at(8*n, "p", pointer))
		return s
	}
	for _, c := range []struct {
		what      string
		typ       *node
		from, end uint64
		want      bool
	}{
		{"all of it", box, 0, 32, true},
		{"just that", box, 8, 16, true},
		{"not its first byte", box, 9, 32, false},
		{"not its last byte", box, 0, 15, false},
		{"numbers and text", structure("s", sized(24), at(0, "n", long), at(8, "text", arrayOf(char, 16))), 0, 24, false},
		{"a pointer itself", pointer, 0, 8, true},
		{"in a structure", structure("s", sized(40), at(8, "b", box)), 16, 24, true},
		{"before it in a structure", structure("s", sized(40), at(8, "b", box)), 0, 23, false},
		{"of an array", structure("s", sized(32), at(0, "n", long), at(8, "all", arrayOf(pointer, 3))), 20, 32, true},
		{"part of two of an array", structure("s", sized(32), at(0, "n", long), at(8, "all", arrayOf(pointer, 3))), 20, 31, false},
		{"of an array of structures", structure("s", sized(64), at(0, "all", arrayOf(box, 2))), 32, 48, true},
		{"behind an array", structure("s", sized(64), at(0, "all", arrayOf(box, 2))), 64, 128, false},
		{"one of the names of a union", union(8, at(0, "p", pointer), at(0, "n", long)), 0, 8, false},
		{"in a union", structure("s", sized(8), at(0, "u", union(8, at(0, "p", pointer)))), 0, 8, false},
		{"one of several variants", variant, 0, 8, false},
		{"a static member", structure("s", sized(8), at(0, "p", pointer, nodeAttr{dwarf.AttrExternal, true})), 0, 8, false},
		{"of a virtual base", structure("s", sized(8), typed(dwarf.TagInheritance, "", box, nodeAttr{dwarf.AttrVirtuality, 1}, nodeAttr{dwarf.AttrDataMemberLoc, 0})), 0, 32, false},
		{"whose place is computed", structure("s", sized(8), typed(dwarf.TagMember, "p", pointer, nodeAttr{dwarf.AttrDataMemberLoc, []byte{0x06}})), 0, 8, false},
		{"nothing is asked", box, 8, 8, false},
		{"no members", structure("s", sized(8)), 0, 8, false},
		{"behind more parts than are looked at", longs, 0, 8*maxTextParts + 8, false},
		{"behind as many parts as are looked at", pointerBehind(maxTextParts - 2), 0, 8 * maxTextParts, true},
		{"behind one more", pointerBehind(maxTextParts - 1), 0, 8 * maxTextParts, false},
		{"as many elements as are looked at", arrayOf(structure("e", sized(16), at(0, "n", long)), maxTextParts), 0, 16 * maxTextParts, false},
		{"a bit field of a pointer's type", structure("s", sized(8), at(0, "p", pointer, nodeAttr{dwarf.AttrBitSize, 3})), 0, 8, false},
		{"a pointer of no size to what has none", structure("s", at(0, "p", pointer)), 0, 8, false},
		{"one byte", structure("s", sized(1), at(0, "c", char)), 0, 1, false},
		{"a pointer in one byte", structure("s", sized(1), at(0, "p", pointer)), 0, 8, true},
		{"elements of no size", structure("s", sized(8), at(0, "all", arrayOf(structure("e"), 2)), at(0, "p", pointer)), 0, 8, true},
		{"elements of one byte", arrayOf(structure("e", sized(1), at(0, "p", pointer)), 8), 0, 16, true},
		{"one behind the end", structure("s", sized(16), at(0, "n", long), at(8, "p", pointer)), 0, 4, false},
		{"behind the last element", arrayOf(box, 2), 64, 128, false},
		{"elements of no size in an array that has one", typed(dwarf.TagArrayType, "", structure("e"), sized(8), die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrCount, 2})), 0, 8, false},
		{"one that begins at the end", structure("s", sized(16), at(0, "n", long), at(8, "p", pointer)), 0, 8, false},
		{"one that ends at the beginning", structure("s", sized(16), at(0, "p", pointer), at(8, "n", long)), 8, 16, false},
	} {
		if got := typeOf(t, dwarf.LangC99, c.typ).HasPointer(c.from, c.end); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
	}
}

// What the registers of arguments have of texts is known as far as it is known in which registers these are.
func TestTextArguments(t *testing.T) {
	long, num, float := base("long", 8), base("int", 4), die(dwarf.TagBaseType, "double", sized(8), nodeAttr{dwarf.AttrEncoding, int(EncFloat)})
	char, wide := die(dwarf.TagBaseType, "char", sized(1), nodeAttr{dwarf.AttrEncoding, int(EncSignedChar)}), die(dwarf.TagBaseType, "char16_t", sized(2), nodeAttr{dwarf.AttrEncoding, 0x10})
	text, void := pointerTo(char), die(dwarf.TagPointerType, "", sized(8))
	pair := func(a, b *node) *node { return structure("pair", sized(16), at(0, "a", a), at(8, "b", b)) }
	const no, zero, next, before = NoText, TextToZero, TextOfNext, TextOfBefore
	for _, c := range []struct {
		what   string
		params []*node
		want   []TextArgument
	}{
		{"a text and a number", []*node{text, num, text}, []TextArgument{zero, no, zero}},
		{"numbers, wide characters and rows of pointers", []*node{pointerTo(num), pointerTo(wide), pointerTo(text), void}, []TextArgument{no, no, no, zero}},
		{"a structure", []*node{pointerTo(structure("s", sized(8), at(0, "name", arrayOf(char, 8)))), typed(dwarf.TagReferenceType, "", text, sized(8))}, []TextArgument{no, no}},
		{"a type of its own", []*node{typed(dwarf.TagTypedef, "words", typed(dwarf.TagConstType, "", text))}, []TextArgument{zero}},
		{"slices", []*node{pair(text, long), pair(long, text), text}, []TextArgument{next, no, no, before, zero}},
		{"a slice with a constant of its own", []*node{structure("view", sized(16), at(0, "npos", long, nodeAttr{dwarf.AttrExternal, true}, nodeAttr{dwarf.AttrDeclaration, true}), at(0, "n", long), at(8, "from", text)), num}, []TextArgument{no, before, no}},
		{"slices of numbers", []*node{pair(pointerTo(num), long), num}, []TextArgument{no, no, no}},
		{"two numbers", []*node{pair(long, long), num}, []TextArgument{no, no, no}},
		{"bounds elsewhere", []*node{pair(text, pointerTo(num)), num}, []TextArgument{no, no, no}},
		{"a slice that lies the other way", []*node{structure("s", sized(16), at(8, "b", long), at(0, "a", text)), text}, nil},
		{"behind a floating-point number", []*node{pointerTo(num), float, text}, []TextArgument{no}},
		{"behind three words", []*node{structure("s", sized(24), at(0, "a", long), at(8, "b", long), at(16, "c", long)), text}, nil},
		{"behind three members", []*node{structure("s", sized(16), at(0, "a", long), at(8, "b", num), at(12, "c", num)), text}, nil},
		{"behind two numbers of which one is in another register", []*node{pair(long, float), text}, nil},
		{"behind members that are no words", []*node{structure("s", sized(16), at(0, "a", num), at(8, "b", long)), text}, nil},
		{"behind what has members of its own", []*node{pair(structure("one", sized(8), at(0, "f", float)), long), text}, nil},
		{"behind a number of two words", []*node{base("__int128", 16), text}, nil},
		{"arrays of Fortran", []*node{arrayOf(char, 9), text}, []TextArgument{no, zero}},
	} {
		list := make([]*Type, len(c.params))
		for i, p := range c.params {
			list[i] = typeOf(t, dwarf.LangCPlus14, p)
		}
		if got := TextArguments(list, 8); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
