package dwarfvars

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// to is an entry that refers to a type; nil is void.
//
//go:noinline
func to(tag dwarf.Tag, typ *handDIE, attrs ...handAttr) *handDIE {
	if typ != nil {
		attrs = append(attrs, handAttr{dwarf.AttrType, typ})
	}
	return die(tag, attrs...)
}

func pointerTo(typ *handDIE) *handDIE { return to(dwarf.TagPointerType, typ) }

// matrix is an array type; its dimensions have those numbers of elements.
func matrix(typ *handDIE, counts ...int) *handDIE {
	a := to(dwarf.TagArrayType, typ)
	for _, n := range counts {
		a.with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, n}))
	}
	return a
}

// dim is an array type with one dimension.
func dim(typ *handDIE, attrs ...handAttr) *handDIE {
	return to(dwarf.TagArrayType, typ).with(die(dwarf.TagSubrangeType, attrs...))
}

// funcType is a function type; a parameter nil is "...".
func funcType(result *handDIE, params ...*handDIE) *handDIE {
	f := to(dwarf.TagSubroutineType, result)
	for _, p := range params {
		if p == nil {
			f.with(die(dwarf.TagUnspecifiedParameters))
		} else {
			f.with(to(dwarf.TagFormalParameter, p))
		}
	}
	return f
}

// all lists the entries that are needed to describe types and are in none of the others.
func all(list ...*handDIE) (top []*handDIE) {
	seen, inside := map[*handDIE]bool{}, map[*handDIE]bool{}
	var order []*handDIE
	var visit func(d *handDIE)
	visit = func(d *handDIE) {
		if seen[d] {
			return
		}
		seen[d] = true
		order = append(order, d)
		for _, a := range d.attrs {
			if r, ok := a.val.(*handDIE); ok {
				visit(r)
			}
		}
		for _, k := range d.kids {
			inside[k] = true
			visit(k)
		}
	}
	for _, d := range list {
		visit(d)
	}
	for _, d := range order {
		if !inside[d] {
			top = append(top, d)
		}
	}
	return top
}

// typesOf are types in a unit of their own, for a machine of 64 bits.
func typesOf(t *testing.T, lang dwarf.Language, list ...*handDIE) []*types.Type {
	t.Helper()
	u := unit(t, binary.LittleEndian, 8, lang, all(list...)...)
	set := types.NewSet(arch.AMD64, alone{})
	var out []*types.Type
	for _, d := range list {
		out = append(out, set.At(d.in(u)))
	}
	return out
}

