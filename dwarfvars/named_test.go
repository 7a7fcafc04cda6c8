package dwarfvars

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Variables outside of functions have the names of their scopes, also those that are declared in a namespace and defined behind it, once.
func TestNamesOfScopes(t *testing.T) {
	i32 := base("int", types.EncSigned, 4)
	variable := func(name string, attrs ...handAttr) *handDIE {
		return local(name, append(attrs, handAttr{dwarf.AttrType, i32})...)
	}
	mentioned := handAttr{dwarf.AttrDeclaration, true}
	count, only := variable("count", mentioned), variable("only", mentioned)
	tile := structure("tile", 4, variable("made", mentioned))
	u := unit(t, arch.AMD64.ByteOrder, 8, dwarf.LangCPlusPlus, i32,
		named(dwarf.TagNamespace, "app").with(count, only, variable("there"), named(dwarf.TagNamespace, "deep").with(variable("inner")), tile),
		die(dwarf.TagNamespace).with(variable("hidden")),
		variable("plain"), variable("extern", mentioned),
		die(dwarf.TagVariable, handAttr{dwarf.AttrSpecification, count}),
		named(dwarf.TagSubprogram, "f").with(variable("local")))
	list := func(variables bool) (names []string) {
		n := nameLister{u: u, variables: variables, match: func(string) bool { return true }, work: func() bool { return true }, yield: func(v Named) bool {
			names = append(names, v.Kind+" "+v.Name)
			return true
		}}
		n.run()
		slices.Sort(names)
		return names
	}
	if got, want := list(true), []string{"variable (anonymous namespace)::hidden", "variable app::count", "variable app::deep::inner", "variable app::there", "variable app::tile::made", "variable plain"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := list(false), []string{"struct app::tile", "type int"}; !slices.Equal(got, want) {
		t.Errorf("types %q, want %q", got, want)
	}
}
