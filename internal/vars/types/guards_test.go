package types

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// TestInsideProcedures: types that a procedure of Ada declares are found by name, and those that a function declares itself.
func TestInsideProcedures(t *testing.T) {
	num := base("int", 4)
	rec, small := structure("rec", sized(4), at(0, "n", num)), structure("small", sized(4), at(0, "n", num))
	deep := structure("deep", sized(4), at(0, "n", num))
	main := die(dwarf.TagSubprogram, "main", small, die(dwarf.TagLexicalBlock, "", rec, die(dwarf.TagLexicalBlock, "", deep)), structure("other", sized(4), at(0, "rec", num)))
	holder := typeOf(t, dwarf.LangAda95, structure("holder", sized(4)), die(dwarf.TagNamespace, "pkg", main))
	u := holder.Ref.Unit
	for name, want := range map[string]*node{"pkg::rec": rec, "pkg::small": small, "pkg::deep": deep, "pkg::none": nil} {
		got, ok := holder.set.Lookup(u, name, 8)
		if ok != (want != nil) || ok && got.Ref.Off != want.off {
			t.Errorf("%s: %v", name, ok)
		}
	}
	for name, want := range map[string]*node{"rec": rec, "small": small, "deep": deep, "none": nil, "main": nil} {
		got, ok := NamedInside(dwarf.DIE{Unit: u, Off: main.off}, name)
		if ok != (want != nil) || ok && got.Off != want.off {
			t.Errorf("%s inside: %v", name, ok)
		}
	}
	nameless := die(dwarf.TagSubprogram, "f", structure("", sized(4)))
	beneath := structure("beneath", sized(4))
	for range maxScopeDepth + 4 {
		beneath = die(dwarf.TagLexicalBlock, "", beneath)
	}
	own := structure("u8", sized(4), at(0, "n", num))
	of := typeOf(t, dwarf.LangAda95, structure("holder", sized(4)), nameless, die(dwarf.TagSubprogram, "g", beneath), own)
	if _, ok := NamedInside(dwarf.DIE{Unit: of.Ref.Unit, Off: nameless.off}, ""); ok {
		t.Error("a type without a name is found by it")
	}
	if _, ok := of.set.Lookup(of.Ref.Unit, "beneath", 8); ok {
		t.Error("a type beneath so many blocks is found")
	}
	if got, ok := of.set.Lookup(of.Ref.Unit, "u8", 8); !ok || got.Ref.Off != own.off {
		t.Error("a type of the program's own that has the name of a number")
	}
	if _, ok := NamedInside(dwarf.DIE{}, "rec"); ok {
		t.Error("a type inside of nothing")
	}
	if got, ok := holder.set.Lookup(u, "u8", 8); !ok || got.ByteSize != 1 {
		t.Error("a number that the unit does not have")
	}
}

// TestManyMethods: of so many functions of one name no more are looked at.
func TestManyMethods(t *testing.T) {
	class := structure("s", sized(8))
	for range maxMethods + 1 {
		class.kids = append(class.kids, die(dwarf.TagSubprogram, "get"))
	}
	holder := typeOf(t, dwarf.LangCPlus14, structure("holder", sized(8), class))
	typ := holder.set.At(dwarf.DIE{Unit: holder.Ref.Unit, Off: class.off})
	if n := len(typ.Methods("get")); n != maxMethods {
		t.Errorf("%d of a name", n)
	}
	if n := len(typ.Methods("")); n != maxMethods+1 {
		t.Errorf("%d of any name", n)
	}
	alone := structure("alone", sized(8), die(dwarf.TagSubprogram, "get"))
	beside := typeOf(t, dwarf.LangCPlus14, structure("holder", sized(8)), die(dwarf.TagNamespace, "n", alone, die(dwarf.TagSubprogram, "free")))
	if n := len(beside.set.At(dwarf.DIE{Unit: beside.Ref.Unit, Off: alone.off}).Methods("")); n != 1 {
		t.Errorf("%d with those beside the class", n)
	}
	if m := typ.set.MemberPointer(typ, typ, 8); m.Tag != dwarf.TagPtrToMemberType || m.Whole() != 8 || m.Target() != typ || m.Methods("") != nil {
		t.Errorf("%+v", m)
	}
}

// TestLeadsToText: bytes and what has no type may be text, other numbers are none.
func TestLeadsToText(t *testing.T) {
	char := func(size int) *node {
		return die(dwarf.TagBaseType, "char", sized(size), attr(dwarf.AttrEncoding, int(EncSignedChar)))
	}
	for _, c := range []struct {
		typ  *node
		want bool
	}{
		{pointerTo(char(1)), true},
		{pointerTo(char(4)), false},
		{pointerTo(die(dwarf.TagBaseType, "_Bool", sized(1), attr(dwarf.AttrEncoding, 2))), false},
		{die(dwarf.TagPointerType, ""), true},
		{char(1), false},
	} {
		if got := typeOf(t, dwarf.LangC99, c.typ).leadsToText(); got != c.want {
			t.Errorf("%s: %v", typeOf(t, dwarf.LangC99, c.typ).Name(), got)
		}
	}
}
