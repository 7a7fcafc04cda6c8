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
	m := report.Data{Kind: "map", Children: []report.Child{{Key: key("'k'"), Data: text("1")}, {Key: key("-1"), Data: text("2")}, {Key: key("7"), Data: list},
		{Key: key(`"d"`), Data: text("4")}, {Key: key(`"`), Data: text("wrong")}, {Key: key("no text"), Data: text("wrong")}, {Key: key("''"), Data: text("6")}}}
	cut := m
	cut.Truncated = true
	open := report.Data{Kind: "struct", Truncated: true, Children: []report.Child{{Name: "x", Data: text("8")}}}
	d := report.Data{Kind: "struct", Children: []report.Child{{Name: "list", Data: list}, {Name: "long", Data: long}, {Name: "m", Data: m}, {Name: "n", Data: text("5")}, {Name: "cut", Data: cut}, {Name: "open", Data: open}}}
	e := &variables{locals: []report.Variable{{Name: "a", Data: &d}, {Name: "flat", Value: "1"}, {Name: "s", Data: &report.Data{Kind: "string", Text: "'abc'"}}, {Name: "s2", Data: &report.Data{Kind: "string", Text: "'x'...", Truncated: true}},
		{Name: "none", Data: &report.Data{Kind: "void", Text: "None"}}, {Name: "huge", Data: &report.Data{Kind: "int", Text: "123456789012345678901234567890"}}, {Name: "yes", Data: &report.Data{Kind: "bool", Text: "True"}}, {Name: "odd", Data: &report.Data{Kind: "text", Text: "odd"}}}}
	const lost = "is not among those that were read"
	for expr, want := range map[string]string{
		"a.list[0]": "10", "a.list[3]": "11", "a.list[4]": "12", "a.list[-1]": "12", "a.list[-5]": "10", "a.list[-3]": "11",
		"a.list[5]": "it has no element 5: it has 5", "a.list[-6]": "it has no element -6: it has 5", "a.long[4]": "12", "a.long[-1]": "it has more elements than were read: where it ends is not known", "a.long[5]": "element 5 " + lost,
		`a.m["k"]`: "1", "a.m[-1]": "2", "a.m[7][1]": "11", "a.m[0]": "it has no element with the key 0", `a.m["x"]`: `it has no element with the key "x"`, `a.m["d"]`: "4", `a.m[""]`: "6", `a.m["o tex"]`: `it has no element with the key "o tex"`, `a.cut["x"]`: `the key "x" ` + lost, "a.cut[0]": "element 0 " + lost, `a.n["x"]`: errPartless.Error(), "a.n": "5", "a.n.x": errPartless.Error(), "a.n[0]": errPartless.Error(), "a.n[-1]": errPartless.Error(), "a.x": "it has no attribute x", "a.open.x": "8", "a.open.y": "attribute y " + lost, "a[0]": "it has attributes, and no elements", `a.list["x"]`: `it has no element with the key "x"`,
		"flat.x": errPartless.Error(), "flat[0]": errPartless.Error(), `flat["x"]`: errPartless.Error(), "flat[-1]": errPartless.Error(), "b": "no variable is called b", "a.list[a]": "an index is a number or a string here", "a + 1": `"+" is not computed in frames of this language`, "*a": errUnknownForm.Error(),
		"len(a.list)": "5", "len(a.m)": "7", "len(a.long)": "it has more elements than were read: how many is not known", "len(a.n)": "a value of kind int has no length", "len(a)": "a value of kind struct has no length", "len(s)": "3", `len("ab")`: "2", "f(a)": "a call of f: functions of the process are not called", "a.f()": "a call of f: functions of the process are not called",
		"a.n == 5": "true", "a.n != 5": "false", "a.n > 4.5": "true", "a.n < 3": "false", `s == "abc"`: "true", `s == "abd"`: "false", `s < "abd"`: "true", `s == 3`: "false", "s < 3": `"<" does not compare such values`, `s2 == "x"`: "the string was not read to its end", "none == None": "true", "none == null": "false", "a == 1": "a value of kind struct is not compared: its parts are",
		"a.n == 5 && s != \"\"": "true", "!none": "true", "a.n ? a.list[0] : b": "10", "none ? b : a.n": "5", "a.n == -5": "false", "huge == huge": "true", "huge < huge": "numbers of more than 64 bits are not compared", "yes == True": "true", "a.list && true": "true", "odd ? 1 : 2": "whether odd is true is not known", "b.x": "no variable is called b", "b[0]": "no variable is called b",
	} {
		n, err := paths.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := new(follower).follow(e, n)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = d.Text
		}
		if got != want {
			t.Errorf("%s is %s, want %s", expr, got, want)
		}
	}
}

