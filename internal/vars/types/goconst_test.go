package types

import (
	"debug/elf"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The constants of a type are those of its package, in their order; other types have none.
func TestGoConstants(t *testing.T) {
	f, err := elf.Open(fixture.Get(t, "amd64-vars-go-O0").Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, set := fileData(f), NewSet(arch.AMD64, nil)
	named := func(name string) *Type {
		t.Helper()
		var found *Type
		data.Units(func(u *dwarf.Unit) bool {
			if d, ok := set.Named(u, name); ok && found == nil {
				found = set.At(d)
			}
			return found == nil
		})
		if found == nil {
			t.Fatalf("no type %s", name)
		}
		return found.Strip()
	}
	colour := named("main.colour")
	list := set.GoConstants(colour)
	if len(list) != 2 || list[0] != (Enumerator{"main.red", 0}) || list[1] != (Enumerator{"main.blue", 1}) {
		t.Errorf("main.colour: %v", list)
	}
	if list := set.GoConstants(named("runtime.waitReason")); len(list) < 10 || list[0].Name != "runtime.waitReasonZero" || list[2].Val != 2 {
		t.Errorf("runtime.waitReason: %v", list)
	}
	if list := set.GoConstants(named("internal/abi.Kind")); len(list) < 20 || list[1] != (Enumerator{"internal/abi.Bool", 1}) {
		t.Errorf("internal/abi.Kind: %v", list)
	}
	for _, name := range []string{"int", "string", "main.point", "*main.point"} {
		if list := set.GoConstants(named(name)); list != nil {
			t.Errorf("%s: %v", name, list)
		}
	}
	for what, change := range map[string]func(*Type){
		"without a name":     func(t *Type) { t.BareName = "" },
		"of no entry":        func(t *Type) { t.Ref = Ref{} },
		"of a PDB":           func(t *Type) { t.Ref.DB = &Database{} },
		"of C":               func(t *Type) { t.Language = dwarf.LangC },
		"a struct":           func(t *Type) { t.Tag = dwarf.TagStructureType },
		"of another package": func(t *Type) { t.BareName = "other.colour" },
		"without package":    func(t *Type) { t.BareName = ".colour" },
	} {
		other := Type{Ref: colour.Ref, Tag: colour.Tag, BareName: colour.BareName, Language: colour.Language}
		if len(set.GoConstants(&other)) != 2 {
			t.Fatal("the copy has no constants")
		}
		if change(&other); set.GoConstants(&other) != nil {
			t.Errorf("%s has constants", what)
		}
	}
}

// A constant without a name, a type or a value is none, and neither is what is of another kind or another unit's.
func TestConstantsOfGo(t *testing.T) {
	number := die(dwarf.TagBaseType, "main.t")
	of := func(tag dwarf.Tag, attrs ...any) *node { return die(tag, "", attrs...) }
	name, typ, value := nodeAttr{dwarf.AttrName, "main.c"}, nodeAttr{dwarf.AttrType, number}, nodeAttr{dwarf.AttrConstValue, 7}
	unit := &tree{lang: dwarf.LangGo, kids: []*node{number, of(dwarf.TagConstant, name, typ), of(dwarf.TagConstant, name, value), of(dwarf.TagConstant, typ, value),
		of(dwarf.TagVariable, name, typ, value), of(dwarf.TagConstant, name, typ, value)}, tail: []*node{of(dwarf.TagConstant, name, typ, value)}}
	u := unitAt(t, open(forest(unit)), 0)
	got := goConstants(u)
	if list := got[dwarf.DIE{Unit: u, Off: number.off}]; len(got) != 1 || len(list) != 1 || list[0] != (Enumerator{"main.c", 7}) {
		t.Errorf("%v", got)
	}
}

// Only so many constants of a package are kept.
func TestManyConstantsOfGo(t *testing.T) {
	for n, want := range map[int]int{maxConstants - 1: maxConstants - 1, maxConstants: maxConstants, maxConstants + 2: maxConstants} {
		attrs := []byte{byte(dwarf.AttrName), byte(dwarf.FormString), byte(dwarf.AttrType), byte(dwarf.FormRef1), byte(dwarf.AttrConstValue), byte(dwarf.FormData1)}
		u := longUnit(t, n, dwarf.TagConstant, attrs, func(b []byte, i int) []byte { return append(b, 'c', 0, firstOfLong, byte(i)) })
		list := goConstants(u)[dwarf.DIE{Unit: u, Off: firstOfLong}]
		if len(list) != want || list[3] != (Enumerator{"c", 3}) {
			t.Errorf("%d of %d constants are kept", len(list), n)
		}
	}
}
