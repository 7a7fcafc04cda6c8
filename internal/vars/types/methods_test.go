package types

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// What a method's this points to says how the method is declared. One that is const of itself has an end.
func TestMethodsOfThis(t *testing.T) {
	num := base("int", 4)
	endless := typed(dwarf.TagConstType, "", nil)
	endless.attrs = []nodeAttr{{dwarf.AttrType, endless}}
	made := nodeAttr{dwarf.AttrArtificial, true}
	for _, c := range []struct {
		this *node
		want string
	}{
		{pointerTo(num), "void f(void);"},
		{pointerTo(typed(dwarf.TagConstType, "", num)), "void f(void) const;"},
		{typed(dwarf.TagConstType, "", pointerTo(num)), "void f(void);"},
		{typed(dwarf.TagConstType, "", pointerTo(typed(dwarf.TagConstType, "", typed(dwarf.TagVolatileType, "", num)))), "void f(void) const volatile;"},
		{pointerTo(endless), "void f(void)" + strings.Repeat(" const", MaxChain) + ";"},
	} {
		s := structure("s", sized(8), die(dwarf.TagSubprogram, "f", typed(dwarf.TagFormalParameter, "this", c.this, made)))
		if got := typeOf(t, dwarf.LangCPlus14, s).Definition(Layout{Methods: true}); !slices.Contains(got, "    "+c.want) {
			t.Errorf("%q, want %s", got, c.want)
		}
	}
}

// Those that C++ names by their result have none before the name.
func TestConversions(t *testing.T) {
	for name, want := range map[string]bool{
		"operator bool": true, "operator const char *": true, "operator newer": true, "operatorbool": false, "operator+": false, "operator new": false,
		"operator new[]": false, "operator delete": false, "operator delete[]": false, `operator "" _s`: false, `operator ""_s`: false, "operator co_await": false,
	} {
		if got := conversion(name); got != want {
			t.Error(fmt.Sprint(name, " ", got))
		}
	}
}