// TestGrowable: a value can be read again if it is of a language, goes on, has parts, and is somewhere.
func TestGrowable(t *testing.T) {
	f := &frameAt{st: &stack{named: []report.Frame{{}, {Language: "python"}}}, index: 1}
	for _, kind := range []string{"sequence", "array", "map", "struct"} {
		d := report.Data{Kind: kind, Truncated: true, Address: 1}
		whole, nowhere := d, d
		whole.Truncated, nowhere.Address = false, 0
		if !f.growable(&d) || f.growable(&whole) || f.growable(&nowhere) || (&frameAt{st: f.st}).growable(&d) {
			t.Errorf("%s: %v, whole %v, nowhere %v", kind, f.growable(&d), f.growable(&whole), f.growable(&nowhere))
		}
	}
	if f.growable(&report.Data{Kind: "string", Truncated: true, Address: 1}) {
		t.Error("a string has no parts")
	}
	v := new(Session).dataValue(f, &report.Data{Kind: "text", Text: "x", Error: "gone"}, "e")
	if v.Status != report.StatusUnknown || v.Reason != "gone" || v.Value != "" || v.Ref != 0 {
		t.Errorf("%+v", v)
	}
}

func TestUnsigiled(t *testing.T) {
	for expr, want := range map[string]string{"$this->items[1]": " this .items[1]", `$a["$b->c"]`: ` a["$b->c"]`, "$a - $b": " a -  b", "a-": "a-", "": ""} {
		if got := unsigiled(expr); got != want {
			t.Errorf("%s becomes %q, want %q", expr, got, want)
		}
	}
}

// TestFollowLua: t.name is t["name"], and elements are counted from 1, as their keys say.
func TestFollowLua(t *testing.T) {
	text := func(kind, s string) report.Data { return report.Data{Kind: kind, Text: s} }
	key := func(kind, s string) *report.Data { d := text(kind, s); return &d }
	list := report.Data{Kind: "sequence", Children: []report.Child{{Key: key("int", "1"), Data: text("int", "10")}, {Key: key("int", "2"), Data: text("int", "20")}}}
	table := report.Data{Kind: "map", Children: []report.Child{{Key: key("string", `"name"`), Data: text("string", `"x"`)}, {Key: key("string", `"list"`), Data: list}}}
	read := &variables{locals: []report.Variable{{Name: "t", Data: &table}}}
	in := func(language string) follower {
		return follower{f: &frameAt{st: &stack{named: []report.Frame{{Language: language}}}}}
	}
	for expr, want := range map[string]string{"t.name": `"x"`, `t["name"]`: `"x"`, "t.list[1]": "10", "t.list[2]": "20", "t.list[0]": "it has no element with the key 0", "t.none": `it has no element with the key "none"`} {
		n, err := paths.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := in("lua").follow(read, n)
		if err != nil && err.Error() != want || err == nil && d.Text != want {
			t.Errorf("%s is %v, %v, want %s", expr, d, err, want)
		}
	}
	n, _ := paths.Parse("t.name")
	if _, _, err := in("python").follow(read, n); err == nil {
		t.Error("a key of a dict is no attribute in Python")
	}
	if got := dataText(&list); got != "{10, 20}" {
		t.Errorf("a sequence is %s", got)
	}
}
