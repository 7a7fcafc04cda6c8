package types

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// said is what Indexed returns, in one line: the expression and the type, then each index with its number if that is known.
func said(text string, part *Type, used []Index, ok bool) string {
	if !ok {
		return ""
	}
	text += " " + part.Name()
	for _, i := range used {
		if text += ", " + i.Text; i.Known {
			text += fmt.Sprintf("=%d", i.Value)
		}
	}
	return text
}

// mult is a multiple with a name of which the number is not known; knownAs one of which it is.
func mult(times int64, name string) Multiple { return Multiple{Times: times, Name: name} }

func knownAs(times int64, name string, value int64) Multiple {
	return Multiple{Times: times, Name: name, Value: value, Known: true}
}

// structsIn puts a type into n structures with one member, one inside the other.
func structsIn(n int, inner *node, size int) *node {
	for range n {
		inner = structure("s", sized(size), at(0, "m", inner))
	}
	return inner
}

// The bytes at a multiple of something are named by the array whose elements have that size.
func TestMultiples(t *testing.T) {
	integer, char, short, long := base("int", 4), base("char", 1), base("short", 2), base("long", 8)
	static := nodeAttr{dwarf.AttrExternal, true}
	virtual := nodeAttr{dwarf.AttrVirtuality, 1}
	lower := func(value any) *node {
		return typed(dwarf.TagArrayType, "", integer, die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrCount, 4}, nodeAttr{dwarf.AttrLowerBound, value}))
	}
	vector := typed(dwarf.TagArrayType, "", integer, die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrCount, 4}), nodeAttr{attrGNUVector, true})
	gaps := typed(dwarf.TagArrayType, "", integer, die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrCount, 4}), nodeAttr{dwarf.AttrByteStride, 4})
	triple := structure("triple", sized(12), at(0, "x", arrayOf(integer, 3)))
	pair := structure("pair", sized(8), at(0, "a", integer), at(4, "b", integer))
	two := structure("two", sized(24), at(0, "a", arrayOf(integer, 2)), at(8, "b", arrayOf(integer, 4)))
	local := structure("twice", sized(8), at(0, "mine", arrayOf(integer, 2)))
	inFunction := die(dwarf.TagSubprogram, "f", local)
	global := structure("twice", sized(8), at(0, "theirs", arrayOf(integer, 2)))
	later := structure("later", declared)
	definition := structure("later", sized(8), at(0, "list", arrayOf(integer, 2)))
	enum := die(dwarf.TagEnumerationType, "e", sized(4))
	flexible := structure("flexible", sized(8), at(0, "n", long), at(8, "f", arrayOf(integer, -1)))
	zero := structure("zero", sized(8), at(0, "n", long), at(8, "f", arrayOf(integer, 0)))
	ended := structure("ended", sized(24), at(0, "n", long), at(8, "f", arrayOf(structure("x4", sized(16), at(0, "x", arrayOf(integer, 4))), 1)))
	either := die(dwarf.TagUnionType, "either", sized(8), at(0, "a", arrayOf(integer, 2)), at(0, "b", arrayOf(integer, 2)))
	one := structure("one", sized(4), at(0, "a", arrayOf(integer, 1)))
	i, three := mult(4, "i"), knownAs(4, "i", 3)

	for _, c := range []struct {
		what string
		typ  *node
		off  int64
		size uint64
		by   []Multiple
		want string
	}{
		// Of objects.
		{"an array", arrayOf(integer, 4), 0, 4, []Multiple{i}, "v[i] int, i"},
		{"of a known index", arrayOf(integer, 4), 0, 4, []Multiple{three}, "v[i] int, i=3"},
		{"of a size that the elements do not have", arrayOf(integer, 4), 0, 2, []Multiple{i}, ""},
		{"of characters", arrayOf(char, 4), 0, 1, []Multiple{mult(1, "i")}, "v[i] char, i"},
		{"by another name", typed(dwarf.TagTypedef, "t", arrayOf(integer, 4)), 0, 4, []Multiple{i}, "v[i] int, i"},
		{"without a multiple", arrayOf(integer, 4), 8, 4, nil, "v[2] int"},
		{"before the object", arrayOf(char, 4), -1, 1, nil, ""},
		{"a number", integer, 0, 4, []Multiple{i}, ""},
		{"a number without a multiple", integer, 0, 4, nil, "v int"},
		{"an enumeration", enum, 0, 4, []Multiple{i}, ""},
		{"a union", either, 0, 4, []Multiple{i}, ""},
		{"of another multiple", arrayOf(integer, 4), 0, 4, []Multiple{mult(3, "i")}, ""},
		{"of elements without a size", arrayOf(structure("empty"), 4), 0, 4, []Multiple{i}, ""},
		{"of elements that are too large", arrayOf(structure("odd", sized(-4)), 4), 0, 4, []Multiple{i}, ""},
		{"of elements of any size below", arrayOf(structure("large", sized(1<<40), at(0, "x", integer)), 4), 0, 4, []Multiple{mult(1<<40, "i")}, "v[i].x int, i"},

		// Which element: the constant part, the number, or both.
		{"one further", arrayOf(integer, 4), 4, 4, []Multiple{knownAs(4, "i", 2)}, "v[i + 1] int, i + 1=3"},
		{"one further than the last", arrayOf(integer, 4), 4, 4, []Multiple{three}, ""},
		{"two before", arrayOf(integer, 4), -8, 4, []Multiple{three}, "v[i - 2] int, i - 2=1"},
		{"two before the first but one", arrayOf(integer, 4), -8, 4, []Multiple{knownAs(4, "i", 1)}, ""},
		{"one before, to the first", arrayOf(integer, 4), -4, 4, []Multiple{knownAs(4, "i", 1)}, "v[i - 1] int, i - 1=0"},
		{"one further than what is not known", arrayOf(integer, 4), 4, 4, []Multiple{i}, ""},
		{"one further than what is not known and not 0", arrayOf(integer, 4), 4, 4, []Multiple{{Times: 4, Name: "i", Value: 1}}, ""},
		{"any number from the start", arrayOf(integer, 4), 0, 4, []Multiple{knownAs(4, "i", 9)}, "v[i] int, i=9"},
		{"into an element", arrayOf(pair, 4), 4, 4, []Multiple{mult(8, "i")}, "v[i].b int, i"},
		{"into the element before", arrayOf(pair, 4), -4, 4, []Multiple{knownAs(8, "i", 3)}, "v[i - 1].b int, i - 1=2"},
		{"a number without a name", arrayOf(integer, 4), 0, 4, []Multiple{knownAs(4, "", 3)}, "v[3] int, 3=3"},
		{"a number and the constant part", arrayOf(integer, 4), 4, 4, []Multiple{knownAs(4, "", 2)}, "v[3] int, 3=3"},
		{"neither a name nor a number", arrayOf(integer, 4), 0, 4, []Multiple{mult(4, "")}, ""},
		{"twice a name", arrayOf(integer, 8), 0, 4, []Multiple{knownAs(8, "i", 3)}, "v[6] int, 6=6"},
		{"twice a name of which the number is not known", arrayOf(integer, 8), 0, 4, []Multiple{mult(8, "i")}, ""},
		{"a sum", arrayOf(integer, 8), 0, 4, []Multiple{three, knownAs(4, "k", 2)}, "v[5] int, 5=5"},
		{"a sum that is not known", arrayOf(integer, 8), 0, 4, []Multiple{three, mult(4, "k")}, ""},
		{"a sum that begins with what is not known", arrayOf(integer, 8), 0, 4, []Multiple{mult(4, "k"), three}, ""},
		{"a difference", arrayOf(integer, 8), 0, 4, []Multiple{three, knownAs(-4, "k", 2)}, "v[1] int, 1=1"},

		// Arrays of arrays.
		{"two dimensions", arrayOf(integer, 2, 3), 0, 4, []Multiple{mult(12, "i"), mult(4, "k")}, "v[i][k] int, i, k"},
		{"in the other order", arrayOf(integer, 2, 3), 0, 4, []Multiple{mult(4, "k"), mult(12, "i")}, "v[i][k] int, i, k"},
		{"three dimensions", arrayOf(integer, 2, 3, 5), 0, 4, []Multiple{mult(60, "i"), mult(20, "k"), mult(4, "l")}, "v[i][k][l] int, i, k, l"},
		{"one element of a row", arrayOf(integer, 2, 3), 8, 4, []Multiple{mult(12, "i")}, "v[i][2] int, i"},
		{"a row", arrayOf(integer, 2, 3), 12, 4, []Multiple{mult(4, "k")}, "v[1][k] int, k"},
		{"the row behind the last", arrayOf(integer, 2, 3), 24, 4, []Multiple{mult(4, "k")}, ""},
		{"the row before the first", arrayOf(integer, 2, 3), -12, 4, []Multiple{knownAs(4, "k", 0)}, ""},
		{"a whole row", arrayOf(integer, 4, 1), 0, 4, []Multiple{i}, ""},
		{"rows of which the length is not known", arrayOf(pair, 2, -1), 0, 4, []Multiple{knownAs(8, "i", 0)}, ""},
		{"as many rows as there may be", arrayOf(integer, -1, 2), 0, 4, []Multiple{mult(8, "i"), mult(4, "k")}, "v[i][k] int, i, k"},
		{"the sixth of those", arrayOf(integer, -1, 2), 40, 4, []Multiple{mult(4, "k")}, "v[5][k] int, k"},
		{"the sixth of no rows", arrayOf(integer, 0, 2), 40, 4, []Multiple{mult(4, "k")}, "v[5][k] int, k"},
		{"the second of one row", arrayOf(integer, 1, 2), 8, 4, []Multiple{mult(4, "k")}, ""},
		{"an array in a structure in an array", arrayOf(triple, 4), 0, 4, []Multiple{mult(12, "i"), mult(4, "k")}, "v[i].x[k] int, i, k"},
		{"the one of the third structure", arrayOf(triple, 4), 24, 4, []Multiple{mult(4, "k")}, "v[2].x[k] int, k"},
		{"the one of the structure before the first", arrayOf(triple, 4), -4, 4, []Multiple{knownAs(4, "k", 0)}, ""},

		// Arrays whose elements do not follow one another from the first, element 0.
		{"from 0", lower(0), 0, 4, []Multiple{three}, "v[i] int, i=3"},
		{"from 1", lower(1), 0, 4, []Multiple{knownAs(1, "i", 3)}, ""},
		{"from 1, by elements", lower(1), 0, 4, []Multiple{three}, ""},
		{"from 2", lower(2), 0, 4, []Multiple{three}, ""},
		{"from what is computed", lower([]byte{0x30}), 0, 4, []Multiple{three}, ""},
		{"a vector", vector, 0, 4, []Multiple{knownAs(1, "i", 0)}, ""},
		{"a vector, by elements", vector, 0, 4, []Multiple{three}, ""},
		{"with a stride", gaps, 0, 4, []Multiple{three}, ""},
		{"without dimensions", typed(dwarf.TagArrayType, "", integer), 0, 4, []Multiple{three}, ""},
		{"without dimensions, by bytes", typed(dwarf.TagArrayType, "", char), 0, 1, []Multiple{knownAs(1, "i", 0)}, ""},

		// Structures.
		{"the first array", two, 0, 4, []Multiple{i}, "v.a[i] int, i"},
		{"the second array", two, 8, 4, []Multiple{i}, "v.b[i] int, i"},
		{"an element of the second array", two, 12, 4, []Multiple{knownAs(4, "i", 2)}, "v.b[i + 1] int, i + 1=3"},
		{"the second array, from the first", two, 4, 4, []Multiple{knownAs(4, "i", 2)}, "v.b[i - 1] int, i - 1=1"},
		{"the first array, from the second", two, 12, 4, []Multiple{knownAs(4, "i", -2)}, "v.a[i + 3] int, i + 3=1"},
		{"neither", two, 24, 4, []Multiple{i}, ""},
		{"before the first", two, -4, 4, []Multiple{i}, ""},
		{"before the first, to the first", two, -4, 4, []Multiple{knownAs(4, "i", 2)}, "v.a[i - 1] int, i - 1=1"},
		{"before the first, to nothing", two, -4, 4, []Multiple{knownAs(4, "i", 0)}, ""},
		{"a number in a structure", pair, 0, 4, []Multiple{i}, ""},
		{"no name", structure("s", sized(16), at(0, "n", long), at(8, "", structure("", sized(8), at(0, "a", arrayOf(integer, 2))))), 8, 4, []Multiple{i}, "v.a[i] int, i"},
		{"from before all structures of an array, with an unknown part", structure("s", sized(32), at(8, "a", arrayOf(pairs(integer), 2))), 0, 4,
			[]Multiple{knownAs(8, "i", 2), mult(4, "k")}, ""},
		{"from before all structures of an array", structure("s", sized(32), at(8, "a", arrayOf(pairs(integer), 2))), 0, 4,
			[]Multiple{knownAs(8, "i", 2), knownAs(4, "k", 1)}, "v.a[i - 1].x[k] int, i - 1=1, k=1"},
		{"what is behind the end of the last member", ended, 24, 4, []Multiple{knownAs(16, "i", -1), mult(4, "k")}, "v.f[i + 1].x[k] int, i + 1=0, k"},
		{"the second member behind that of the third", structure("s", sized(24), at(16, "late", arrayOf(integer, 2)), at(8, "early", arrayOf(integer, 2))), 8, 4, []Multiple{i}, "v.early[i] int, i"},
		{"a member that is shared", structure("s", sized(16), at(0, "all", arrayOf(integer, 9), static), at(8, "a", arrayOf(integer, 2))), 8, 4, []Multiple{i}, "v.a[i] int, i"},
		{"a member that is computed", structure("s", sized(16), typed(dwarf.TagMember, "c", arrayOf(integer, 9), nodeAttr{dwarf.AttrDataMemberLoc, []byte{6}}), at(8, "a", arrayOf(integer, 2))), 8, 4, []Multiple{i}, "v.a[i] int, i"},
		{"a member of bits", structure("s", sized(8), at(0, "b", long, nodeAttr{dwarf.AttrBitSize, 40}), at(5, "a", arrayOf(char, 3))), 5, 1, []Multiple{mult(1, "i")}, "v.a[i] char, i"},
		{"a member of one bit", structure("s", sized(8), at(0, "b", long, nodeAttr{dwarf.AttrBitSize, 1}), at(5, "a", arrayOf(char, 3))), 5, 1, []Multiple{mult(1, "i")}, "v.a[i] char, i"},
		{"a virtual base", structure("s", sized(16), typed(dwarf.TagInheritance, "", two, virtual, nodeAttr{dwarf.AttrDataMemberLoc, 0}), at(8, "a", arrayOf(integer, 2))), 8, 4, []Multiple{i}, "v.a[i] int, i"},
		{"a base", structure("s", sized(32), typed(dwarf.TagInheritance, "", two, nodeAttr{dwarf.AttrDataMemberLoc, 0}), at(24, "c", arrayOf(integer, 2))), 8, 4, []Multiple{i}, "v.b[i] int, i"},
		{"elements behind the structure", flexible, 8, 4, []Multiple{i}, "v.f[i] int, i"},
		{"far behind", flexible, 40, 4, []Multiple{three}, "v.f[i + 8] int, i + 8=11"},
		{"elements behind the structure, of none", zero, 40, 4, []Multiple{three}, "v.f[i + 8] int, i + 8=11"},
		{"elements behind the structure in a structure", structure("s", sized(16), at(0, "n", long), at(8, "in", flexible)), 16, 4, []Multiple{i}, "v.in.f[i] int, i"},
		{"no elements behind a member that is not the last", structure("s", sized(16), at(0, "f", arrayOf(integer, -1)), at(8, "n", long)), 0, 4, []Multiple{i}, ""},

		// What is declared only, and what is called like another.
		{"a declared structure", later, 0, 4, []Multiple{i}, "v.list[i] int, i"},
		{"one that is defined nowhere", structure("nowhere", declared), 0, 4, []Multiple{i}, ""},
		{"one of two structures of a name", local, 0, 4, []Multiple{i}, "v.mine[i] int, i"},

		// What pointers lead to.
		{"elements behind a pointer", pointerTo(integer), 0, 4, []Multiple{i}, "v[i] int, i"},
		{"elements and a constant part", pointerTo(integer), 8, 4, []Multiple{i}, "v[i + 2] int, i + 2"},
		{"elements before", pointerTo(integer), -4, 4, []Multiple{i}, "v[i - 1] int, i - 1"},
		{"members of elements", pointerTo(pair), 12, 4, []Multiple{mult(8, "i")}, "v[i + 1].b int, i + 1"},
		{"members of elements before", pointerTo(pair), -4, 4, []Multiple{mult(8, "i")}, "v[i - 1].b int, i - 1"},
		{"no member of elements", pointerTo(pair), 2, 4, []Multiple{mult(8, "i")}, ""},
		{"an index that is not known", pointerTo(pair), 0, 4, []Multiple{mult(8, "")}, ""},
		{"an array in a structure", pointerTo(two), 8, 4, []Multiple{i}, "v->b[i] int, i"},
		{"an array", pointerTo(arrayOf(integer, 4)), 0, 4, []Multiple{i}, "(*v)[i] int, i"},
		{"elements that are arrays", pointerTo(arrayOf(integer, 4)), 0, 4, []Multiple{mult(16, "i"), mult(4, "k")}, "v[i][k] int, i, k"},
		{"elements that are arrays, without the second index", pointerTo(arrayOf(integer, 4)), 4, 4, []Multiple{mult(16, "i")}, "v[i][1] int, i"},
		{"the only element of an array, or another array", pointerTo(arrayOf(integer, 1)), 0, 4, []Multiple{three}, ""},
		{"the only element of a member, or another structure", pointerTo(one), 0, 4, []Multiple{three}, ""},
		{"the only element of the last member, or another structure", pointerTo(structure("s", sized(4), at(0, "in", one))), 0, 4, []Multiple{three}, ""},
		{"the only element of an array of those, or another array", pointerTo(arrayOf(one, 1)), 0, 4, []Multiple{three}, ""},
		{"the only element of the only element of an array that begins with 1", pointerTo(typed(dwarf.TagArrayType, "", arrayOf(integer, 1), die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrLowerBound, 1}, nodeAttr{dwarf.AttrCount, 1}))), 0, 4, []Multiple{i}, ""},
		{"a member of a union", pointerTo(die(dwarf.TagUnionType, "u", sized(4), at(0, "a", arrayOf(integer, 1)))), 0, 4, []Multiple{i}, "v[i].a[0] int, i"},
		{"a last member that is shared", pointerTo(structure("s", sized(4), at(0, "x", integer), at(0, "a", arrayOf(integer, 1), static))), 0, 4, []Multiple{i}, "v[i].x int, i"},
		{"a structure without members", pointerTo(structure("empty", sized(4))), 0, 4, []Multiple{i}, "v[i] struct empty, i"},
		{"structures of two sizes", pointerTo(structure("s", sized(8), at(0, "x", integer), at(4, "y", short))), 4, 2, []Multiple{mult(8, "i")}, "v[i].y short, i"},
		{"larger elements behind the structure", pointerTo(structure("s", sized(4), at(0, "n", integer), at(4, "f", arrayOf(pair, -1)))), 4, 4, []Multiple{mult(8, "i")}, ""},
		{"nothing that has a size", pointerTo(structure("empty")), 0, 4, []Multiple{i}, ""},
		{"what is too large", pointerTo(structure("odd", sized(-4))), 0, 4, []Multiple{i}, ""},
		{"characters", pointerTo(char), 0, 1, []Multiple{mult(1, "i")}, "v[i] char, i"},
		{"no multiple", pointerTo(pair), 4, 4, nil, "v->b int"},
		{"no multiple, and no member", pointerTo(integer), 0, 4, nil, ""},
		{"no multiple, no member of that size", pointerTo(pair), 4, 2, nil, ""},
		{"elements behind a reference", referenceTo(integer), 0, 4, []Multiple{i}, ""},
		{"an array behind a reference", referenceTo(arrayOf(integer, 4)), 0, 4, []Multiple{i}, "v[i] int, i"},
		{"an array in a structure behind a reference", referenceTo(two), 0, 4, []Multiple{i}, "v.a[i] int, i"},

		// How deep.
		{"deep", structsIn(maxPart-1, arrayOf(integer, 1), 4), 0, 4, []Multiple{i}, "v" + strings.Repeat(".m", maxPart-1) + "[i] int, i"},
		{"too deep", structsIn(maxPart, arrayOf(integer, 1), 4), 0, 4, []Multiple{i}, ""},
		{"deep behind a pointer", pointerTo(structsIn(maxPart-1, arrayOf(integer, 2), 8)), 0, 4, []Multiple{i}, "v->" + strings.Repeat(".m", maxPart-1)[1:] + "[i] int, i"},
		{"too deep behind a pointer", pointerTo(structsIn(maxPart, arrayOf(integer, 2), 8)), 0, 4, []Multiple{i}, ""},
		{"deep in elements", pointerTo(structure("e", sized(12), at(0, "d", structsIn(maxPart-2, arrayOf(integer, 2), 8)), at(8, "x", integer))), 0, 4, []Multiple{mult(12, "i"), mult(4, "k")},
			"v[i].d" + strings.Repeat(".m", maxPart-2) + "[k] int, i, k"},
		{"too deep in elements", pointerTo(structure("e", sized(12), at(0, "d", structsIn(maxPart-1, arrayOf(integer, 2), 8)), at(8, "x", integer))), 0, 4, []Multiple{mult(12, "i"), mult(4, "k")}, ""},
		{"deep in an array", arrayOf(structsIn(maxPart-2, arrayOf(integer, 2), 8), 2), 0, 4, []Multiple{mult(8, "i"), mult(4, "k")}, "v[i]" + strings.Repeat(".m", maxPart-2) + "[k] int, i, k"},
		{"too deep in an array", arrayOf(structsIn(maxPart-1, arrayOf(integer, 2), 8), 2), 0, 4, []Multiple{mult(8, "i"), mult(4, "k")}, ""},
		{"deep in rows", arrayOf(structsIn(maxPart-3, arrayOf(integer, 2), 8), 2, 2), 0, 4, []Multiple{mult(16, "i"), mult(4, "k")}, "v[i][0]" + strings.Repeat(".m", maxPart-3) + "[k] int, i, k"},
		{"too deep in rows", arrayOf(structsIn(maxPart-2, arrayOf(integer, 2), 8), 2, 2), 0, 4, []Multiple{mult(16, "i"), mult(4, "k")}, ""},
		{"last members as deep as they are looked at", pointerTo(structure("s", sized(8), at(0, "x", integer), at(4, "l", structsIn(maxPart-2, integer, 4)))), 0, 4, []Multiple{mult(8, "i")}, "v[i].x int, i"},
		{"last members deeper than that", pointerTo(structure("s", sized(8), at(0, "x", integer), at(4, "l", structsIn(maxPart-1, integer, 4)))), 0, 4, []Multiple{mult(8, "i")}, ""},
	} {
		if got := said(typeOf(t, dwarf.LangC99, c.typ, inFunction, global, definition).Indexed("v", c.off, c.size, c.by)); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}

	for _, c := range []struct {
		lang dwarf.Language
		typ  *node
		want string
	}{
		{dwarf.LangGo, pointerTo(two), "v.a[i] int, i"}, {dwarf.LangGo, pointerTo(arrayOf(integer, 4)), "v[i] int, i"}, {dwarf.LangGo, arrayOf(integer, 4), "v[i] int, i"},
		{dwarf.LangCPlus14, pointerTo(two), "v->a[i] int, i"}, {dwarf.LangAda95, arrayOf(integer, 4), ""}, {dwarf.LangFortran90, arrayOf(integer, 4), ""},
	} {
		if got := said(typeOf(t, c.lang, c.typ).Indexed("v", 0, 4, []Multiple{i})); got != c.want {
			t.Errorf("language %#x: %q, want %q", uint16(c.lang), got, c.want)
		}
	}
}

// pairs is a structure with an array of two numbers.
func pairs(number *node) *node { return structure("pairs", sized(8), at(0, "x", arrayOf(number, 2))) }