// TestTypeNames writes types as their languages do.
func TestTypeNames(t *testing.T) {
	integer, char, float := base("int", types.EncSigned, 4), base("char", types.EncSignedChar, 1), base("float", types.EncFloat, 4)
	constant := func(d *handDIE) *handDIE { return to(dwarf.TagConstType, d) }
	point := structure("point", 8)
	inside := structure("inner", 1)
	unnamed := structure("hidden", 1)
	nameless := die(dwarf.TagNamespace).with(unnamed)
	space := named(dwarf.TagNamespace, "space").with(named(dwarf.TagClassType, "outer", handAttr{dwarf.AttrByteSize, 1}).with(inside))
	many := make([]*handDIE, 33)
	for i := range many {
		many[i] = integer
	}
	repeat := func(n int) string { return strings.Repeat("int, ", n-1) + "int" }
	nested := func(n int, around func(*handDIE) *handDIE) *handDIE {
		d := integer
		for range n {
			d = around(d)
		}
		return d
	}
	one := func(d *handDIE) *handDIE { return array(d, 1) }
	blank := die(dwarf.TagStructureType)
	space.with(blank)
	// inner(n) is a function with a function as its parameter and so on, n times
	inner := func(n int) *handDIE {
		f := funcType(nil, integer)
		for range n {
			f = funcType(nil, f)
		}
		return f
	}
	string17 := "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
	for _, c := range []struct {
		lang dwarf.Language
		typ  *handDIE
		want string
	}{
		{dwarf.LangC99, integer, "int"},
		{dwarf.LangC99, constant(nil), "const void"},
		{dwarf.LangC99, pointerTo(nil), "void *"},
		{dwarf.LangC99, pointerTo(pointerTo(char)), "char **"},
		{dwarf.LangC99, pointerTo(constant(char)), "const char *"},
		{dwarf.LangC99, constant(pointerTo(char)), "char * const"},
		{dwarf.LangC99, pointerTo(constant(pointerTo(char))), "char * const *"},
		{dwarf.LangC99, constant(to(dwarf.TagVolatileType, pointerTo(char))), "char * volatile const"},
		{dwarf.LangC99, constant(to(dwarf.TagVolatileType, char)), "const volatile char"},
		{dwarf.LangC99, constant(constant(pointerTo(char))), "char * const const"},
		{dwarf.LangC99, to(dwarf.TagRestrictType, pointerTo(char)), "char * restrict"},
		{dwarf.LangC99, to(dwarf.TagAtomicType, integer), "_Atomic int"},
		{dwarf.LangC99, to(dwarf.TagImmutableType, integer), "const int"},
		{dwarf.LangC99, to(dwarf.TagTypedef, integer, handAttr{dwarf.AttrName, "length"}), "length"},
		{dwarf.LangC99, array(char, 12), "char [12]"},
		{dwarf.LangC99, matrix(integer, 2, 3), "int [2][3]"},
		{dwarf.LangC99, array(array(integer, 3), 2), "int [2][3]"},
		{dwarf.LangC99, pointerTo(array(integer, 3)), "int (*)[3]"},
		{dwarf.LangC99, pointerTo(pointerTo(array(integer, 3))), "int (**)[3]"},
		{dwarf.LangC99, array(pointerTo(integer), 3), "int * [3]"},
		{dwarf.LangC99, array(pointerTo(array(integer, 2)), 3), "int (*[3])[2]"},
		{dwarf.LangC99, array(pointerTo(funcType(nil, integer)), 3), "void (*[3])(int)"},
		{dwarf.LangC99, constant(array(integer, 3)), "const int [3]"},
		{dwarf.LangC99, array(constant(integer), 3), "const int [3]"},
		{dwarf.LangC99, dim(integer), "int []"},
		{dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, 4}), "int [5]"},
		{dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, 4}, handAttr{dwarf.AttrLowerBound, 2}), "int [3]"},
		{dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, 1}, handAttr{dwarf.AttrLowerBound, 4}), "int [0]"},
		{dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, handRaw{dwarf.FormData4, []byte{0xff, 0xff, 0xff, 0xff}}}), "int [0]"},
		{dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, handRaw{dwarf.FormData4, []byte{0xfe, 0xff, 0xff, 0xff}}}), "int [4294967295]"},
		{dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, handRaw{dwarf.FormData2, []byte{0xff, 0xff}}}), "int [0]"},
		{dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, handRaw{dwarf.FormData2, []byte{0xfe, 0xff}}}), "int [65535]"},
		{dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, handRaw{dwarf.FormUdata, []byte{0xff, 0xff, 3}}}), "int [65536]"},
		{dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, handRaw{dwarf.FormUdata, []byte{0xff, 0xff, 0xff, 0xff, 15}}}), "int [4294967296]"},
		{dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, []byte{0x30}}), "int [variable length]"},
		{dwarf.LangC99, dim(integer, handAttr{dwarf.AttrCount, []byte{0x30}}), "int [variable length]"},
		{dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, 4}, handAttr{dwarf.AttrLowerBound, []byte{0x30}}), "int [5]"},
		{dwarf.LangC99, to(dwarf.TagArrayType, float, handAttr{dwarf.Attr(0x2107), true}).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrUpperBound, 3})),
			"float __attribute__ ((vector_size(4)))"},
		{dwarf.LangFortran90, dim(integer, handAttr{dwarf.AttrUpperBound, 4}), "int [4]"},
		{dwarf.LangC99, funcType(nil), "void (void)"},
		{dwarf.LangC99, funcType(integer, char, pointerTo(char)), "int (char, char *)"},
		{dwarf.LangC99, funcType(integer, char, nil), "int (char, ...)"},
		{dwarf.LangC99, funcType(integer, nil), "int (void)"},
		{dwarf.LangC99, funcType(integer, array(char, 3)), "int (char [3])"},
		{dwarf.LangC99, pointerTo(funcType(integer)), "int (*)(void)"},
		{dwarf.LangC99, pointerTo(funcType(pointerTo(funcType(nil, char)), integer)), "void (*(*)(int))(char)"},
		{dwarf.LangC99, funcType(pointerTo(integer)), "int * (void)"},
		{dwarf.LangC99, funcType(nil, many[:32]...), "void (" + repeat(32) + ")"},
		{dwarf.LangC99, funcType(nil, append(many[:32:32], nil)...), "void (" + repeat(32) + ", ...)"},
		{dwarf.LangC99, funcType(nil, many...), "void (" + repeat(32) + ", ...)"},
		{dwarf.LangC99, inner(3), "void (void (void (void (int))))"},
		{dwarf.LangC99, inner(4), "void (void (void (void (void (...)))))"},
		{dwarf.LangC99, nested(32, pointerTo), "int " + strings.Repeat("*", 32)},
		{dwarf.LangC99, nested(33, pointerTo), "... " + strings.Repeat("*", 33)},
		{dwarf.LangC99, point, "struct point"},
		{dwarf.LangC99, named(dwarf.TagUnionType, "u"), "union u"},
		{dwarf.LangC99, named(dwarf.TagEnumerationType, "e"), "enum e"},
		{dwarf.LangC99, die(dwarf.TagStructureType), "struct {...}"},
		{dwarf.LangC99, die(dwarf.TagUnionType), "union {...}"},
		{dwarf.LangCPlus14, die(dwarf.TagClassType), "class {...}"},
		{dwarf.LangC99, die(dwarf.TagBaseType), "?"},
		{dwarf.LangCPlus14, point, "point"},
		{dwarf.LangCPlus14, to(dwarf.TagReferenceType, integer), "int &"},
		{dwarf.LangCPlus14, to(dwarf.TagRvalueReferenceType, integer), "int &&"},
		{dwarf.LangCPlus14, to(dwarf.TagReferenceType, pointerTo(integer)), "int *&"},
		{dwarf.LangCPlus14, constant(to(dwarf.TagReferenceType, integer)), "int & const"},
		{dwarf.LangCPlus14, to(dwarf.TagReferenceType, array(integer, 3)), "int (&)[3]"},
		{dwarf.LangCPlus14, to(dwarf.TagPtrToMemberType, integer, handAttr{dwarf.AttrContainingType, point}), "int point::*"},
		{dwarf.LangCPlus14, to(dwarf.TagPtrToMemberType, funcType(nil, integer), handAttr{dwarf.AttrContainingType, point}), "void (point::*)(int)"},
		{dwarf.LangCPlus14, to(dwarf.TagPtrToMemberType, integer), "int ?::*"},
		{dwarf.LangCPlus14, to(dwarf.TagPtrToMemberType, integer, handAttr{dwarf.AttrContainingType, integer}), "int ?::*"},
		{dwarf.LangCPlus14, constant(to(dwarf.TagPtrToMemberType, integer, handAttr{dwarf.AttrContainingType, point})), "int point::* const"},
		{dwarf.LangCPlus14, pointerTo(to(dwarf.TagReferenceType, integer)), "int &*"},
		{dwarf.LangCPlus14, blank, "struct {...}"},
		{dwarf.LangC99, constant(to(dwarf.TagImmutableType, pointerTo(char))), "char * const const"},
		{dwarf.LangC99, constant(to(dwarf.TagRestrictType, pointerTo(char))), "char * restrict const"},
		{dwarf.LangC99, constant(to(dwarf.TagAtomicType, pointerTo(char))), "char * _Atomic const"},
		{dwarf.LangC99, nested(32, constant), strings.Repeat("const ", 32) + "int"},
		{dwarf.LangC99, nested(33, constant), strings.Repeat("const ", 33) + "..."},
		{dwarf.LangC99, nested(32, one), "int " + strings.Repeat("[1]", 32)},
		{dwarf.LangC99, nested(33, one), "... " + strings.Repeat("[1]", 33)},
		{dwarf.LangRust, nested(32, one), strings.Repeat("[", 32) + "int" + strings.Repeat("; 1]", 32)},
		{dwarf.LangRust, nested(33, one), strings.Repeat("[", 33) + "..." + strings.Repeat("; 1]", 33)},
		{dwarf.LangCPlus14, named(dwarf.TagClassType, string17), "std::string"},
		{dwarf.LangCPlus14, named(dwarf.TagClassType, "std::__1::basic_string<char, std::char_traits<char>, std::allocator<char>>"), "std::string"},
		{dwarf.LangCPlus14, named(dwarf.TagClassType, "std::basic_string_view<char, std::char_traits<char> >"), "std::string_view"},
		{dwarf.LangCPlus14, named(dwarf.TagClassType, "std::basic_string_view<char, std::char_traits<char>>"), "std::string_view"},
		{dwarf.LangCPlus14, named(dwarf.TagClassType, "std::__1::vector<int>"), "std::vector<int>"},
		{dwarf.LangGo, to(dwarf.TagPointerType, integer, handAttr{dwarf.AttrName, "*int"}), "*int"},
		{dwarf.LangGo, named(dwarf.TagPointerType, "unsafe.Pointer"), "void *"},
		{dwarf.LangGo, pointerTo(integer), "int *"},
		{dwarf.LangGo, pointerTo(named(dwarf.TagArrayType, "[3]int")), "[3]int *"},
		{dwarf.LangGo, funcType(nil), "void (void)"},
		{dwarf.LangRust, pointerTo(array(integer, 3)), "*mut [int; 3]"},
		{dwarf.LangGo, named(dwarf.TagArrayType, "[3]int"), "[3]int"},
		{dwarf.LangGo, named(dwarf.TagSubroutineType, "func(int)"), "func(int)"},
		{dwarf.LangC99, named(dwarf.TagSubroutineType, "f"), "void (void)"},
		{dwarf.LangC99, to(dwarf.TagPointerType, integer, handAttr{dwarf.AttrName, "p"}), "int *"},
		{dwarf.LangRust, named(dwarf.TagPointerType, "*const i32"), "*const i32"},
		{dwarf.LangRust, pointerTo(integer), "*mut int"},
		{dwarf.LangRust, array(integer, 3), "[int; 3]"},
		{dwarf.LangRust, matrix(integer, 3, 4), "int [3][4]"},
		{dwarf.LangC99, array(integer, 3), "int [3]"},
		{dwarf.LangCPlus14, inside, "space::outer::inner"},
		{dwarf.LangC99, inside, "struct inner"},
		{dwarf.LangCPlus14, unnamed, "(anonymous namespace)::hidden"},
		{dwarf.LangCPlus14, die(dwarf.TagStructureType, handAttr{dwarf.AttrSpecification, inside}), "space::outer::inner"},
		{dwarf.LangCPlus14, named(dwarf.TagStructureType, "own", handAttr{dwarf.AttrSpecification, inside}), "space::outer::own"},
	} {
		if got := typesOf(t, c.lang, c.typ, space, nameless)[0].Name(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if got := types.NewSet(arch.AMD64, nil).Of(types.Ref{}).Name(); got != "void" {
		t.Errorf("void is %s", got)
	}
}

// oddFrame evaluates expressions: the only operation that they have is a number, of which 0x30 is 0.
type oddFrame struct{}

func (oddFrame) Stored(*dwarf.Unit, *dwarf.Value, uint64) (uint64, error) {
	return 0, unknown.ErrOptimisedOut
}

func (oddFrame) Number(_ *dwarf.Unit, v *dwarf.Value) (uint64, error) {
	switch {
	case v.Form.Class() == dwarf.ClassConstant:
		return v.U, nil
	case len(v.B) == 1 && v.B[0] >= 0x30:
		return uint64(v.B[0] - 0x30), nil
	}
	return 0, errors.New("no number")
}

// TestTypeSizes asks for sizes without a frame (Size, and Whole with those of arrays), and in one.
func TestTypeSizes(t *testing.T) {
	integer := base("int", types.EncSigned, 4)
	quad := base("quad", types.EncSigned, 8)
	number := func(n int) []byte { return []byte{byte(0x30 + n)} }
	bad := []byte{0x11}
	huge := func(n uint64) handAttr {
		return handAttr{dwarf.AttrCount, handRaw{dwarf.FormData8, binary.LittleEndian.AppendUint64(nil, n)}}
	}
	two := func(a, b handAttr) *handDIE {
		return to(dwarf.TagArrayType, integer).with(die(dwarf.TagSubrangeType, a), die(dwarf.TagSubrangeType, b))
	}
	typedefs := func(n int) *handDIE {
		d := integer
		for range n {
			d = to(dwarf.TagTypedef, d)
		}
		return d
	}
	arrays := func(n int) *handDIE {
		d := integer
		for range n {
			d = array(d, 1)
		}
		return d
	}
	enums := func(n int) *handDIE {
		d := integer
		for range n {
			d = to(dwarf.TagEnumerationType, d)
		}
		return d
	}
	full := structure("far", 24)
	declared := named(dwarf.TagStructureType, "far", handAttr{dwarf.AttrDeclaration, true})
	for _, c := range []struct {
		name        string
		lang        dwarf.Language
		typ         *handDIE
		size, whole uint64
		in          any // in the frame: a number, or the error
	}{
		{"a number", dwarf.LangC99, integer, 4, 4, 4},
		{"a number of bits", dwarf.LangC99, die(dwarf.TagBaseType, handAttr{dwarf.AttrBitSize, 17}), 3, 3, 3},
		{"a number of bits and bytes", dwarf.LangC99, die(dwarf.TagBaseType, handAttr{dwarf.AttrByteSize, 4}, handAttr{dwarf.AttrBitSize, 17}), 4, 4, 4},
		{"a number of 16 bits", dwarf.LangC99, die(dwarf.TagBaseType, handAttr{dwarf.AttrBitSize, 16}), 2, 2, 2},
		{"a struct of bits", dwarf.LangC99, die(dwarf.TagStructureType, handAttr{dwarf.AttrBitSize, 16}), 0, 0, 0},
		{"a typedef", dwarf.LangC99, to(dwarf.TagTypedef, integer), 4, 4, 4},
		{"as many typedefs as are followed", dwarf.LangC99, typedefs(types.MaxChain - 1), 4, 4, 4},
		{"one more", dwarf.LangC99, typedefs(types.MaxChain), 0, 0, 0},
		{"a pointer", dwarf.LangC99, pointerTo(integer), 8, 8, 8},
		{"a pointer with a size", dwarf.LangC99, to(dwarf.TagPointerType, integer, handAttr{dwarf.AttrByteSize, 4}), 4, 4, 4},
		{"a reference", dwarf.LangCPlus14, to(dwarf.TagReferenceType, integer), 8, 8, 8},
		{"another reference", dwarf.LangCPlus14, to(dwarf.TagRvalueReferenceType, integer), 8, 8, 8},
		{"a member", dwarf.LangCPlus14, to(dwarf.TagPtrToMemberType, integer), 0, 8, 8},
		{"a member function", dwarf.LangCPlus14, to(dwarf.TagPtrToMemberType, funcType(nil)), 0, 16, 16},
		{"a member function by a typedef", dwarf.LangCPlus14, to(dwarf.TagPtrToMemberType, to(dwarf.TagTypedef, funcType(nil))), 0, 16, 16},
		{"a function", dwarf.LangC99, funcType(nil), 0, 0, 0},
		{"a function of Go", dwarf.LangGo, funcType(nil), 0, 0, 8},
		{"nothing", dwarf.LangCPlus14, die(dwarf.TagUnspecifiedType), 0, 0, 0},
		{"an empty struct", dwarf.LangC99, die(dwarf.TagStructureType), 0, 0, 0},
		{"an array", dwarf.LangC99, array(integer, 3), 0, 12, 12},
		{"an array with a size", dwarf.LangC99, to(dwarf.TagArrayType, integer, handAttr{dwarf.AttrByteSize, 20}), 20, 20, 20},
		{"an array of arrays", dwarf.LangC99, array(array(integer, 3), 2), 0, 24, 24},
		{"an array of two dimensions", dwarf.LangC99, matrix(integer, 3, 2), 0, 24, 24},
		{"an array with an empty dimension", dwarf.LangC99, matrix(integer, 3, 0), 0, 0, 0},
		{"an array of pointers", dwarf.LangC99, array(pointerTo(nil), 3), 0, 24, 24},
		{"an array of nothing", dwarf.LangC99, array(die(dwarf.TagStructureType), 3), 0, 0, 0},
		{"an array by its last element", dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, 4}), 0, 20, 20},
		{"an array without an end", dwarf.LangC99, dim(integer), 0, 0, 0},
		{"an array with a computed end", dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, number(4)}), 0, 0, 20},
		{"an array with a computed length", dwarf.LangC99, dim(integer, handAttr{dwarf.AttrCount, number(4)}), 0, 0, 16},
		{"an array with a computed begin", dwarf.LangC99, dim(integer, handAttr{dwarf.AttrLowerBound, number(2)}, handAttr{dwarf.AttrUpperBound, number(4)}), 0, 0, 12},
		{"an array that ends before it begins", dwarf.LangC99, dim(integer, handAttr{dwarf.AttrLowerBound, number(5)}, handAttr{dwarf.AttrUpperBound, number(2)}), 0, 0, 0},
		{"an array that ends just before it begins", dwarf.LangC99, dim(integer, handAttr{dwarf.AttrLowerBound, number(3)}, handAttr{dwarf.AttrUpperBound, number(2)}), 0, 0, 0},
		{"an array of less than nothing", dwarf.LangC99, dim(integer, huge(1<<63)), 0, 0, 0},
		{"an array of Fortran", dwarf.LangFortran90, dim(integer, handAttr{dwarf.AttrUpperBound, number(4)}), 0, 0, 16},
		{"an array of Fortran from 0", dwarf.LangFortran90, dim(integer, handAttr{dwarf.AttrLowerBound, number(0)}, handAttr{dwarf.AttrUpperBound, number(4)}), 0, 0, 20},
		{"an array of Fortran of constant length", dwarf.LangFortran90, dim(integer, handAttr{dwarf.AttrUpperBound, 4}), 0, 16, 16},
		{"an array of constant bounds", dwarf.LangC99, dim(integer, handAttr{dwarf.AttrLowerBound, 2}, handAttr{dwarf.AttrUpperBound, 4}), 0, 12, 12},
		{"an array with no length", dwarf.LangC99, dim(integer, handAttr{dwarf.AttrCount, bad}), 0, 0, "no number"},
		{"an array with no end", dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, bad}), 0, 0, "no number"},
		{"an array with no begin", dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, number(4)}, handAttr{dwarf.AttrLowerBound, bad}), 0, 0, "no number"},
		{"an array of what has no size", dwarf.LangC99, array(dim(integer, handAttr{dwarf.AttrCount, bad}), 2), 0, 0, "no number"},
		{"a computed size", dwarf.LangAda95, die(dwarf.TagStructureType, handAttr{dwarf.AttrByteSize, number(5)}), 0, 0, 5},
		{"no computed size", dwarf.LangAda95, die(dwarf.TagStructureType, handAttr{dwarf.AttrByteSize, bad}), 0, 0, "no number"},
		{"the longest dimension", dwarf.LangC99, dim(die(dwarf.TagStructureType), huge(1<<40)), 0, 0, 0},
		{"too long a dimension", dwarf.LangC99, dim(die(dwarf.TagStructureType), huge(1<<40+1)), 0, 0, unknown.ErrLimit.Error()},
		{"two long dimensions", dwarf.LangC99, two(huge(1<<21), huge(1<<19)), 0, 1 << 42, uint64(1 << 42)},
		{"two dimensions, too long", dwarf.LangC99, two(huge(1<<21), huge(1<<19+1)), 0, 1<<42 + 1<<23, unknown.ErrLimit.Error()},
		{"the largest array", dwarf.LangC99, dim(die(dwarf.TagStructureType, handAttr{dwarf.AttrByteSize, 1 << 8}), huge(1<<40)), 0, 1 << 48, uint64(1 << 48)},
		{"too large an array", dwarf.LangC99, dim(die(dwarf.TagStructureType, handAttr{dwarf.AttrByteSize, 1<<8 + 1}), huge(1<<40)), 0, 1<<48 + 1<<40, unknown.ErrLimit.Error()},
		{"arrays as deep as is followed", dwarf.LangC99, arrays(types.MaxChain), 0, 4, 4},
		{"arrays too deep", dwarf.LangC99, arrays(types.MaxChain + 1), 0, 0, unknown.ErrLimit.Error()},
		{"an enumeration of a type", dwarf.LangC99, to(dwarf.TagEnumerationType, quad), 0, 0, 8},
		{"an enumeration with a size", dwarf.LangC99, to(dwarf.TagEnumerationType, quad, handAttr{dwarf.AttrByteSize, 2}), 2, 2, 2},
		{"an enumeration", dwarf.LangC99, die(dwarf.TagEnumerationType), 0, 0, 0},
		{"a range", dwarf.LangC99, to(dwarf.TagSubrangeType, quad), 0, 0, 8},
		{"a declaration", dwarf.LangC99, declared, 0, 24, 24},
		{"an array of declarations", dwarf.LangC99, array(declared, 2), 0, 48, 48},
		{"a declaration with a size", dwarf.LangC99, named(dwarf.TagStructureType, "none", handAttr{dwarf.AttrDeclaration, true}, handAttr{dwarf.AttrByteSize, 12}), 12, 12, 12},
		{"nothing, in Go", dwarf.LangGo, die(dwarf.TagUnspecifiedType), 0, 0, 0},
		{"an empty struct of Go", dwarf.LangGo, die(dwarf.TagStructureType), 0, 0, 0},
		{"a function with a result", dwarf.LangC99, funcType(integer), 0, 0, 0},
		{"an array of a byte", dwarf.LangC99, to(dwarf.TagArrayType, integer, handAttr{dwarf.AttrByteSize, 1}), 1, 1, 1},
		{"an empty array", dwarf.LangC99, dim(integer, handAttr{dwarf.AttrUpperBound, handRaw{dwarf.FormData4, []byte{0xff, 0xff, 0xff, 0xff}}}), 0, 0, 0},
		{"enumerations as deep as is followed", dwarf.LangC99, enums(types.MaxChain), 0, 0, 4},
		{"enumerations too deep", dwarf.LangC99, enums(types.MaxChain + 1), 0, 0, unknown.ErrLimit.Error()},
		{"a declaration of nothing", dwarf.LangC99, named(dwarf.TagStructureType, "none", handAttr{dwarf.AttrDeclaration, true}), 0, 0, "incomplete type struct none"},
	} {
		u := unit(t, binary.LittleEndian, 8, c.lang, all(c.typ, full)...)
		typ := types.NewSet(arch.AMD64, alone{}).At(c.typ.in(u))
		in, err := typ.SizeIn(oddFrame{})
		got := fmt.Sprint(in)
		if err != nil {
			got = err.Error()
		}
		if size, whole := typ.Size(), typ.Whole(); size != c.size || whole != c.whole || !strings.HasSuffix(got, fmt.Sprint(c.in)) {
			t.Errorf("%s: %d, %d and %s; want %d, %d and %v", c.name, size, whole, got, c.size, c.whole, c.in)
		}
	}
}

