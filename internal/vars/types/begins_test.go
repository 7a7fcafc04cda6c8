package types

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// An object may have another at its beginning if that is its type, or of its first members or elements, or if nobody knows.
func TestBeginsWith(t *testing.T) {
	num, long, short, char := base("int", 4), base("long", 8), base("short", 2), base("char", 1)
	natural := base("unsigned int", 4)
	point := structure("point", sized(8), at(0, "x", num), at(4, "y", num))
	other := structure("other", sized(8), at(0, "a", short))
	pointer := func(to *node) *node { return typed(dwarf.TagPointerType, "", to, sized(8)) }
	static, bit := nodeAttr{dwarf.AttrExternal, true}, nodeAttr{dwarf.AttrBitSize, 3}
	longs := func(n int) *node { // none of which is there
		s := structure("longs", sized(8*n+8))
		for range n {
			s.kids = append(s.kids, at(0, "", long))
		}
		return s
	}
	for _, c := range []struct {
		what     string
		typ, has *node
		want     bool
	}{
		{"itself", point, point, true},
		{"another of that name", point, structure("point", sized(16), at(0, "z", long)), true},
		{"another", point, other, false},
		{"its first member", point, num, true},
		{"a number of that size", point, natural, true},
		{"a number of another size", point, long, false},
		{"a pointer of that size", structure("s", sized(8), at(0, "l", long)), pointer(num), false},
		{"a number in place of a pointer", structure("s", sized(8), at(0, "p", pointer(num))), long, false},
		{"a pointer to something else", structure("s", sized(8), at(0, "p", pointer(num))), pointer(point), true},
		{"a member that is not the first", structure("s", sized(16), at(0, "l", long), at(8, "s", short)), short, false},
		{"a base class", structure("s", sized(16), typed(dwarf.TagInheritance, "", point, nodeAttr{dwarf.AttrDataMemberLoc, 0}), at(8, "l", long)), point, true},
		{"a base class that is not the first", structure("s", sized(16), at(0, "l", long), typed(dwarf.TagInheritance, "", point, nodeAttr{dwarf.AttrDataMemberLoc, 8})), point, false},
		{"deep inside", structure("s", sized(16), at(0, "p", structure("q", sized(8), at(0, "r", point)))), point, true},
		{"elements", arrayOf(point, 2), point, true},
		{"elements of something else", arrayOf(point, 2), other, false},
		{"an array of a member", structure("s", sized(8), at(0, "n", num), at(4, "m", num)), arrayOf(num, 1), false},
		{"a number that is a structure", num, structure("s", sized(4), at(0, "n", num)), false},
		{"the same number", num, num, true},
		{"a type of no size", structure("s", at(0, "l", long)), num, true},
		{"of a type of no size", point, structure("s"), true},
		{"a type of one byte", structure("s", sized(1), at(0, "c", char)), long, false},
		{"of a type of one byte", point, char, false},
		{"only declared", structure("s", declared), point, true},
		{"of what is only declared", point, structure("s", declared), true},
		{"no members", structure("s", sized(8)), long, true},
		{"one member", structure("s", sized(8), at(0, "l", long)), num, false},
		{"one of several variants", structure("s", sized(8), at(0, "l", long), die(dwarf.TagVariantPart, "")), num, true},
		{"a static member", structure("s", sized(8), at(0, "l", long), at(0, "n", num, static)), num, false},
		{"a bit field", structure("s", sized(8), at(0, "l", long), at(0, "n", num, bit)), num, false},
		{"a bit field of one bit", structure("s", sized(8), at(0, "l", long), at(0, "n", num, nodeAttr{dwarf.AttrBitSize, 1})), num, false},
		{"a member behind a bit field", structure("s", sized(8), at(0, "n", long, bit), at(0, "m", num)), num, true},
		{"a virtual base", structure("s", sized(16), at(0, "l", long), typed(dwarf.TagInheritance, "", point, nodeAttr{dwarf.AttrVirtuality, 1}, nodeAttr{dwarf.AttrDataMemberLoc, 8})), num, true},
		{"a member whose place is computed", structure("s", sized(16), at(0, "l", long), typed(dwarf.TagMember, "m", long, nodeAttr{dwarf.AttrDataMemberLoc, []byte{0x06}})), num, true},
		{"one of the names of a union", union(8, at(0, "l", long), at(0, "n", num)), num, true},
		{"as many parts as are looked at", longs(maxTextParts - 1), num, false},
		{"more parts than are looked at", longs(maxTextParts), num, true},
	} {
		holder := typeOf(t, dwarf.LangC99, structure("holder", at(0, "typ", c.typ), at(0, "has", c.has)))
		m := holder.Members()
		typ, has := holder.MemberType(&m.Fields[0]), holder.MemberType(&m.Fields[1])
		if got := typ.BeginsWith(has); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
	}
	number := typeOf(t, dwarf.LangC99, num)
	void := number.set.Of(Ref{})
	if !number.BeginsWith(void) || !void.BeginsWith(number) {
		t.Error("what is not known may be there")
	}
}
