package types

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// attr is an attribute with a number.
func attr(a dwarf.Attr, v any) nodeAttr { return nodeAttr{a, v} }

// A definable is a type with what is said of it.
type definable struct {
	name string
	lang dwarf.Language
	typ  *node
}

// TestDefinitions writes types of every kind in every layout, as testdata/definitions.txt has them.
func TestDefinitions(t *testing.T) {
	const c, cxx, rust, golang, ada = dwarf.LangC99, dwarf.LangCPlus14, dwarf.LangRust, dwarf.LangGo, dwarf.LangAda95
	num, char, natural, long := base("int", 4), base("char", 1), base("unsigned int", 4), base("long", 8)
	public, protected, private := attr(dwarf.AttrAccessibility, 1), attr(dwarf.AttrAccessibility, 2), attr(dwarf.AttrAccessibility, 3)
	enum := func(name string, of *node, parts ...any) *node {
		return typed(dwarf.TagEnumerationType, name, of, append(parts, sized(4))...)
	}
	value := func(name string, v int) *node { return die(dwarf.TagEnumerator, name, attr(dwarf.AttrConstValue, v)) }
	bits := func(name string, from, n int) *node {
		return typed(dwarf.TagMember, name, num, attr(dwarf.AttrBitSize, n), attr(dwarf.AttrDataBitOffset, from))
	}
	inherits := func(of *node, off int, parts ...any) *node {
		return typed(dwarf.TagInheritance, "", of, append(parts, attr(dwarf.AttrDataMemberLoc, off))...)
	}
	method := func(name string, result *node, parts ...any) *node {
		if result == nil {
			return die(dwarf.TagSubprogram, name, parts...)
		}
		return typed(dwarf.TagSubprogram, name, result, parts...)
	}
	param := func(name string, of *node, parts ...any) *node {
		return typed(dwarf.TagFormalParameter, name, of, parts...)
	}
	this := param("this", pointerTo(num), attr(dwarf.AttrArtificial, true))
	result := func(of *node) *node { return param("~r", of, attr(dwarf.AttrVariableParameter, true)) }
	params := func(n int) (list []any) {
		for i := range n {
			list = append(list, param(fmt.Sprint("p", i), num))
		}
		return list
	}
	static := func(name string, parts ...any) *node {
		return typed(dwarf.TagMember, name, num, append(parts, attr(dwarf.AttrExternal, true), attr(dwarf.AttrDeclaration, true))...)
	}
	point := structure("point", sized(8), at(0, "x", num), at(4, "y", num))
	callback := typed(dwarf.TagSubroutineType, "", num, param("", num), param("", pointerTo(char)))
	types := []definable{
		{"plain", c, structure("node", sized(48), at(0, "next", pointerTo(point)), at(8, "name", arrayOf(char, 5)), at(16, "call", pointerTo(callback)), at(24, "grid", arrayOf(num, 2, 3)))},
		{"empty", c, structure("none")},
		{"union", c, die(dwarf.TagUnionType, "u", sized(8), at(0, "c", char), at(0, "l", long))},
		{"nameless", c, structure("", sized(16), at(0, "", die(dwarf.TagUnionType, "", sized(4), at(0, "i", num), at(0, "c", char))), at(8, "in", structure("", sized(8), at(0, "", structure("", sized(4), at(0, "deep", num))), at(4, "e", enum("", natural, value("a", 0))))))},
		{"bits", c, structure("b", sized(12), bits("a", 0, 3), bits("b", 3, 5), bits("c", 16, 4), at(4, "n", num), bits("d", 64, 1))},
		{"enums", c, structure("e", sized(12), at(0, "one", enum("colour", natural, value("red", 1), value("green", 2), value("blue", 9), value("low", -1))), at(4, "two", typed(dwarf.TagTypedef, "t", enum("", natural, value("x", 0)))))},
		{"enum of a type", cxx, enum("mode", base("uint8_t", 1), attr(dwarf.AttrEnumClass, true), value("idle", 0), value("busy", 1))},
		{"enum of int", c, enum("signed", num, value("zero", 0))},
		{"enum of unsigned", c, enum("natural", natural, value("one", 1))},
		{"arrays of it", c, arrayOf(pointerTo(typed(dwarf.TagVolatileType, "", point)), 3)},
		{"pointer to an array", c, pointerTo(arrayOf(point, 4))},
		{"constant pointer", c, typed(dwarf.TagConstType, "", pointerTo(typed(dwarf.TagConstType, "", point)))},
		{"references", cxx, referenceTo(typed(dwarf.TagTypedef, "alias", point))},
		{"rvalue", cxx, typed(dwarf.TagRvalueReferenceType, "", point)},
		{"pointer to a number", c, pointerTo(typed(dwarf.TagTypedef, "alias", num))},
		{"function", c, pointerTo(callback)},
		{"interface", c, die(dwarf.TagInterfaceType, "i", sized(4), at(0, "x", num))},
		{"declared", c, structure("lost", declared)},
		{"declared with members", c, structure("half", declared, sized(4), at(0, "x", num))},
		{"declared inside", c, structure("has", sized(16), at(0, "p", pointerTo(structure("lost", declared))), at(8, "n", num))},
		{"class", cxx, die(dwarf.TagClassType, "dev", sized(40), inherits(point, 0, public), inherits(structure("other", sized(8), at(0, "o", long)), 8, protected, attr(dwarf.AttrVirtuality, 1)),
			inherits(structure("third", sized(1)), 16), at(24, "_vptr.dev", pointerTo(num)), at(16, "a", num), at(20, "b", char, public), at(21, "c", char, public), at(32, "d", num, protected), static("kept", public), static("own", private),
			method("dev", nil, this), method("~dev", nil, this), method("id", num, this, param("", num), param("", pointerTo(char)), attr(dwarf.AttrVirtuality, 1)), method("made", num, this),
			method("of", num, param("", num)), method("hidden", num, this, attr(dwarf.AttrArtificial, true)), method("", num), method("call", nil, param("self", num, attr(dwarf.AttrArtificial, true)), param("more", num, attr(dwarf.AttrArtificial, true))))},
		{"methods", cxx, structure("s", sized(8), at(0, "n", num),
			method("get", num, param("this", pointerTo(typed(dwarf.TagConstType, "", num)), attr(dwarf.AttrArtificial, true))),
			method("~s", nil, this, param("__in_chrg", num, attr(dwarf.AttrArtificial, true)), attr(dwarf.AttrVirtuality, 1)),
			method("operator bool", base("bool", 1), this), method("operator new", pointerTo(num), param("", num)))},
		{"nested", cxx, structure("outer", sized(48), at(0, "in", structure("inner", sized(8), at(0, "a", num), at(4, "b", char))), at(8, "p", typed(dwarf.TagPtrToMemberType, "", num)),
			at(16, "text", structure("std::string", sized(32))))},
		{"virtual base in a base", cxx, structure("most", sized(32), inherits(structure("left", sized(16), inherits(structure("top", sized(8), at(0, "t", num)), 8, attr(dwarf.AttrVirtuality, 1)), at(0, "l", char)), 0), bits("a", 64, 3), at(16, "n", num))},
		{"const array", c, typed(dwarf.TagConstType, "", arrayOf(typed(dwarf.TagConstType, "", pointerTo(typed(dwarf.TagConstType, "", char))), 3))},
		{"const array of numbers", c, typed(dwarf.TagConstType, "", arrayOf(num, 3))},
		{"class of a template", cxx, structure("box<int>", sized(4), at(0, "v", num), method("box", nil, this), method("get", num, this))},
		{"struct with private", cxx, structure("s", sized(8), inherits(point, 0, private), at(0, "x", num, private), at(4, "y", num))},
		{"vptr of clang", cxx, structure("v", sized(16), at(0, "_vptr$v", pointerTo(num)), at(8, "n", num))},
		{"C is not C++", c, structure("v", sized(16), at(0, "_vptr$v", pointerTo(num)), method("m", num, this))},
		{"Rust", rust, structure("P", sized(16), at(0, "x", num), at(8, "__0", long))},
		{"Rust's enum", rust, structure("E", sized(16), die(dwarf.TagVariantPart, "",
			die(dwarf.TagVariant, "", attr(dwarf.AttrDiscrValue, 0), at(0, "A", structure("A", sized(16), at(4, "__0", num), at(8, "__1", long)))),
			die(dwarf.TagVariant, "", attr(dwarf.AttrDiscrValue, 1), at(0, "B", structure("B", sized(16), at(4, "w", num), at(8, "h", num)))),
			die(dwarf.TagVariant, "", attr(dwarf.AttrDiscrValue, 2), at(0, "C", structure("C", sized(16))))))},
		{"Rust's pointer", rust, pointerTo(point)},
		{"Go", golang, structure("main.T", sized(24), at(0, "a", num), at(8, "in", structure("", sized(8), at(0, "b", num))), at(16, "p", pointerTo(num)))},
		{"Go's pointer", golang, die(dwarf.TagPointerType, "*main.T", attr(dwarf.AttrType, point))},
		{"Rust's struct without members", rust, structure("Unit")},
		{"Rust's tuple", rust, structure("(int, long)", sized(16), at(0, "__0", num), at(8, "__1", long))},
		{"Rust's tuple struct", rust, structure("Pair", sized(16), at(8, "__0", num), at(0, "__1", long))},
		{"Rust's members moved", rust, structure("M", sized(16), at(8, "a", num), at(0, "b", long), at(12, "in", structure("", sized(4), at(0, "c", num))))},
		{"Rust's union", rust, die(dwarf.TagUnionType, "U", sized(8), at(0, "__a", num), at(0, "b", long))},
		{"Rust's enum class", rust, enum("Mode", base("u8", 1), attr(dwarf.AttrEnumClass, true), value("Idle", 0))},
		{"Rust's enum of one member", rust, structure("E", sized(16), at(0, "first", num), die(dwarf.TagVariantPart, "",
			die(dwarf.TagVariant, "", attr(dwarf.AttrDiscrValue, 0), at(0, "A", structure("A", sized(16), at(4, "__0", num))))))},
		{"Rust's box", rust, die(dwarf.TagPointerType, "alloc::boxed::Box<P>", attr(dwarf.AttrType, point))},
		{"Rust's reference", rust, die(dwarf.TagPointerType, "&mut P", attr(dwarf.AttrType, point))},
		{"Rust's constant pointer", rust, die(dwarf.TagPointerType, "*const P", attr(dwarf.AttrType, point))},
		{"C's word alloc", c, die(dwarf.TagPointerType, "alloc::x", attr(dwarf.AttrType, point))},
		{"C's name in parentheses", c, structure("(odd)", sized(4), at(0, "x", num))},
		{"C's pointer with a name", c, die(dwarf.TagPointerType, "&mut P", attr(dwarf.AttrType, point))},
		{"Go's map", golang, die(dwarf.TagPointerType, "map[string]int", attr(dwarf.AttrType, structure("hash<string,int>", sized(8), at(0, "n", num))))},
		{"Go's name of a map", golang, typed(dwarf.TagTypedef, "main.M", pointerTo(point))},
		{"Go's name of a struct", golang, typed(dwarf.TagTypedef, "main.N", structure("main.N0", sized(4), at(0, "x", num)))},
		{"Go's name of a number", golang, typed(dwarf.TagTypedef, "main.I", long)},
		{"C's name of a pointer", c, typed(dwarf.TagTypedef, "link", pointerTo(point))},
		{"C's name of a pointer to a number", c, typed(dwarf.TagTypedef, "text", pointerTo(char))},
		{"C's pointer with the name of a map", c, die(dwarf.TagPointerType, "map[string]int", attr(dwarf.AttrType, point))},
		{"pointer to an enumeration", c, pointerTo(enum("colour", natural, value("red", 0)))},
		{"pointer to a function", c, pointerTo(typed(dwarf.TagSubroutineType, "", num))},
		{"immutable", dwarf.LangD, pointerTo(typed(dwarf.TagImmutableType, "", point))},
		{"Ada's record", ada, structure("shop__rec", sized(16), at(0, "a", num), at(8, "b", long), at(4, "in", structure("", sized(4), at(0, "x", num))))},
		{"Ada's record without a name", ada, structure("", sized(4), at(0, "x", num))},
		{"Ada's enumeration", ada, enum("shop__colour", char, value("shop__red", 0), value("green", 4), value("shop__deep__blue", 5))},
		{"Ada's range", ada, typed(dwarf.TagSubrangeType, "shop__small", num, attr(dwarf.AttrLowerBound, 2), attr(dwarf.AttrUpperBound, 9))},
		{"Ada's range of what is not known", ada, typed(dwarf.TagSubrangeType, "shop__odd", num, attr(dwarf.AttrLowerBound, []byte{0x30}))},
		{"Ada's number", ada, die(dwarf.TagBaseType, "shop__natural", sized(4), attr(dwarf.AttrEncoding, int(EncSigned)))},
		{"a range of C", c, typed(dwarf.TagSubrangeType, "small", num, attr(dwarf.AttrLowerBound, 2), attr(dwarf.AttrUpperBound, 9))},
		{"enum of what has no name", c, enum("e", die(dwarf.TagBaseType, "", sized(4)), value("z", 0))},
		{"enum that begins with 1", c, enum("e", natural, value("one", 1), value("two", 2))},
		{"first, static and computed", cxx, structure("odd", sized(24), typed(dwarf.TagMember, "computed", num, attr(dwarf.AttrDataMemberLoc, []byte{0x06})), static("kept"), at(8, "x", num), at(16, "y", num))},
		{"a union with a hole", c, die(dwarf.TagUnionType, "u", sized(16), at(0, "c", char))},
		{"a struct of one bit", c, structure("b", sized(1), bits("a", 0, 1))},
		{"members behind the end", c, structure("over", sized(4), at(0, "l", long))},
		{"no hole", c, structure("full", sized(8), at(0, "a", num), at(4, "b", num))},
		{"constant", c, typed(dwarf.TagConstType, "", point)},
		{"variants of Pascal", dwarf.LangPascal83, structure("v", sized(8), at(0, "n", num), die(dwarf.TagVariantPart, "", die(dwarf.TagVariant, "", attr(dwarf.AttrDiscrValue, 0), at(4, "a", num))))},
		{"a name with underscores", c, enum("e", natural, value("a__b", 0))},
		{"a member with a virtual base", cxx, structure("m", sized(48), at(0, "l", structure("left", sized(24), inherits(structure("top", sized(8), at(0, "t", long)), 16, attr(dwarf.AttrVirtuality, 1)), at(8, "c", char))), at(32, "n", num))},
		{"Go's pointer without a name", golang, pointerTo(point)},
		{"inner of an alias", c, structure("outer", sized(16), at(0, "a", typed(dwarf.TagTypedef, "alias", point)), at(8, "b", typed(dwarf.TagConstType, "", point)))},
		{"inner of an alias of none", c, structure("outer", sized(16), at(0, "a", typed(dwarf.TagTypedef, "alias", structure("", sized(8), at(0, "x", num)))))},
		{"inner of Pascal", dwarf.LangPascal83, structure("outer", sized(8), at(0, "in", point))},
		{"inner bits", c, structure("outer", sized(16), at(8, "in", structure("in", sized(4), bits("a", 0, 3), bits("b", 3, 4))))},
		{"static of a class", cxx, structure("outer", sized(4), at(0, "n", num), typed(dwarf.TagMember, "one", structure("single", sized(4), at(0, "v", num)), attr(dwarf.AttrExternal, true), attr(dwarf.AttrDeclaration, true)))},
		{"reference members", cxx, structure("refs", sized(24), at(0, "a", referenceTo(num)), at(8, "b", typed(dwarf.TagRvalueReferenceType, "", num)), at(16, "c", pointerTo(base("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", 32))))},
		{"bases with holes", cxx, structure("d", sized(32), inherits(structure("b1", sized(4), at(0, "n", num)), 0), inherits(structure("b2", sized(8), at(0, "l", long)), 16), at(28, "e", num))},
		{"private of a class, again", cxx, die(dwarf.TagClassType, "k", sized(12), at(0, "a", num, private), at(4, "b", num, protected), at(8, "c", num, public))},
		{"access in C", c, structure("k", sized(8), at(0, "a", num, private), at(4, "b", num, public))},
	}
	inner := structure("", sized(4), at(0, "deepest", num)) // in more structures without names than are written out
	for range maxInner + 2 {
		inner = structure("", sized(4), at(0, "in", inner))
	}
	types = append(types, definable{"too deep", c, inner})
	var out strings.Builder
	for _, x := range types {
		for _, layout := range []Layout{{}, {Offsets: true}, {Methods: true}, {Offsets: true, Methods: true}} {
			if layout.Methods && !slices.ContainsFunc(x.typ.kids, func(n *node) bool { return n.tag == dwarf.TagSubprogram }) {
				continue
			}
			fmt.Fprintf(&out, "== %s %+v\n%s\n", x.name, layout, strings.Join(typeOf(t, x.lang, x.typ).Definition(layout), "\n"))
		}
	}
	set := typeOf(t, c, num).set
	kind := set.Made(dwarf.TagUnionType, "regs", 16, []MadeField{{"f", set.Float(4), 0}, {"d", set.Float(8), 8}, {"v", set.ArrayOf(set.Float(4), 4), 0}})
	flags := set.Flags("eflags", 4, []Enumerator{{"CF", 1}, {"ZF", 64}})
	for _, typ := range []*Type{kind, flags, set.ArrayOf(kind, 3)} {
		fmt.Fprintf(&out, "== made %s, %d bytes, register %v\n%s\n", typ.Name(), typ.Whole(), typ.Register, strings.Join(typ.Definition(Layout{Offsets: true}), "\n"))
	}
	for _, x := range []struct {
		lang dwarf.Language
		fn   *node
	}{{c, method("f", num, param("a", num), param("b", long), at(0, "no", num))}, {rust, method("f", num, param("a", num))}, {rust, method("g", nil)}, {rust, method("h", base("()", 0))},
		{golang, method("main.none", nil)}, {golang, method("main.one", nil, at(0, "no", num), param("a", num), result(long))}, {golang, method("main.two", nil, param("a", num, param("inside", num)), param("b", long), result(num), result(long))},
		{golang, method("main.many", nil, params(maxParams)...)}, {golang, method("main.more", nil, params(maxParams+1)...)}} {
		holder := structure("holder", sized(4), at(0, "of", num), x.fn)
		of := typeOf(t, x.lang, holder)
		var result Ref
		if v := of.Ref.Unit.Value(x.fn.off, dwarf.AttrType); v.Present() {
			result = RefTo(of.Ref.Unit, &v)
		}
		f := of.set.Function(dwarf.DIE{Unit: of.Ref.Unit, Off: x.fn.off}, result)
		fmt.Fprintf(&out, "== function %s, %d members\n", f.Name(), len(f.Members().Fields))
	}
	const file = "testdata/definitions.txt"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != string(want) {
		g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				t.Fatalf("%s:%d: %q, not %q (-update writes the file)", file, i+1, g[i], w[i])
			}
		}
		t.Fatalf("%d lines, want %d", len(g), len(w))
	}
}