// TestTypeShapes: where the elements of arrays are.
func TestTypeShapes(t *testing.T) {
	integer := base("int", types.EncSigned, 4)
	dims := func(attrs ...handAttr) *handDIE { // of two elements each; the first attribute is the first dimension's
		a := to(dwarf.TagArrayType, integer)
		for _, at := range attrs {
			d := die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 2})
			if at.attr != 0 {
				d = die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 2}, at)
			}
			a.with(d)
		}
		return a
	}
	none := handAttr{}
	bytes := func(n int) handAttr { return handAttr{dwarf.AttrByteStride, n} }
	bits := func(n int) handAttr { return handAttr{dwarf.AttrBitStride, n} }
	for _, c := range []struct {
		name  string
		typ   *handDIE
		want  string
		whole uint64
	}{
		{"one dimension", dims(none), "[{2 true 32 32 false}]", 8},
		{"two", dims(none, none), "[{2 true 64 64 true} {2 true 32 32 false}]", 16},
		{"three", dims(none, none, none), "[{2 true 128 128 true} {2 true 64 64 true} {2 true 32 32 false}]", 32},
		{"with gaps", dims(bytes(12)), "[{2 true 96 32 false}]", 0},
		{"of bits", dims(bits(3)), "[{2 true 3 32 false}]", 0},
		{"with gaps in rows", dims(none, bytes(8)), "[{2 true 128 128 false} {2 true 64 32 false}]", 0},
		{"with gaps between rows", dims(bytes(40), none), "[{2 true 320 64 true} {2 true 32 32 false}]", 0},
		{"with gaps in the middle", dims(none, bytes(24), none), "[{2 true 384 384 false} {2 true 192 64 true} {2 true 32 32 false}]", 0},
		{"with gaps in the innermost rows", dims(none, none, bytes(8)), "[{2 true 256 256 false} {2 true 128 128 false} {2 true 64 32 false}]", 0},
		{"all of it with gaps", to(dwarf.TagArrayType, integer, bytes(6)).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 2})), "[{2 true 48 32 false}]", 0},
		{"all of it of bits", to(dwarf.TagArrayType, integer, bits(5)).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 2})), "[{2 true 5 32 false}]", 0},
		{"somewhere else", to(dwarf.TagArrayType, integer, handAttr{dwarf.AttrDataLocation, []byte{0x31}}).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 2})), "[{2 true 32 32 false}]", 0},
		{"by columns", to(dwarf.TagArrayType, integer, handAttr{dwarf.AttrOrdering, 1}).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 2}), die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 3})), "[{3 true 64 64 true} {2 true 32 32 false}]", 24},
		{"by rows", to(dwarf.TagArrayType, integer, handAttr{dwarf.AttrOrdering, 0}).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 2}), die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 3})), "[{2 true 96 96 true} {3 true 32 32 false}]", 24},
	} {
		u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, all(c.typ)...)
		typ := types.NewSet(arch.AMD64, alone{}).At(c.typ.in(u))
		shape, err := typ.Shape(oddFrame{})
		if got := fmt.Sprint(shape); err != nil || got != c.want || typ.Whole() != c.whole {
			t.Errorf("%s: %s, %v, %d bytes; want %s, %d", c.name, got, err, typ.Whole(), c.want, c.whole)
		}
	}
	for name, c := range map[string]struct {
		typ  *handDIE
		want bool
	}{
		"a number":                          {integer, false},
		"an array":                          {array(integer, 2), false},
		"a computed count":                  {dim(integer, handAttr{dwarf.AttrCount, []byte{0x32}}), true},
		"a computed end":                    {dim(integer, handAttr{dwarf.AttrUpperBound, []byte{0x32}}), true},
		"a computed stride":                 {dim(integer, handAttr{dwarf.AttrCount, 2}, handAttr{dwarf.AttrByteStride, []byte{0x32}}), true},
		"another name of one":               {to(dwarf.TagTypedef, dim(integer, handAttr{dwarf.AttrCount, []byte{0x32}})), true},
		"in an array":                       {array(dim(integer, handAttr{dwarf.AttrCount, []byte{0x32}}), 2), true},
		"by another name, in an array":      {array(to(dwarf.TagTypedef, dim(integer, handAttr{dwarf.AttrCount, []byte{0x32}})), 2), true},
		"a constant one by another name":    {array(to(dwarf.TagTypedef, array(integer, 2)), 2), false},
		"a pointer to one":                  {pointerTo(dim(integer, handAttr{dwarf.AttrCount, []byte{0x32}})), false},
		"what may not be there":             {to(dwarf.TagArrayType, integer, handAttr{dwarf.AttrAllocated, []byte{0x31}}).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 2})), true},
		"what a pointer may not point to":   {to(dwarf.TagArrayType, integer, handAttr{dwarf.AttrAssociated, []byte{0x31}}).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 2})), true},
		"a string with a variable length":   {die(dwarf.TagStringType, handAttr{dwarf.AttrStringLength, []byte{0x31}}), true},
		"a string with a number for length": {die(dwarf.TagStringType, handAttr{dwarf.AttrByteSize, 3}), false},
	} {
		u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, all(c.typ)...)
		if got := types.NewSet(arch.AMD64, alone{}).At(c.typ.in(u)).Dynamic(); got != c.want {
			t.Errorf("%s: dynamic %v, want %v", name, got, c.want)
		}
	}
	outer := structure("outer", 64, member("apart", to(dwarf.TagArrayType, integer).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 2}, bytes(12))), 0), member("last", integer, 60))
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, all(outer)...)
	if text, _, ok := types.NewSet(arch.AMD64, alone{}).At(outer.in(u)).Part(12, 4); ok {
		t.Errorf("%q is 12 bytes into an array with gaps", text)
	}
}

