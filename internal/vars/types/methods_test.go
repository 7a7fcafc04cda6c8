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

// The parameters that the compiler adds are none of the programmer's, wherever they stand; of many, the first are written.
func TestMethodParams(t *testing.T) {
	num := base("int", 4)
	made := nodeAttr{dwarf.AttrArtificial, true}
	param := func(of *node, parts ...any) *node { return typed(dwarf.TagFormalParameter, "", of, parts...) }
	this := func() *node { return param(pointerTo(num), made) }
	fixed := pointerTo(typed(dwarf.TagConstType, "", num))
	params := func(n int) []any {
		list := []any{this()}
		for range n {
			list = append(list, param(num))
		}
		return list
	}
	for _, c := range []struct {
		params []any
		want   string
	}{
		{[]any{this(), param(fixed, made)}, "void f(void);"},
		{[]any{param(num), param(fixed, made)}, "static void f(int);"},
		{[]any{this(), param(num), param(fixed, made)}, "void f(int);"},
		{[]any{typed(dwarf.TagFormalParameter, "this", pointerTo(num), made, param(num, die(dwarf.TagVariable, "")))}, "void f(void);"},
		{[]any{nodeAttr{dwarf.AttrVirtuality, 0}, this()}, "void f(void);"},
		{params(maxParams), "void f(" + strings.Repeat("int, ", maxParams-1) + "int);"},
		{params(maxParams + 1), "void f(" + strings.Repeat("int, ", maxParams-1) + "int);"},
	} {
		s := structure("s", sized(8), typed(dwarf.TagMember, "n", num, die(dwarf.TagSubprogram, "inside")), die(dwarf.TagSubprogram, "f", c.params...))
		lines := typeOf(t, dwarf.LangCPlus14, s).Definition(Layout{Methods: true})
		if got := strings.TrimSpace(lines[len(lines)-2]); got != c.want || len(lines) != 5 {
			t.Errorf("got %q, want %q of %d lines", got, c.want, len(lines))
		}
	}
	for n, want := range map[int]bool{MaxMembers - 1: true, MaxMembers: false} { // behind so many entries
		many := structure("many", sized(8))
		for range n {
			many.kids = append(many.kids, die(dwarf.TagTypedef, "t"))
		}
		many.kids = append(many.kids, die(dwarf.TagSubprogram, "last"))
		lines := typeOf(t, dwarf.LangCPlus14, many).Definition(Layout{Methods: true})
		if got := slices.Contains(lines, "    static void last(void);"); got != want {
			t.Errorf("behind %d entries: %t", n, got)
		}
	}
	class := structure("in", sized(8))
	outer := typeOf(t, dwarf.LangCPlus14, structure("out", sized(8), class, die(dwarf.TagSubprogram, "beside")))
	if lines := outer.set.At(dwarf.DIE{Unit: outer.Ref.Unit, Off: class.off}).Definition(Layout{Methods: true}); len(lines) != 2 {
		t.Errorf("%q", lines)
	}
	built := structure("k", sized(8), typed(dwarf.TagSubprogram, "k", num, this())) // that has a result is no constructor
	if lines := typeOf(t, dwarf.LangCPlus14, built).Definition(Layout{Methods: true}); !slices.Contains(lines, "    int k(void);") {
		t.Errorf("%q", lines)
	}
}
