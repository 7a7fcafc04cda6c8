package report

import (
	"strings"
	"testing"
)

// TestRuntimeLine: a runtime whose description begins with its name is named once.
func TestRuntimeLine(t *testing.T) {
	for _, c := range []struct {
		r    Runtime
		want string
	}{
		{Runtime{Name: "HotSpot", Description: "HotSpot 25.0.3+9, layout from its own tables"}, "runtime: HotSpot 25.0.3+9, layout from its own tables, 0 tasks\n"},
		{Runtime{Name: "Go", Description: "Golang 1.24"}, "runtime: Go, Golang 1.24, 0 tasks\n"},
		{Runtime{Name: "Go", Tasks: 3}, "runtime: Go, 3 tasks\n"},
	} {
		var b strings.Builder
		if err := WriteInfoText(&b, &Info{Runtimes: []Runtime{c.r}}, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("got\n%s\nwant %s", b.String(), c.want)
		}
	}
}