// TestTypesWithDescriptors: the type of a unit of Go that has a descriptor, the first time and after many.
func TestTypesWithDescriptors(t *testing.T) {
	described := func(name string, at int) *handDIE {
		return named(dwarf.TagStructureType, name, handAttr{dwarf.AttrByteSize, 8}, handAttr{dwarf.AttrGoRuntimeType, at}).with(member("x", base("int", types.EncSigned, 8), 0))
	}
	for _, lang := range []dwarf.Language{dwarf.LangGo, dwarf.LangC99} {
		one, two, none := described("p.one", 0x100), described("q.one", 0x200), structure("p.none", 8)
		u := unit(t, binary.LittleEndian, 8, lang, all(one, two, none)...)
		set := types.NewSet(arch.AMD64, alone{})
		for n := range 100 {
			for at, want := range map[uint64]*handDIE{0x100: one, 0x200: two, 0x300: nil, 0: nil} {
				if lang != dwarf.LangGo {
					want = nil
				}
				d, ok := set.Described(u, at)
				if ok != (want != nil) || ok && d != want.in(u) {
					t.Fatalf("language %d, search %d: descriptor %#x is %v, %v", lang, n, at, d, ok)
				}
			}
		}
	}
}

// TestPartsOfGo: Go's source names no members of strings, slices and interfaces.
func TestPartsOfGo(t *testing.T) {
	long := base("int", types.EncSigned, 8)
	for kind, shown := range map[int]bool{20: false, 23: false, 24: false, 25: true} { // reflect.Interface, Slice, String, Struct
		inner := named(dwarf.TagStructureType, "inner", handAttr{dwarf.AttrByteSize, 16}, handAttr{dwarf.AttrGoKind, kind}).with(member("first", long, 0), member("second", long, 8))
		outer := structure("outer", 24, member("own", long, 0), member("held", inner, 8))
		u := unit(t, binary.LittleEndian, 8, dwarf.LangGo, all(outer)...)
		set := types.NewSet(arch.AMD64, alone{})
		want := ".held"
		if shown {
			want = ".held.second"
		}
		if got, _, ok := set.At(outer.in(u)).Part(16, 8); !ok || got != want {
			t.Errorf("kind %d: %q, %v, want %q", kind, got, ok, want)
		}
		if got, _, ok := set.At(inner.in(u)).Part(8, 8); !ok || got != ".second" {
			t.Errorf("kind %d, by itself: %q, %v", kind, got, ok)
		}
	}
}

// alone is the libraries of a process that are not known.
type alone struct{}

func (alone) All() []*libstate.Library            { return nil }
func (alone) File(*libstate.Library) *image.Image { return nil }

// TestTypesOfThemselves describes types that are made of themselves: nothing hangs.
func TestTypesOfThemselves(t *testing.T) {
	again := func(tag dwarf.Tag, attrs ...dwarf.Attr) *handDIE {
		d := die(tag)
		for _, a := range attrs {
			d.attrs = append(d.attrs, handAttr{a, d})
		}
		if tag == dwarf.TagArrayType {
			d.with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 2}))
		}
		return d
	}
	for _, lang := range []dwarf.Language{dwarf.LangC99, dwarf.LangRust} {
		for _, d := range []*handDIE{
			again(dwarf.TagTypedef, dwarf.AttrType), again(dwarf.TagConstType, dwarf.AttrType), again(dwarf.TagArrayType, dwarf.AttrType),
			again(dwarf.TagPointerType, dwarf.AttrType), again(dwarf.TagPtrToMemberType, dwarf.AttrType, dwarf.AttrContainingType),
			again(dwarf.TagSubroutineType, dwarf.AttrType), again(dwarf.TagEnumerationType, dwarf.AttrType),
			again(dwarf.TagStructureType, dwarf.AttrSpecification), again(dwarf.TagStructureType, dwarf.AttrSignature),
		} {
			typ := typesOf(t, lang, d)[0]
			if name := typ.Name(); name == "" {
				t.Errorf("%v has no name", d.tag)
			}
			typ.Whole()
			typ.Size()
			typ.SizeIn(oddFrame{})
			typ.Part(1<<40, 1)
			typ.Follow("p", 1<<40, 1)
			typ.Char()
			typ.Constant()
			typ.Members()
		}
	}
}

// TestTypeKinds tells kinds of types apart.
func TestTypeKinds(t *testing.T) {
	integer := base("int", types.EncSigned, 4)
	typedef := func(name string, d *handDIE) *handDIE {
		return to(dwarf.TagTypedef, d, handAttr{dwarf.AttrName, name})
	}
	constant := func(d *handDIE) *handDIE { return to(dwarf.TagConstType, d) }
	typedefs := func(d *handDIE, n int) *handDIE {
		for range n {
			d = to(dwarf.TagTypedef, d)
		}
		return d
	}
	var cases []struct {
		typ  *handDIE
		want string
	}
	add := func(want string, list ...*handDIE) {
		for _, d := range list {
			cases = append(cases, struct {
				typ  *handDIE
				want string
			}{d, want})
		}
	}
	add("", integer, base("address", types.EncAddress, 8), base("bool", types.EncBoolean, 1), base("u", types.EncUnsigned, 2), array(integer, 2), funcType(nil),
		base("c", types.EncSignedChar, 8), base("c", types.EncSignedChar, 3), die(dwarf.TagEnumerationType))
	add("wchar_t", base("wchar_t", types.EncSigned, 8))
	add("char1", base("c", types.EncSignedChar, 1), base("c", types.EncUnsignedChar, 1), base("c", types.EncUTF, 1), base("c", types.EncUCS, 1), base("c", types.EncASCII, 1))
	add("char2", base("c", types.EncUTF, 2))
	add("char4", base("c", types.EncUTF, 4))
	add("char4 wchar_t", base("wchar_t", types.EncSigned, 4))
	add("char2 char16_t", base("char16_t", types.EncUnsigned, 2))
	add("char4 char32_t", base("char32_t", types.EncUnsigned, 4))
	add("char1 char8_t", base("char8_t", types.EncUnsigned, 1))
	add("char4 transparent wchar_t", typedef("wchar_t", integer), typedef("letter", typedef("wchar_t", integer)))
	add("const char4 transparent wchar_t", constant(typedef("wchar_t", integer)))
	add("aggregate", structure("wchar_t", 4), structure("s", 1), named(dwarf.TagClassType, "c"), named(dwarf.TagUnionType, "u"), named(dwarf.TagInterfaceType, "i"))
	add("float", base("f", types.EncFloat, 4), base("f", types.EncComplexFloat, 8), base("f", types.EncImaginary, 4))
	add("float transparent", typedef("f", base("f", types.EncFloat, 4)))
	add("wchar_t", named(dwarf.TagEnumerationType, "wchar_t", handAttr{dwarf.AttrByteSize, 4}))
	add("pointer", pointerTo(base("wchar_t", types.EncSigned, 4)), pointerTo(integer), pointerTo(constant(integer)))
	add("reference", to(dwarf.TagReferenceType, integer), to(dwarf.TagRvalueReferenceType, integer))
	add("leads transparent", typedef("p", pointerTo(integer)), typedef("r", to(dwarf.TagReferenceType, integer)), typedefs(pointerTo(integer), types.MaxChain-1))
	add("transparent", typedef("t", integer), to(dwarf.TagVolatileType, integer), to(dwarf.TagRestrictType, integer), to(dwarf.TagAtomicType, integer),
		to(dwarf.TagImmutableType, integer), to(dwarf.TagTemplateAlias, integer), to(dwarf.TagPackedType, integer), to(dwarf.TagSharedType, integer),
		typedefs(pointerTo(integer), types.MaxChain), typedefs(constant(integer), types.MaxChain), typedefs(base("wchar_t", types.EncSigned, 4), types.MaxChain))
	add("const transparent", constant(integer), typedef("t", constant(integer)), typedefs(constant(integer), types.MaxChain-1))
	for _, c := range cases {
		typ := typesOf(t, dwarf.LangC99, c.typ)[0]
		var facts []string
		fact := func(name string, is bool) {
			if is {
				facts = append(facts, name)
			}
		}
		fact("aggregate", typ.Aggregate())
		fact("const", typ.Constant())
		if n, ok := typ.Char(); ok {
			fact(fmt.Sprintf("char%d", n), true)
		}
		fact("float", typ.Floats())
		fact("leads", typ.IsPointer() && typ.Transparent())
		fact("pointer", typ.Pointer())
		fact("reference", typ.Reference())
		fact("transparent", typ.Transparent())
		fact(typ.CharName(), typ.CharName() != "")
		if got := strings.Join(facts, " "); got != c.want || typ.IsPointer() != (c.want == "pointer" || c.want == "reference" || strings.HasPrefix(c.want, "leads")) {
			t.Errorf("%s is %q, want %q", typ.Name(), got, c.want)
		}
	}
}

// memberText writes the members of a type.
func memberText(m *types.Members) string {
	var out []string
	for i := range m.Fields {
		f := &m.Fields[i]
		text := fmt.Sprintf("%s@%d", f.Name, f.Off)
		if f.Bits != 0 {
			text += fmt.Sprintf(":%d@%d", f.Bits, f.BitOff)
		}
		for _, x := range []struct {
			is   bool
			word string
		}{{f.Base, "base"}, {f.Virtual, "virtual"}, {f.Static, "static"}, {f.Expr.Present(), "computed"}, {f.Constant.Present(), "constant"}, {!f.Type.Valid(), "void"}} {
			if x.is {
				text += " " + x.word
			}
		}
		out = append(out, text)
	}
	for _, e := range m.Enums {
		out = append(out, fmt.Sprintf("%s=%d", e.Name, int64(e.Val)))
	}
	for _, a := range m.Templates {
		out = append(out, fmt.Sprintf("<%v %d>", a.Has, a.Val.U))
	}
	return strings.Join(out, ", ")
}

