package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// TestObjectIn: the object of a base class that the library hides is one of the library's own, not what begins with it.
func TestObjectIn(t *testing.T) {
	const hidden = "std::__shared_ptr_access<Node, true>"
	for _, c := range []struct {
		object, class string
		want          bool
	}{
		{"std::shared_ptr<Node>", hidden, true},
		{"Session", hidden, false},
		{"Session", "Session", true},
		{"std::vector<int>", "std::deque<int>", false},
	} {
		o := types.Type{Tag: dwarf.TagStructureType, BareName: c.object, Language: dwarf.LangC99}
		if path, ok := objectIn(&o, 0, c.class); path != "" || ok != c.want {
			t.Errorf("%s in %s: %q, %v", c.class, c.object, path, ok)
		}
	}
}

// TestAccessedWrite: the object of an operator comes into the expression for what is behind it.
func TestAccessedWrite(t *testing.T) {
	for _, c := range []struct {
		text    string
		pointer bool
		rest    string
		want    string
	}{
		{"it", true, "", "*it"},
		{"it", true, "*", "*it"},
		{"it", true, ".second", "it->second"},
		{"it", true, "[3]", "(*it)[3]"},
		{"it", true, "->a", "it->a"},
		{"v[i]", false, "", "v[i]"},
		{"v[i]", false, ".x", "v[i].x"},
		{"v[i]", false, "*", "*v[i]"},
		{"o.get()", false, "->a", "o.get()->a"},
		{"*h", false, "->a", "(*h)->a"},
		{"*h", false, "", "*h"},
	} {
		a := accessed{text: c.text, pointer: c.pointer}
		if got := a.write(c.rest); got != c.want {
			t.Errorf("%s, %q: %s, want %s", c.text, c.rest, got, c.want)
		}
	}
}
