package session

import (
	"testing"

	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/report"
)

// TestFollow looks up parts of trees: attributes, elements from both ends, keys, and what is not there.
func TestFollow(t *testing.T) {
	text := func(s string) report.Data { return report.Data{Kind: "int", Text: s} }
	list := report.Data{Kind: "sequence", Children: []report.Child{{Data: text("10")}, {Data: text("11"), Repeat: 3}, {Data: text("12")}}}
	long := list
	long.Truncated = true
	key := func(s string) *report.Data { d := text(s); return &d }
	m := report.Data{Kind: "map", Children: []report.Child{{Key: key("'k'"), Data: text("1")}, {Key: key("-1"), Data: text("2")}, {Key: key("7"), Data: list}}}
	d := report.Data{Kind: "struct", Children: []report.Child{{Name: "list", Data: list}, {Name: "long", Data: long}, {Name: "m", Data: m}, {Name: "n", Data: text("5")}}}
	e := &variables{locals: []report.Variable{{Name: "a", Data: &d}, {Name: "flat", Value: "1"}}}
	for expr, want := range map[string]string{
		"a.list[0]": "10", "a.list[3]": "11", "a.list[4]": "12", "a.list[-1]": "12", "a.list[-5]": "10", "a.list[-3]": "11",
		"a.list[5]": "error", "a.list[-6]": "error", "a.long[4]": "12", "a.long[-1]": "error",
		`a.m["k"]`: "1", "a.m[-1]": "2", "a.m[7][1]": "11", "a.m[0]": "error", `a.m["x"]`: "error", "a.n": "5", "a.n.x": "error", "a.x": "error",
		"flat.x": "error", "flat[0]": "error", "flat[-1]": "error", "b": "error", "a.list[a]": "error",
	} {
		n, err := paths.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		got := "error"
		if d, _, err := new(follower).follow(e, n); err == nil {
			got = d.Text
		}
		if got != want {
			t.Errorf("%s is %s, want %s", expr, got, want)
		}
	}
}