// TestTypeMembers reads the members of types.
func TestTypeMembers(t *testing.T) {
	integer, long := base("int", types.EncSigned, 4), base("long", types.EncSigned, 8)
	little, big := binary.ByteOrder(binary.LittleEndian), binary.ByteOrder(binary.BigEndian)
	at := func(name string, attrs ...handAttr) *handDIE {
		return named(dwarf.TagMember, name, append([]handAttr{{dwarf.AttrType, integer}}, attrs...)...)
	}
	place := func(v any) handAttr { return handAttr{dwarf.AttrDataMemberLoc, v} }
	attr := func(a dwarf.Attr, v any) handAttr { return handAttr{a, v} }
	value := func(name string, v any) *handDIE {
		return named(dwarf.TagEnumerator, name, handAttr{dwarf.AttrConstValue, v})
	}
	argument := func(attrs ...handAttr) *handDIE {
		return die(dwarf.TagTemplateValueParameter, append([]handAttr{{dwarf.AttrType, integer}}, attrs...)...)
	}
	for _, c := range []struct {
		name  string
		order binary.ByteOrder
		kids  []*handDIE
		want  string
	}{
		{"plain", little, []*handDIE{at("a"), at("b", place(4))}, "a@0, b@4"},
		{"without a name or a type", little, []*handDIE{die(dwarf.TagMember, place(4))}, "@4 void"},
		{"by DWARF 2", little, []*handDIE{at("a", place([]byte{0x23, 4})), at("b", place(handBlock{0x23, 0x88, 1}))}, "a@4, b@136"},
		{"by an offset of a section", little, []*handDIE{at("a", place(handRaw{dwarf.FormSecOffset, []byte{9, 0, 0, 0}}))}, "a@9"},
		{"computed", little, []*handDIE{at("a", place([]byte{0x23, 4, 6})), at("b", place([]byte{0x23})), at("c", place([]byte{0x22, 4})), at("d", place([]byte{}))},
			"a@0 computed, b@0 computed, c@0 computed, d@0 computed"},
		{"bases", little, []*handDIE{to(dwarf.TagInheritance, long, place(8)), to(dwarf.TagInheritance, long, place([]byte{0x12, 6}), attr(dwarf.AttrVirtuality, 1)),
			to(dwarf.TagInheritance, long, place(16), attr(dwarf.AttrVirtuality, 0))}, "@8 base, @0 base virtual computed, @16 base"},
		{"static", little, []*handDIE{at("a", attr(dwarf.AttrExternal, true)), at("b", attr(dwarf.AttrDeclaration, true)), named(dwarf.TagVariable, "c", attr(dwarf.AttrType, integer)),
			at("d", attr(dwarf.AttrDeclaration, true), attr(dwarf.AttrConstValue, 3)), at("e", attr(dwarf.AttrExternal, true), attr(dwarf.AttrBitSize, 3))},
			"a@0 static, b@0 static, c@0 static, d@0 static constant, e@0 static"},
		{"a base that is declared", little, []*handDIE{to(dwarf.TagInheritance, long, attr(dwarf.AttrDeclaration, true), attr(dwarf.AttrExternal, true))}, "@0 base"},
		{"bits", little, []*handDIE{at("a", attr(dwarf.AttrBitSize, 3), attr(dwarf.AttrDataBitOffset, 5)), at("b", attr(dwarf.AttrBitSize, 7), attr(dwarf.AttrDataBitOffset, 0)),
			at("c", attr(dwarf.AttrBitSize, 7), attr(dwarf.AttrDataBitOffset, 21), place(1))}, "a@0:3@5, b@0:7@0, c@2:7@21"},
		{"bits without a place", little, []*handDIE{at("a", attr(dwarf.AttrBitSize, 3), place(2))}, "a@2:3@16"},
		{"no bits", little, []*handDIE{at("a", attr(dwarf.AttrBitSize, 0), attr(dwarf.AttrDataBitOffset, 40), place(2))}, "a@2"},
		{"bits from the other end", little, []*handDIE{at("a", attr(dwarf.AttrBitSize, 3), attr(dwarf.AttrBitOffset, 29), attr(dwarf.AttrByteSize, 4), place(4)),
			at("b", attr(dwarf.AttrBitSize, 3), attr(dwarf.AttrBitOffset, 2), attr(dwarf.AttrByteSize, 4), place(4)),
			at("c", attr(dwarf.AttrBitSize, 3), attr(dwarf.AttrBitOffset, 29), place(4)),
			at("d", attr(dwarf.AttrBitSize, 3), attr(dwarf.AttrBitOffset, 0), attr(dwarf.AttrByteSize, 2))},
			"a@4:3@32, b@7:3@59, c@4:3@32, d@1:3@13"},
		{"bits from the other end of what has no size", little, []*handDIE{die(dwarf.TagMember, attr(dwarf.AttrBitSize, 3), attr(dwarf.AttrBitOffset, 5))}, "@0:3@0 void"},
		{"bits of a big-endian machine", big, []*handDIE{at("a", attr(dwarf.AttrBitSize, 3), attr(dwarf.AttrBitOffset, 29), attr(dwarf.AttrByteSize, 4), place(4)),
			at("b", attr(dwarf.AttrBitSize, 3), attr(dwarf.AttrBitOffset, 2), place(4))}, "a@7:3@61, b@4:3@34"},
		{"enumerators", little, []*handDIE{value("a", 1), value("b", handRaw{dwarf.FormSdata, []byte{0x7f}}), named(dwarf.TagEnumerator, "c")}, "a=1, b=-1, c=0"},
		{"template arguments", little, []*handDIE{argument(attr(dwarf.AttrConstValue, 7)), to(dwarf.TagTemplateTypeParameter, integer), die(dwarf.TagTemplateTypeParameter)},
			"<true 7>, <false 0>, <false 0>"},
		{"a pack of template arguments", little, []*handDIE{die(dwarf.TagGNUTemplateParameterPack).with(argument(attr(dwarf.AttrConstValue, 7)), to(dwarf.TagTemplateTypeParameter, integer),
			at("no argument")), at("a"), die(dwarf.TagGNUTemplateParameterPack), at("b")}, "a@0, b@0, <true 7>, <false 0>"},
		{"a type in it", little, []*handDIE{structure("inner", 4, at("x")), at("a"), die(dwarf.TagSubprogram).with(to(dwarf.TagFormalParameter, integer)), at("b")}, "a@0, b@0"},
		{"dimensions of what is no array", little, []*handDIE{die(dwarf.TagSubrangeType, attr(dwarf.AttrCount, 2)), at("a")}, "a@0"},
	} {
		typ := structure("s", 16, c.kids...)
		u := unit(t, c.order, 8, dwarf.LangCPlus14, all(typ, structure("behind", 4, at("other")))...)
		if got := memberText(types.NewSet(arch.AMD64, nil).At(typ.in(u)).Members()); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}

	// As many as are kept, and one more.
	for n, want := range map[int]int{types.MaxMembers: types.MaxMembers, types.MaxMembers + 1: types.MaxMembers} {
		list := make([]*handDIE, n)
		for i := range list {
			list[i] = die(dwarf.TagMember)
		}
		typ := structure("s", 16, list...)
		u := unit(t, little, 8, dwarf.LangC99, typ)
		if got := types.NewSet(arch.AMD64, nil).At(typ.in(u)).Members(); len(got.Fields) != want {
			t.Errorf("%d of %d members", len(got.Fields), n)
		}
	}
	if got := memberText(types.NewSet(arch.AMD64, nil).Of(types.Ref{}).Members()); got != "" {
		t.Errorf("void has members %s", got)
	}

	more := typesOf(t, dwarf.LangFortran90, to(dwarf.TagArrayType, integer, attr(dwarf.AttrByteStride, 8), attr(dwarf.AttrDataLocation, []byte{0x30})),
		named(dwarf.TagStructureType, "own", attr(dwarf.AttrSpecification, structure("other", 4))), die(dwarf.TagStructureType, attr(dwarf.AttrSpecification, 99999)))
	if a := more[0]; a.Stride.U != 8 || !a.DataLocation.Present() || more[1].BareName != "own" || more[2].BareName != "" {
		t.Errorf("an array %d apart at %v; %q and %q", a.Stride.U, a.DataLocation.B, more[1].BareName, more[2].BareName)
	}
	if none := (*types.Type)(nil); none.Strip() != nil {
		t.Error("no type is one")
	}

	arguments := structure("s", 1, to(dwarf.TagTemplateTypeParameter, integer), argument(attr(dwarf.AttrConstValue, 7)), to(dwarf.TagTemplateTypeParameter, long))
	typ := typesOf(t, dwarf.LangCPlus14, arguments)[0]
	for i, want := range []string{"int", "long", ""} {
		got := ""
		if a := typ.TypeArg(i); a != nil {
			got = a.Name()
		}
		if got != want {
			t.Errorf("argument %d is %q, want %q", i, got, want)
		}
	}
	dims := to(dwarf.TagArrayType, integer).with(die(dwarf.TagSubrangeType, attr(dwarf.AttrCount, 1)), die(dwarf.TagGenericSubrange, attr(dwarf.AttrCount, 2)),
		die(dwarf.TagEnumerationType, attr(dwarf.AttrUpperBound, 2)), die(dwarf.TagMember))
	if got := typesOf(t, dwarf.LangC99, dims)[0].Name(); got != "int [1][2][3]" {
		t.Errorf("dimensions: %s", got)
	}
}

