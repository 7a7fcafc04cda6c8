package types

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Types that are made have what values ask of them.
func TestMade(t *testing.T) {
	set := NewSet(arch.AMD64, noLibraries{})
	for _, c := range []struct {
		typ  *Type
		tag  dwarf.Tag
		size uint64
		enc  Encoding
		name string
	}{
		{set.Float(4), dwarf.TagBaseType, 4, EncFloat, "float"}, {set.Float(8), dwarf.TagBaseType, 8, EncFloat, "double"}, {set.StringOf(7), dwarf.TagStringType, 7, 0, "character(len=7)"},
		{set.ArrayOf(set.Float(4), 3), dwarf.TagArrayType, 12, 0, "float [3]"}, {set.Flags("f", 4, nil), dwarf.TagEnumerationType, 4, 0, "enum f"},
	} {
		if c.typ.Tag != c.tag || c.typ.Whole() != c.size || c.typ.Encoding != c.enc || c.typ.Name() != c.name || c.typ.Language != dwarf.LangC {
			t.Errorf("%s, want %s: tag %#x, %d bytes, encoding %#x, language %#x", c.typ.Name(), c.name, uint16(c.typ.Tag), c.typ.Whole(), c.typ.Encoding, uint16(c.typ.Language))
		}
	}
}

// The type of a function of Go is what Go writes, whoever asks.
func TestFunctionOfGo(t *testing.T) {
	num := base("int", 4)
	for lang, want := range map[dwarf.Language]string{dwarf.LangGo: "func(int)", dwarf.LangC99: "void (int)"} {
		f := die(dwarf.TagSubprogram, "f", typed(dwarf.TagFormalParameter, "a", num))
		of := typeOf(t, lang, structure("holder", sized(4), f, typed(dwarf.TagFormalParameter, "beside", num)))
		got := of.set.Function(dwarf.DIE{Unit: of.Ref.Unit, Off: f.off}, Ref{})
		if got.Name() != want || got.Language != dwarf.LangC {
			t.Errorf("%s of language %#x, want %s", got.Name(), uint16(got.Language), want)
		}
	}
	for n, want := range map[int]string{MaxMembers - 1: "func() int", MaxMembers: "func()"} { // behind so many entries
		f := die(dwarf.TagSubprogram, "f")
		for range n {
			f.kids = append(f.kids, die(dwarf.TagVariable, "v"))
		}
		f.kids = append(f.kids, typed(dwarf.TagFormalParameter, "r", num, nodeAttr{dwarf.AttrVariableParameter, true}))
		of := typeOf(t, dwarf.LangGo, structure("holder", sized(4), f, typed(dwarf.TagFormalParameter, "beside", num)))
		if got := of.set.Function(dwarf.DIE{Unit: of.Ref.Unit, Off: f.off}, Ref{}).Name(); got != want {
			t.Errorf("behind %d entries: %s", n, got)
		}
	}
}

// Qualifiers of arrays are those of their elements, which are written once.
func TestQualifiedArrays(t *testing.T) {
	num, char := base("int", 4), base("char", 1)
	fixed := func(of *node) *node { return typed(dwarf.TagConstType, "", of) }
	for _, c := range []struct {
		typ  *node
		want string
	}{
		{fixed(arrayOf(num, 2)), "const int [2]"},
		{fixed(arrayOf(fixed(num), 2)), "const int [2]"},
		{fixed(arrayOf(arrayOf(fixed(num), 3), 2)), "const int [2][3]"},
		{fixed(arrayOf(pointerTo(char), 2)), "char * const [2]"},
		{fixed(arrayOf(arrayOf(pointerTo(char), 3), 2)), "char * const [2][3]"},
		{fixed(typed(dwarf.TagVolatileType, "", arrayOf(fixed(num), 2))), "const volatile int [2]"},
		{fixed(pointerTo(num)), "int * const"},
		{fixed(pointerTo(arrayOf(num, 2))), "int (* const)[2]"},
		{pointerTo(fixed(arrayOf(fixed(pointerTo(fixed(char))), 5))), "const char * const (*)[5]"},
		{fixed(referenceTo(num)), "int & const"},
		{pointerTo(arrayOf(num, 2)), "int (*)[2]"},
		{pointerTo(arrayOf(pointerTo(num), 2)), "int * (*)[2]"},
		{pointerTo(arrayOf(arrayOf(num, 3), 2)), "int (*)[2][3]"},
		{typed(dwarf.TagVolatileType, "", fixed(num)), "const volatile int"},
	} {
		if got := typeOf(t, dwarf.LangC99, c.typ).Name(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := typeOf(t, dwarf.LangCPlus14, structure("a__b", sized(4))).Name(); got != "a__b" {
		t.Errorf("a name of C++: %q", got)
	}
	if got := typeOf(t, dwarf.LangRust, die(dwarf.TagPointerType, "")).Name(); got != "void *" {
		t.Errorf("a pointer of Rust to nothing: %q", got)
	}
	if got := typeOf(t, dwarf.LangRust, pointerTo(arrayOf(num, 2))).Name(); got != "*mut [int; 2]" {
		t.Errorf("a pointer of Rust: %q", got)
	}
}
