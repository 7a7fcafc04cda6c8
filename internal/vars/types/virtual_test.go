package types

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
)

// A class names the virtual function that has a number in its table.
func TestVirtualFunction(t *testing.T) {
	num := base("int", 4)
	made := nodeAttr{dwarf.AttrArtificial, true}
	this := func() *node { return typed(dwarf.TagFormalParameter, "this", pointerTo(num), made) }
	param := func(of *node) *node { return typed(dwarf.TagFormalParameter, "", of) }
	virtual := func(name string, place []byte, parts ...any) *node {
		return typed(dwarf.TagSubprogram, name, num, append(parts, nodeAttr{dwarf.AttrVtableElemLoc, place})...)
	}
	constu := byte(op.Constu)
	class := structure("s", sized(8), at(0, "n", num),
		typed(dwarf.TagSubprogram, "plain", num, this()),
		virtual("cut", []byte{constu, 0x80}, this()),
		virtual("first", []byte{constu, 0}, this(), die(dwarf.TagLexicalBlock, "", virtual("inside", []byte{constu, 9}))),
		virtual("id", []byte{constu, 2}, this(), param(num), param(pointerTo(base("char", 1)))),
		virtual("far", []byte{constu, 0x80, 1}, this()),
		virtual("other", []byte{byte(op.Const1u), 4}, this()),
		virtual("more", []byte{constu, 5, 0}, this()),
		virtual("cut", []byte{constu, 0x86}, this()),
		virtual("none", []byte{constu}, this()),
		virtual("none", nil, this()),
		typed(dwarf.TagMember, "member", num, nodeAttr{dwarf.AttrVtableElemLoc, []byte{constu, 7}}),
		virtual("long", []byte{constu, 0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}, this()))
	holder := typeOf(t, dwarf.LangCPlus14, structure("holder", sized(8), class, virtual("beside", []byte{constu, 10}, this())))
	typ := holder.set.At(dwarf.DIE{Unit: holder.Ref.Unit, Off: class.off})
	for slot, want := range map[uint64]string{0: "first()", 1: "", 2: "id(int, char *)", 4: "", 5: "", 6: "", 7: "", 8: "", 9: "", 10: "", 128: "far()"} {
		if got := typ.VirtualFunction(slot); got != want {
			t.Errorf("%d: %q, want %q", slot, got, want)
		}
	}
	for n, want := range map[int]string{MaxMembers - 1: "last()", MaxMembers: ""} { // behind so many entries
		many := structure("many", sized(8))
		for range n {
			many.kids = append(many.kids, at(0, "", num))
		}
		many.kids = append(many.kids, virtual("last", []byte{constu, 0}, this()))
		if got := typeOf(t, dwarf.LangCPlus14, many).VirtualFunction(0); got != want {
			t.Errorf("behind %d entries: %q", n, got)
		}
	}
	if got := (&Type{Tag: dwarf.TagStructureType}).VirtualFunction(0); got != "" {
		t.Errorf("of no entry: %q", got)
	}
	if got := (&Type{Tag: dwarf.TagStructureType, Ref: Ref{DIE: typ.Ref.DIE, DB: &Database{}}}).VirtualFunction(0); got != "" {
		t.Errorf("of a PDB: %q", got)
	}
}

// The first parameter ends at the first comma that is not inside it.
func TestWithoutThis(t *testing.T) {
	for params, want := range map[string]string{
		"s *, int)": "int)", "s *)": ")", "": ")", "s<a, b> *, c<d, e>)": "c<d, e>)", "void (*)(int, int), char)": "char)", "int [2], long)": "long)", "s *,int)": "int)", "s *": ")", "s *), int)": ")", "s<a, b": ")",
	} {
		if got := withoutThis(params); got != want {
			t.Errorf("%q: %q, want %q", params, got, want)
		}
	}
}

// The functions that a class declares, with what calls of them return, and which are const, virtual and destructors.
func TestMethods(t *testing.T) {
	num := base("int", 4)
	made := nodeAttr{dwarf.AttrArtificial, true}
	this := func(of *node) *node { return typed(dwarf.TagFormalParameter, "this", pointerTo(of), made) }
	slot := func(n byte) nodeAttr { return nodeAttr{dwarf.AttrVtableElemLoc, []byte{byte(op.Constu), n}} }
	class := structure("s", sized(8), at(0, "n", num),
		die(dwarf.TagSubprogram, "~s", slot(0), this(num)),
		typed(dwarf.TagSubprogram, "get", num, this(num)),
		typed(dwarf.TagSubprogram, "get", base("long", 8), slot(2), this(typed(dwarf.TagConstType, "", num))))
	holder := typeOf(t, dwarf.LangCPlus14, structure("holder", sized(8), class))
	typ := holder.set.At(dwarf.DIE{Unit: holder.Ref.Unit, Off: class.off})
	all := typ.Methods("")
	if len(all) != 3 || !all[0].Destroys || !all[0].Virtual || all[0].Slot != 0 {
		t.Fatalf("%+v", all)
	}
	get := typ.Methods("get")
	if len(get) != 2 || get[0].Destroys || get[0].Virtual || get[0].Const || get[0].Result.Name() != "int" || !get[1].Virtual || get[1].Slot != 2 || !get[1].Const || get[1].Result.Name() != "long" {
		t.Errorf("%+v", get)
	}
	if list := typ.Methods("nosuch"); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}