// TestTypeVariants reads the alternatives of enums of Rust.
func TestTypeVariants(t *testing.T) {
	tag, integer := base("u8", types.EncUnsigned, 1), base("u32", types.EncUnsigned, 4)
	discr := die(dwarf.TagMember, handAttr{dwarf.AttrType, tag}, handAttr{dwarf.AttrDataMemberLoc, 3})
	other := member("other", integer, 0)
	part := die(dwarf.TagVariantPart, handAttr{dwarf.AttrDiscr, discr}).with(
		discr, other, structure("no variant", 1, die(dwarf.TagVariant)),
		die(dwarf.TagVariant, handAttr{dwarf.AttrDiscrValue, 0}).with(member("a", integer, 4), structure("inner", 4, member("x", integer, 0)), member("b", integer, 8)),
		die(dwarf.TagVariant),
		die(dwarf.TagVariant, handAttr{dwarf.AttrDiscrList, handBlock{0, 7}}).with(member("c", integer, 4)))
	alone := die(dwarf.TagVariantPart).with(member("no discriminant", tag, 3), die(dwarf.TagVariant).with(member("d", integer, 4)))
	for _, c := range []struct {
		part *handDIE
		want string
	}{
		{part, "true @3: true a@4 b@8; false; true c@4"},
		{alone, "false @0: false d@4"},
		{die(dwarf.TagVariantPart), "false @0:"},
	} {
		typ := typesOf(t, dwarf.LangRust, structure("E", 12, c.part, member("behind", integer, 0), die(dwarf.TagVariant)))[0]
		m := typ.Members()
		v := m.Variant
		text := fmt.Sprintf("%v @%d:", v.Has, v.Discr.Off)
		for i := range v.Variants {
			if i > 0 {
				text += ";"
			}
			text += fmt.Sprintf(" %v", v.Variants[i].Chosen())
			for _, f := range v.Variants[i].Fields {
				text += fmt.Sprintf(" %s@%d", f.Name, f.Off)
			}
		}
		if text != c.want || memberText(m) != "behind@0" {
			t.Errorf("%s and %s, want %s", text, memberText(m), c.want)
		}
	}
	const minusOne, most = ^uint64(0), 1 << 63
	for _, c := range []struct {
		list   string // "" for the value 200 without a list
		got    uint64
		signed bool
		want   bool
	}{
		{"", 200, false, true}, {"", 201, false, false}, {"", minusOne - 55, true, true}, {"", 200, true, false},
		{"\x00\x07", 7, false, true}, {"\x00\x07", 8, false, false}, {"\x00\x07", 6, false, false}, {"\x00\x07", 7, true, true}, {"\x00\x40", 64, false, true},
		{"\x00\x7f", minusOne, true, true}, {"\x00\x7f", 127, true, false}, {"\x00\x05\x00\x07", 7, false, true},
		{"\x01\x05\x07", 4, false, false}, {"\x01\x05\x07", 5, false, true}, {"\x01\x05\x07", 7, false, true}, {"\x01\x05\x07", 8, false, false},
		{"\x01\x7e\x01", minusOne - 1, true, true}, {"\x01\x7e\x01", minusOne - 2, true, false}, {"\x01\x7e\x01", 1, true, true}, {"\x01\x7e\x01", 2, true, false},
		{"\x01\x00\x7f", 3, true, false}, {"\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x05", 3, false, false},
		{"\x01\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", most, false, true},
		{"\x00", 0, false, false}, {"\x01\x00", 0, false, false}, {"\x02\x00\x00", 0, false, false},
	} {
		alternative := die(dwarf.TagVariant, handAttr{dwarf.AttrDiscrValue, 200})
		if c.list != "" {
			alternative = die(dwarf.TagVariant, handAttr{dwarf.AttrDiscrList, handBlock(c.list)})
		}
		v := typesOf(t, dwarf.LangRust, structure("E", 12, die(dwarf.TagVariantPart).with(alternative)))[0].Members().Variant.Variants[0]
		if got := v.Holds(c.got, 1, c.signed); got != c.want || !v.Chosen() {
			t.Errorf("%q holds %d, signed %v: %v", c.list, int64(c.got), c.signed, got)
		}
	}
}

// TestTypeParts names the bytes of values, of what pointers lead to, and of elements.
func TestTypeParts(t *testing.T) {
	integer, short, long := base("int", types.EncSigned, 4), base("short", types.EncSigned, 2), base("long", types.EncSigned, 8)
	inner := structure("inner", 8, member("x", integer, 0), member("y", short, 4), member("z", short, 6))
	parent := structure("parent", 8, member("q", integer, 0), member("r", integer, 4))
	either := die(dwarf.TagUnionType, handAttr{dwarf.AttrByteSize, 8}).with(member("i", integer, 0), member("l", long, 0))
	far := structure("far", 8, member("first", integer, 0))
	declared := named(dwarf.TagStructureType, "far", handAttr{dwarf.AttrDeclaration, true})
	s := structure("s", 88,
		member("a", integer, 0), member("in", inner, 8), member("list", array(integer, 4), 16), member("grid", matrix(integer, 2, 2), 32),
		to(dwarf.TagInheritance, parent, handAttr{dwarf.AttrDataMemberLoc, 48}), to(dwarf.TagMember, either, handAttr{dwarf.AttrDataMemberLoc, 56}),
		member("next", pointerTo(integer), 64), member("there", declared, 72), member("none", array(die(dwarf.TagStructureType), 2), 80),
		to(dwarf.TagInheritance, parent, handAttr{dwarf.AttrDataMemberLoc, 81}, handAttr{dwarf.AttrVirtuality, 1}))
	vector := to(dwarf.TagArrayType, integer, handAttr{dwarf.Attr(0x2107), true}, handAttr{dwarf.AttrByteSize, 16}).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 4}))
	nest := func(n int) *handDIE {
		d := integer
		for range n {
			d = array(d, 1)
		}
		return d
	}
	deep := func(n int) *handDIE {
		d := integer
		for range n {
			d = structure("d", 4, member("m", d, 0))
		}
		return d
	}
	place := func(lang dwarf.Language, typ *handDIE) *types.Type {
		u := unit(t, binary.LittleEndian, 8, lang, all(typ, far)...)
		return types.NewSet(arch.AMD64, alone{}).At(typ.in(u))
	}
	result := func(text string, part *types.Type, ok bool) string {
		if !ok {
			return ""
		}
		return text + " " + part.Name()
	}
	for _, c := range []struct {
		typ       *handDIE
		off, size uint64
		want      string
	}{
		{s, 0, 4, ".a int"}, {s, 0, 0, ".a int"}, {s, 0, 8, ""}, {s, 0, 2, ""}, {s, 4, 4, ""}, {s, 1, 4, ""}, {s, 88, 4, ""}, {s, 0, 88, " struct s"}, {s, 0, 87, ""},
		{s, 8, 8, ".in struct inner"}, {s, 8, 0, ".in struct inner"}, {s, 8, 4, ".in.x int"}, {s, 12, 2, ".in.y short"}, {s, 14, 2, ".in.z short"}, {s, 12, 0, ".in.y short"}, {s, 12, 4, ""}, {s, 14, 1, ""},
		{s, 16, 4, ".list[0] int"}, {s, 28, 4, ".list[3] int"}, {s, 20, 0, ".list[1] int"}, {s, 16, 0, ".list int [4]"}, {s, 21, 0, ""}, {s, 20, 8, ""}, {s, 20, 1, ""},
		{s, 32, 4, ".grid[0][0] int"}, {s, 32, 0, ".grid int [2][2]"}, {s, 36, 0, ".grid[0][1] int"},
		{s, 48, 4, ".q int"}, {s, 52, 4, ".r int"}, {s, 48, 8, " struct parent"}, {s, 48, 0, ".q int"},
		{s, 56, 4, ".i int"}, {s, 56, 8, ".l long"}, {s, 60, 4, ""}, {s, 60, 0, ""},
		{s, 64, 8, ".next int *"}, {s, 64, 4, ""}, {s, 72, 4, ".there.first int"}, {s, 72, 8, ".there struct far"}, {s, 80, 1, ""}, {s, 81, 4, ""}, {s, 85, 4, ""},
		{integer, 0, 4, " int"}, {integer, 0, 0, " int"}, {integer, 0, 2, ""}, {integer, 1, 0, ""}, {integer, 4, 4, ""},
		{to(dwarf.TagTypedef, s), 8, 4, ".in.x int"}, {to(dwarf.TagTypedef, integer), 0, 4, " ?"}, {pointerTo(s), 0, 8, " struct s *"},
		{array(s, 3), 88 + 8, 4, "[1].in.x int"}, {array(s, 3), 88, 0, "[1] struct s"}, {array(array(integer, 2), 3), 12, 4, "[1][1] int"}, {array(funcType(nil), 2), 0, 0, ""},
		{vector, 0, 16, " int __attribute__ ((vector_size(4)))"}, {vector, 4, 4, ""},
		{structure("e", 4), 0, 4, " struct e"}, {structure("e", 4), 0, 0, ""}, {structure("e", 4), 1, 3, ""}, {structure("e", 4), 0, 3, ""},
		{structure("e", 0), 0, 0, ""}, {structure("e", 4), 1, 4, ""}, {structure("e", 1), 0, 1, " struct e"},
		{named(dwarf.TagStructureType, "nowhere", handAttr{dwarf.AttrDeclaration, true}), 0, 0, ""},
		{structure("e", 4, to(dwarf.TagMember, integer, handAttr{dwarf.AttrName, "computed"}, handAttr{dwarf.AttrDataMemberLoc, []byte{6}})), 0, 4, " struct e"},
		{deep(15), 0, 2, ""}, {deep(15), 1, 4, ""}, {array(deep(14), 1), 0, 0, "[0] struct d"},
		{nest(15), 0, 4, strings.Repeat("[0]", 15) + " int"}, {nest(16), 0, 4, ""},
	} {
		if got := result(place(dwarf.LangC99, c.typ).Part(c.off, c.size)); got != c.want {
			t.Errorf("%d bytes at %d of %s: %q, want %q", c.size, c.off, place(dwarf.LangC99, c.typ).Name(), got, c.want)
		}
	}

	// Of members that overlap, the one of just that size; else the first.
	overlap := die(dwarf.TagUnionType, handAttr{dwarf.AttrByteSize, 8}).with(member("in", inner, 0), member("l", long, 0), member("i", integer, 0), member("j", integer, 0), member("k", short, 2))
	for c, want := range map[[2]uint64]string{{0, 8}: ".in struct inner", {0, 4}: ".i int", {4, 2}: ".in.y short", {2, 2}: ".k short", {0, 0}: ".in struct inner"} {
		if got := result(place(dwarf.LangC99, overlap).Part(c[0], c[1])); got != want {
			t.Errorf("%d bytes at %d of a union: %q, want %q", c[1], c[0], got, want)
		}
	}

	halves := structure("halves", 4, member("low", short, 0), member("high", short, 2))
	for _, c := range []struct {
		typ       *handDIE
		off, size uint64
		want      string
	}{
		{die(dwarf.TagUnionType).with(member("in", parent, 0), member("odd", integer, 2)), 4, 4, ".in.r int"},
		{die(dwarf.TagUnionType).with(member("in", halves, 0), member("i", integer, 0)), 0, 2, ".in.low short"},
		{die(dwarf.TagUnionType).with(member("c", base("char", types.EncSignedChar, 1), 0), member("l", long, 0), member("d", base("char", types.EncSignedChar, 1), 0)), 0, 1, ".c char"},
		{die(dwarf.TagUnionType).with(member("in", structure("one", 1, member("c", base("char", types.EncSignedChar, 1), 0)), 0), member("l", long, 0), member("d", base("char", types.EncSignedChar, 1), 0)), 0, 1, ".in.c char"},
		{die(dwarf.TagUnionType).with(member("l", long, 0), member("d", base("char", types.EncSignedChar, 1), 0)), 0, 1, ".d char"},
	} {
		if got := result(place(dwarf.LangC99, c.typ).Part(c.off, c.size)); got != c.want {
			t.Errorf("%d bytes at %d of what overlaps: %q, want %q", c.size, c.off, got, c.want)
		}
	}

	p, ref := pointerTo(s), to(dwarf.TagReferenceType, s)
	pint := pointerTo(integer)
	plist := pointerTo(array(integer, 4))
	for _, c := range []struct {
		lang dwarf.Language
		typ  *handDIE
		off  int64
		size uint64
		want string
	}{
		{dwarf.LangC99, p, 0, 4, "p->a int"}, {dwarf.LangC99, p, 8, 4, "p->in.x int"}, {dwarf.LangC99, p, 4, 4, ""}, {dwarf.LangC99, p, -1, 4, ""}, {dwarf.LangC99, p, 0, 88, "*p struct s"},
		{dwarf.LangC99, p, 88, 4, "p[1].a int"}, {dwarf.LangC99, p, 176 + 20, 4, "p[2].list[1] int"}, {dwarf.LangC99, p, 88, 0, "p[1] struct s"}, {dwarf.LangC99, p, 0, 0, "p->a int"},
		{dwarf.LangC99, p, 89, 0, ""}, {dwarf.LangC99, p, 96, 0, "p[1].in struct inner"},
		{dwarf.LangC99, to(dwarf.TagTypedef, p), 0, 4, "p->a int"}, {dwarf.LangC99, s, 0, 4, ""}, {dwarf.LangC99, array(s, 1), 0, 4, ""},
		{dwarf.LangC99, pint, 0, 4, "*p int"}, {dwarf.LangC99, pint, 0, 0, "*p int"}, {dwarf.LangC99, pint, 4, 4, "p[1] int"}, {dwarf.LangC99, pint, 4, 0, "p[1] int"}, {dwarf.LangC99, pint, 2, 2, ""}, {dwarf.LangC99, pint, -4, 4, ""},
		{dwarf.LangC99, plist, 4, 4, "(*p)[1] int"}, {dwarf.LangC99, plist, 16, 4, "p[1][0] int"}, {dwarf.LangC99, pointerTo(nil), 0, 4, ""}, {dwarf.LangC99, pointerTo(structure("e", 0)), 0, 0, ""},
		{dwarf.LangC99, pointerTo(declared), 0, 4, "p->first int"}, {dwarf.LangC99, pointerTo(structure("e", 4)), 0, 4, "*p struct e"},
		{dwarf.LangCPlus14, ref, 0, 4, "p.a int"}, {dwarf.LangCPlus14, ref, 0, 88, "p s"}, {dwarf.LangCPlus14, ref, 88, 4, ""}, {dwarf.LangCPlus14, ref, 88, 0, ""},
		{dwarf.LangCPlus14, to(dwarf.TagRvalueReferenceType, integer), 0, 4, "p int"}, {dwarf.LangCPlus14, to(dwarf.TagReferenceType, array(integer, 4)), 4, 4, "p[1] int"},
		{dwarf.LangGo, p, 0, 4, "p.a int"}, {dwarf.LangGo, p, 88, 4, ""}, {dwarf.LangGo, pint, 0, 4, "*p int"}, {dwarf.LangGo, plist, 4, 4, "p[1] int"},
		{dwarf.LangRust, p, 0, 4, "(*p).a int"}, {dwarf.LangRust, p, 88, 4, ""}, {dwarf.LangRust, pint, 0, 4, "*p int"}, {dwarf.LangRust, plist, 4, 4, "(*p)[1] int"},
	} {
		if got := result(place(c.lang, c.typ).Follow("p", c.off, c.size)); got != c.want {
			t.Errorf("language %#x: %d bytes at %d from %s: %q, want %q", uint16(c.lang), c.size, c.off, place(c.lang, c.typ).Name(), got, c.want)
		}
	}
	for _, c := range []struct {
		typ   *handDIE
		scale uint64
		off   int64
		size  uint64
		want  string
	}{
		{p, 88, 0, 4, "p[i].a int"}, {p, 88, 8, 4, "p[i].in.x int"}, {p, 88, 0, 0, "p[i].a int"}, {p, 88, 4, 4, ""}, {p, 8, 0, 4, ""}, {p, 88, 88, 4, ""}, {p, 88, 87, 1, ""}, {p, 88, -1, 4, ""},
		{array(s, 2), 88, 0, 4, "p[i].a int"}, {to(dwarf.TagTypedef, array(s, 2)), 88, 0, 4, "p[i].a int"}, {pint, 4, 0, 4, "p[i] int"}, {pint, 4, 0, 0, "p[i] int"}, {pint, 4, 3, 1, ""}, {plist, 16, 16, 4, ""}, {plist, 16, 12, 4, "p[i][3] int"},
		{ref, 88, 0, 4, ""}, {s, 88, 0, 4, ""}, {pointerTo(nil), 0, 0, 4, ""}, {plist, 16, 4, 4, "p[i][1] int"},
	} {
		if got := result(place(dwarf.LangC99, c.typ).Element("p", "i", c.scale, c.off, c.size)); got != c.want {
			t.Errorf("%d bytes at %d of an element of %s: %q, want %q", c.size, c.off, place(dwarf.LangC99, c.typ).Name(), got, c.want)
		}
	}
}

