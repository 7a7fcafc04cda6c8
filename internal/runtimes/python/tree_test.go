package python_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

// asPython writes a tree as Python's repr writes the value.
func asPython(d *report.Data, typ string) string {
	begin, end, between := "", "", ", "
	switch {
	case d.Kind == "sequence" && typ == "list":
		begin, end = "[", "]"
	case d.Kind == "sequence" && typ == "set":
		begin, end = "{", "}"
	case d.Kind == "sequence" && typ == "frozenset":
		begin, end = "frozenset({", "})"
	case d.Kind == "sequence" && typ == "tuple":
		begin, end = "(", ")"
		if len(d.Children) == 1 {
			end = ",)"
		}
	case d.Kind == "sequence" && typ == "collections.deque":
		begin, end = "deque([", "])"
	case d.Kind == "sequence":
		begin, end = typ+"(", ")"
	case d.Kind == "map" && typ == "dict":
		begin, end = "{", "}"
	case d.Kind == "map":
		begin, end = typ+"({", "})"
	case d.Kind == "struct":
		begin, end, between = "<"+typ+" ", ">", ", "
	default:
		return d.Text
	}
	var parts []string
	for i := range d.Children {
		c := &d.Children[i]
		s := asPython(&c.Data, c.Data.Type)
		switch {
		case c.Key != nil:
			s = asPython(c.Key, c.Key.Type) + ": " + s
		case c.Name != "":
			s = c.Name + "=" + s
		}
		parts = append(parts, s)
	}
	return begin + strings.Join(parts, between) + end
}

// TestTrees writes the tree of each variable as Python prints the value.
func TestTrees(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	for version, python := range sampled(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			core := dump(t, python, "values.py", "said")
			b, err := os.ReadFile(filepath.Join(filepath.Dir(core), "said.json"))
			if err != nil {
				t.Fatal(err)
			}
			var said map[string]string
			if err := json.Unmarshal(b, &said); err != nil {
				t.Fatal(err)
			}
			r := analyze(t, core, corewalk.AnalyzeOptions{For: report.Whole{Trees: true}})
			compared, parts := 0, 0
			for _, f := range r.Threads[0].Frames {
				if f.Language != "python" || f.Function != "die" {
					continue
				}
				for _, v := range append(f.Args, f.Locals...) {
					if v.Data == nil {
						t.Errorf("%s has no tree", v.Name)
						continue
					}
					if said[v.Name] == "" || v.Name == "huge" || v.Name == "enums" || v.Name == "queue" {
						continue
					}
					compared++
					parts += len(v.Data.Children)
					if got := asPython(v.Data, v.Type); got != v.Value || v.Data.Truncated {
						t.Errorf("%s is the tree %s, the text %s", v.Name, got, v.Value)
					}
				}
			}
			if compared < 35 || parts < 25 {
				t.Errorf("%d variables with %d parts are compared", compared, parts)
			}
		})
	}
}
