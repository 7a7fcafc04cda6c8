package session

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/report"
)

func TestOfPerl(t *testing.T) {
	for expr, want := range map[string]string{
		"$n": "n", "@rest": "rest", "$self->{items}[1]": `self["items"][1]`, "$h{k}": `h["k"]`, `$h{"a b"}`: `h["a b"]`, `$h{'$x->{y}'}`: `h['$x->{y}']`,
		"$r->[0]->{k}": `r[0]["k"]`, "$n % $m": "n % m", "a@b": "a@b", "$h{": "h[", "$h{k": "h[k", "}": "}", "-": "-", "": "",
	} {
		if got := ofPerl(expr); got != want {
			t.Errorf("%s becomes %q, want %q", expr, got, want)
		}
	}
}

func TestOfRuby(t *testing.T) {
	for expr, want := range map[string]string{"h[:a]": `h[":a"]`, "h[:a?][:b]": `h[":a?"][":b"]`, "@items[1]": "self.__at_items[1]", "len(@x)": "len(self.__at_x)", `h["@x"]`: `h["@x"]`, "a.@x": "a.@x", "@@x": "@@x", "a ? b : c": "a ? b : c"} {
		if got := ofRuby(expr); got != want {
			t.Errorf("%s becomes %q, want %q", expr, got, want)
		}
	}
}

// TestFollowSigns: names of Perl are found with and without their signs, if it is known which is meant; keys without quotes are found.
func TestFollowSigns(t *testing.T) {
	text := func(s string) report.Data { return report.Data{Kind: "text", Text: s} }
	key := func(s string) *report.Data { d := text(s); return &d }
	table := report.Data{Kind: "map", Children: []report.Child{{Key: key("k"), Data: text("5")}, {Key: key(":sym"), Data: text("6")}, {Name: "@items", Data: text("7")}}}
	one, all := text("1"), text("2")
	read := variables{args: []report.Variable{{Name: "@n", Value: "2", Data: &all}}, locals: []report.Variable{{Name: "$n", Value: "1", Data: &one}, {Name: "%h", Data: &table}, {Name: "self", Data: &table}}}
	in := func(language string) *frameAt {
		return &frameAt{st: &stack{named: []report.Frame{{Language: language}}}}
	}
	for _, c := range []struct{ language, expr, want string }{
		{"perl", "h", ""}, {"perl", "n", "only the whole"}, {"perl", "other", "no variable"}, {"ruby", "h", "no variable"},
	} {
		n, err := paths.Parse(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = (follower{f: in(c.language)}).follow(&read, n); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.language, c.expr, err)
		}
	}
	for _, c := range []struct{ language, expr, want string }{
		{"perl", " $n ", "1"}, {"perl", "@n", "2"}, {"perl", "$h{k}", "5"}, {"ruby", "self[:sym]", "6"}, {"ruby", "@items", "7"}, {"ruby", "@none", ""}, {"ruby", "self.items", ""},
	} {
		v, err := new(Session).path(in(c.language), read, c.expr)
		if (err == nil) != (c.want != "") || v.Value != c.want || err == nil && (v.Name != c.expr || v.Expression != c.expr) {
			t.Errorf("%s, %s: %+v, %v", c.language, c.expr, v, err)
		}
	}
}