// handTypeFiles are libraries with files.
type handTypeFiles struct {
	list  []*libstate.Library
	files map[*libstate.Library]*image.Image
}

func (h *handTypeFiles) All() []*libstate.Library              { return h.list }
func (h *handTypeFiles) File(l *libstate.Library) *image.Image { return h.files[l] }

// add adds a library with a file; sections nil is none.
func (h *handTypeFiles) add(t *testing.T, sections map[string][]byte) {
	t.Helper()
	l := &libstate.Library{}
	h.list = append(h.list, l)
	if sections != nil {
		h.files[l] = (&handFile{sections: sections}).image(t)
	}
}

// definedIn is the sections of a file with one unit.
func definedIn(lang dwarf.Language, list ...*handDIE) map[string][]byte {
	sections, _ := unitSections(binary.LittleEndian, 8, 4, lang, all(list...))
	return sections
}

// TestTypesDefinedElsewhere looks for types that are only declared: in their unit, in their file, in other
// files of the process.
func TestTypesDefinedElsewhere(t *testing.T) {
	type file struct {
		lang dwarf.Language
		list []*handDIE
	}
	integer := base("int", types.EncSigned, 4)
	declare := func(tag dwarf.Tag, name string) *handDIE {
		return named(tag, name, handAttr{dwarf.AttrDeclaration, true})
	}
	far := func(size int, members ...*handDIE) []*handDIE { return []*handDIE{structure("far", size, members...)} }
	bits := func(n int) *handDIE { return member("b", integer, 0, handAttr{dwarf.AttrBitSize, n}) }
	shifted := func(n int) *handDIE {
		return to(dwarf.TagMember, integer, handAttr{dwarf.AttrName, "b"}, handAttr{dwarf.AttrBitSize, 1}, handAttr{dwarf.AttrDataBitOffset, n})
	}
	colour := func(value int) []*handDIE {
		return []*handDIE{named(dwarf.TagEnumerationType, "colour", handAttr{dwarf.AttrByteSize, 4}).with(named(dwarf.TagEnumerator, "red", handAttr{dwarf.AttrConstValue, value}))}
	}
	c, cxx := dwarf.LangC99, dwarf.LangCPlus14
	strange := []*handDIE{die(dwarf.TagNamespace).with(structure("far", 9))}
	outer := named(dwarf.TagNamespace, "outer").with(structure("far", 9))
	nowhere := file{}
	for _, tc := range []struct {
		name     string
		lang     dwarf.Language
		declared *handDIE
		scope    []*handDIE   // of the declaration
		own      [][]*handDIE // the other units of its file
		files    []file
		want     uint64 // bytes; 0 for not found
	}{
		{"nowhere", c, declare(dwarf.TagStructureType, "far"), nil, nil, nil, 0},
		{"in its unit", c, declare(dwarf.TagStructureType, "far"), far(9), [][]*handDIE{far(8)}, []file{{c, far(7)}}, 9},
		{"in the second unit", c, declare(dwarf.TagStructureType, "far"), nil, [][]*handDIE{far(8)}, []file{{c, far(7)}}, 8},
		{"in the third unit", c, declare(dwarf.TagStructureType, "far"), nil, [][]*handDIE{{integer}, far(8), far(6)}, nil, 8},
		{"another kind of type", c, declare(dwarf.TagUnionType, "far"), far(9), [][]*handDIE{far(8)}, []file{{c, far(7)}}, 0},
		{"another kind of type in C++", cxx, declare(dwarf.TagClassType, "far"), far(9), nil, nil, 9},
		{"without a name", c, die(dwarf.TagStructureType, handAttr{dwarf.AttrDeclaration, true}), []*handDIE{structure("", 9)}, nil, nil, 0},
		{"in a library", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{c, far(7)}}, 7},
		{"in the second library", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{nowhere, {c, []*handDIE{integer}}, {c, far(7)}}, 7},
		{"only declared there", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{c, []*handDIE{declare(dwarf.TagStructureType, "far")}}}, 0},
		{"in two libraries", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{c, far(7, bits(3))}, {c, far(7, bits(3))}}, 7},
		{"in two libraries, of another size", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{c, far(7)}, {c, far(8)}}, 0},
		{"in three libraries, of another size", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{c, far(7)}, {c, far(8)}, {c, far(8)}}, 0},
		{"in two libraries, with another member", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{c, far(7, member("a", integer, 0))}, {c, far(7, member("b", integer, 0))}}, 0},
		{"in two libraries, with a member elsewhere", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{c, far(7, member("a", integer, 0))}, {c, far(7, member("a", integer, 1))}}, 0},
		{"in two libraries, with another number of bits", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{c, far(7, bits(3))}, {c, far(7, bits(4))}}, 0},
		{"in two libraries, with other bits", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{c, far(7, shifted(3))}, {c, far(7, shifted(4))}}, 0},
		{"in two libraries, with one more member", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{c, far(7)}, {c, far(7, bits(4))}}, 0},
		{"an enumeration of two libraries", c, declare(dwarf.TagEnumerationType, "colour"), nil, nil, []file{{c, colour(1)}, {c, colour(1)}}, 4},
		{"an enumeration of two libraries, with another value", c, declare(dwarf.TagEnumerationType, "colour"), nil, nil, []file{{c, colour(1)}, {c, colour(2)}}, 0},
		{"of Rust, as two kinds of type", dwarf.LangRust, declare(dwarf.TagStructureType, "far"), nil, nil,
			[]file{{dwarf.LangRust, far(7)}, {dwarf.LangRust, []*handDIE{named(dwarf.TagUnionType, "far", handAttr{dwarf.AttrByteSize, 7})}}}, 0},
		{"of C++, in two libraries", cxx, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{cxx, far(7)}, {cxx, far(8)}}, 7},
		{"of C++, in a library of C", cxx, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{c, far(7)}}, 7},
		{"of C, in a library of C++", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{cxx, far(7)}}, 7},
		{"of C, in a library of Rust", c, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{dwarf.LangRust, far(7)}}, 0},
		{"of Rust, in a library of C", dwarf.LangRust, declare(dwarf.TagStructureType, "far"), nil, nil, []file{{c, far(7)}}, 0},
		{"of a namespace", cxx, declare(dwarf.TagStructureType, "far"), []*handDIE{named(dwarf.TagNamespace, "outer")}, nil, []file{{cxx, far(7)}, {cxx, []*handDIE{outer}}}, 9},
		{"of a namespace without a name, in its file", cxx, declare(dwarf.TagStructureType, "far"), []*handDIE{die(dwarf.TagNamespace)}, [][]*handDIE{strange}, nil, 9},
		{"of a namespace without a name", cxx, declare(dwarf.TagStructureType, "far"), []*handDIE{die(dwarf.TagNamespace)}, nil, []file{{cxx, strange}}, 0},
	} {
		first := append([]*handDIE{tc.declared}, tc.scope...)
		if len(tc.scope) == 1 && tc.scope[0].tag == dwarf.TagNamespace {
			first = []*handDIE{tc.scope[0].with(tc.declared)}
		}
		lists := [][]*handDIE{all(first...)}
		for _, l := range tc.own {
			lists = append(lists, all(l...))
		}
		u := units(t, binary.LittleEndian, 8, 4, tc.lang, lists...)[0]
		libs := &handTypeFiles{files: map[*libstate.Library]*image.Image{}}
		for _, f := range tc.files {
			if f.list == nil {
				libs.add(t, nil)
				libs.add(t, map[string][]byte{".text": {0x90}})
				continue
			}
			libs.add(t, definedIn(f.lang, f.list...))
		}
		set := types.NewSet(arch.AMD64, libs)
		for range 2 { // the second time it is known
			full, ok := set.Complete(set.At(tc.declared.in(u)))
			if ok != (tc.want > 0) || full != nil && full.ByteSize != tc.want {
				t.Errorf("%s: %v, %d bytes; want %d", tc.name, ok, full.ByteSize, tc.want)
			}
		}
	}
}

// TestTypesWithSignatures finds a type by its signature, in a type unit of another file.
func TestTypesWithSignatures(t *testing.T) {
	signature := func(n byte) handAttr {
		return handAttr{dwarf.AttrSignature, handRaw{dwarf.FormRefSig8, []byte{n, 0, 0, 0, 0, 0, 0, 0}}}
	}
	unitOf := func(sig, size byte) []byte { // a type unit of DWARF 4, with an unnamed struct
		body := []byte{4, 0, 0, 0, 0, 0, 8, sig, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 1, 2, size, 0}
		return append([]byte{byte(len(body)), 0, 0, 0}, body...)
	}
	abbrev := []byte{1, byte(dwarf.TagTypeUnit), 1, 0, 0, 2, byte(dwarf.TagStructureType), 0, byte(dwarf.AttrByteSize), byte(dwarf.FormData1), 0, 0, 0}
	file := func(sig, size byte) map[string][]byte {
		return map[string][]byte{".debug_info": definedIn(dwarf.LangC99, base("int", types.EncSigned, 4))[".debug_info"], ".debug_types": unitOf(sig, size), ".debug_abbrev": abbrev}
	}
	libs := &handTypeFiles{files: map[*libstate.Library]*image.Image{}}
	libs.add(t, file(1, 16))
	libs.add(t, file(0, 32))
	libs.add(t, file(7, 24))
	one, other := die(dwarf.TagStructureType, signature(7)), die(dwarf.TagStructureType, signature(9))
	third, none := die(dwarf.TagStructureType, signature(1)), named(dwarf.TagStructureType, "none", handAttr{dwarf.AttrDeclaration, true})
	u := unit(t, binary.LittleEndian, 8, dwarf.LangCPlus14, one, other, third, none)
	set := types.NewSet(arch.AMD64, libs)
	for _, c := range []struct {
		typ  *handDIE
		size uint64
	}{{one, 24}, {other, 0}, {third, 16}, {none, 0}, {one, 24}} {
		typ := set.At(c.typ.in(u))
		if full, ok := set.Complete(typ); !typ.Declared || ok != (c.size > 0) || ok && full.ByteSize != c.size {
			t.Errorf("a type with a signature: declared %v, found %v, want %d bytes", typ.Declared, ok, c.size)
		}
	}

	// In its own file it is the type.
	sections := definedIn(dwarf.LangCPlus14, one)
	at := len(sections[".debug_abbrev"])
	own := unitOf(7, 40)
	binary.LittleEndian.PutUint32(own[6:], uint32(at))
	sections[".debug_types"], sections[".debug_abbrev"] = own, append(sections[".debug_abbrev"], abbrev...)
	data := dwarf.New(dwarf.SourceFunc(func(name string) ([]byte, error) { return sections[name], nil }), binary.LittleEndian)
	u, err := data.UnitAt(dwarf.SecInfo, 0)
	if err != nil {
		t.Fatal(err)
	}
	if typ := types.NewSet(arch.AMD64, libs).At(one.in(u)); typ.Declared || typ.ByteSize != 40 {
		t.Errorf("in its own file: declared %v, %d bytes", typ.Declared, typ.ByteSize)
	}
}

// TestTypesOfUnit lists the complete types of units by their names.
func TestTypesOfUnit(t *testing.T) {
	integer := base("int", types.EncSigned, 4)
	s := func(name string, kids ...*handDIE) *handDIE { return structure(name, 4, kids...) }
	space := func(name string, kids ...*handDIE) *handDIE { return named(dwarf.TagNamespace, name).with(kids...) }
	deep := func(n int) *handDIE {
		d := s("deep")
		for range n {
			d = space("n", d)
		}
		return d
	}
	declared := named(dwarf.TagStructureType, "declared", handAttr{dwarf.AttrDeclaration, true})
	for _, c := range []struct {
		lang dwarf.Language
		list []*handDIE
		want string
	}{
		{dwarf.LangC99, []*handDIE{integer, s("a"), named(dwarf.TagUnionType, "b"), named(dwarf.TagEnumerationType, "c"), named(dwarf.TagClassType, "d"), declared, die(dwarf.TagStructureType),
			named(dwarf.TagTypedef, "e"), named(dwarf.TagVariable, "f"), named(dwarf.TagSubprogram, "g").with(s("h")), named(dwarf.TagInterfaceType, "i")},
			"class d, enum c, i, struct a, union b"},
		{dwarf.LangCPlus14, []*handDIE{s("a", s("b", s("c")), member("m", integer, 0)), s("d")}, "a, a::b, a::b::c, d"},
		{dwarf.LangCPlus14, []*handDIE{space("n", s("a"), space("m", s("b")), s("c")), s("d")}, "d, n::a, n::c, n::m::b"},
		{dwarf.LangCPlus14, []*handDIE{die(dwarf.TagNamespace).with(s("a")), space("n", die(dwarf.TagNamespace).with(s("b")))}, "(anonymous namespace)::a, n::(anonymous namespace)::b"},
		{dwarf.LangCPlus14, []*handDIE{die(dwarf.TagStructureType).with(s("a")), s("d")}, "d"}, // no name leads to a
		{dwarf.LangCPlus14, []*handDIE{named(dwarf.TagUnionType, "u").with(s("a")), named(dwarf.TagClassType, "k").with(s("b")), named(dwarf.TagInterfaceType, "i").with(s("c")), named(dwarf.TagEnumerationType, "e").with(s("d"))},
			"e, e::d, i, i::c, k, k::b, u, u::a"},
		{dwarf.LangFortran90, []*handDIE{named(dwarf.TagModule, "m").with(s("a"))}, "m::a"},
		{dwarf.LangCPlus14, []*handDIE{named(dwarf.TagStructureType, "declared", handAttr{dwarf.AttrDeclaration, true}).with(s("a"))}, "declared::a"},
		{dwarf.LangGo, []*handDIE{integer, s("main.a"), named(dwarf.TagTypedef, "main.b"), named(dwarf.TagPointerType, "*main.c"), die(dwarf.TagPointerType), named(dwarf.TagSubprogram, "main.f").with(s("inside")),
			named(dwarf.TagVariable, "main.v"), named(dwarf.TagConstant, "main.k"), named(dwarf.TagArrayType, "[2]int").with(named(dwarf.TagSubrangeType, "no type"))},
			"*main.c, [2]int, int, main.a, main.b"},
		{dwarf.LangCPlus14, []*handDIE{deep(63)}, strings.Repeat("n::", 63) + "deep"},
		{dwarf.LangCPlus14, []*handDIE{deep(64), s("a")}, "a"},
	} {
		u := unit(t, binary.LittleEndian, 8, c.lang, c.list...)
		names := types.NewSet(arch.AMD64, alone{}).InUnit(u)
		if got := strings.Join(slices.Sorted(maps.Keys(names)), ", "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		for name, want := range names {
			if got, ok := types.NewSet(arch.AMD64, alone{}).Named(u, name); !ok || got != want {
				t.Errorf("%s: at %#x %v, want %#x", name, got.Off, ok, want.Off)
			}
		}
	}
	first, second := structure("twice", 1), structure("twice", 2)
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, first, second)
	set := types.NewSet(arch.AMD64, alone{})
	if got := set.InUnit(u)["struct twice"]; got != first.in(u) {
		t.Errorf("of two types the one at %#x", got.Off)
	}
	for range 20 { // the same, whether searched or listed
		if got, ok := set.Named(u, "struct twice"); !ok || got != first.in(u) {
			t.Errorf("of two types the one at %#x", got.Off)
		}
		if got, ok := set.Named(u, "struct thrice"); ok {
			t.Errorf("a type at %#x that is not there", got.Off)
		}
	}
}
