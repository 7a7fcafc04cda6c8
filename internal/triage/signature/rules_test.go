package signature

import (
	"os"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestRules looks up the examples in testdata/rules.txt; every rule has one.
func TestRules(t *testing.T) {
	set, err := loadRules()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	met := make(map[*rule]bool)
	words := map[action]string{actDrop: "drop", actCut: "cut", actQuit: "quit", actOverflow: "overflow", actStart: "start", actLast: "last", actKeep: "keep", actModule: "module"}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		want, names, ok := strings.Cut(line, " ")
		if !ok {
			t.Fatalf("testdata/rules.txt:%d: %q", n, line)
		}
		for name := range strings.SplitSeq(names, " | ") {
			var r *rule
			got := "none"
			if want == "module" || want == "nomodule" {
				r, got = set.module(name), "nomodule"
			} else {
				lang := ""
				if rest, ok := strings.CutPrefix(name, "rust:"); ok {
					name, lang = rest, "rust"
				} else if rest, ok := strings.CutPrefix(name, "swift:"); ok {
					name, lang = rest, "swift"
				}
				name, source := strings.CutPrefix(name, "source:")
				r = set.name(ruleName(Normalize(name)), lang, !source)
			}
			if r != nil {
				got, met[r] = words[r.action], true
			}
			if got != want {
				t.Errorf("testdata/rules.txt:%d: %s: %s, want %s", n, name, got, want)
			}
		}
	}
	for _, r := range set.all {
		if !met[r] {
			t.Errorf("rules/%s:%d: %s has no example in testdata/rules.txt", r.file, r.line, r.pattern)
		}
	}
}

// TestRulesOnce: no rule is shadowed by another one.
func TestRulesOnce(t *testing.T) {
	set, err := loadRules()
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range set.all {
		for _, b := range set.all[:i] {
			if a.pattern == b.pattern && a.lang == b.lang && (a.action == actModule) == (b.action == actModule) {
				t.Errorf("rules/%s:%d: %s is in rules/%s:%d already", a.file, a.line, a.pattern, b.file, b.line)
			}
		}
		if strings.Contains(a.pattern, "*") || a.action == actModule {
			continue
		}
		var best *rule
		for _, b := range set.patterns[a.pattern[0]] {
			if (b.lang == "" || b.lang == a.lang) && glob(b.pattern, a.pattern) && (best == nil || len(b.pattern) > len(best.pattern)) {
				best = b
			}
		}
		if best != nil && best.action == a.action && best.why == a.why {
			t.Errorf("rules/%s:%d: %s is covered by %s", a.file, a.line, a.pattern, best.pattern)
		}
	}
}

// TestKinds: every kind of a class is a kind that reports can have.
func TestKinds(t *testing.T) {
	known := map[string]bool{}
	for _, k := range report.CrashKinds() {
		known[k] = true
	}
	m := classes.Get()
	if len(m) < 20 {
		t.Fatalf("only %d kinds have a class", len(m))
	}
	for k := range m {
		if !known[k] {
			t.Errorf("kinds.txt: %q is no kind of crash", k)
		}
	}
	for k := range known {
		want := map[string]string{"read": "access", "write": "access", "access": "access", "call": "call"}[k[strings.LastIndexByte(k, '-')+1:]]
		if want != "" && m[k] != want {
			t.Errorf("kinds.txt: %q is not of class %s", k, want)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"abc", "abc", true}, {"abc", "abcd", false}, {"a*", "a", true}, {"a*c", "abc", true}, {"a*c", "ac", true}, {"a*c", "acb", false},
		{"*x", "x", true}, {"*x*", "axb", true}, {"a*b*c", "abbc", true}, {"a*b*c", "acb", false}, {"*", "", true}, {"a*a", "a", false},
	} {
		if got := glob(c.pattern, c.s); got != c.want {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}

// TestParseRules: the format of the files, and the messages about what is wrong.
func TestParseRules(t *testing.T) {
	set := &ruleSet{exact: make(map[string][]*rule), patterns: make(map[byte][]*rule)}
	text := "# comment\n#\n\n  why  some library \ndrop a\tb*\ncut c\nquit d\noverflow e\nlang  rust\nstart f\nlast g\n" +
		"why another\nkeep h*\nmodule libx*\n"
	if err := set.parse("x.txt", text); err != nil {
		t.Fatal(err)
	}
	want := []rule{
		{"a", actDrop, "", "some library", "x.txt", 5}, {"b*", actDrop, "", "some library", "x.txt", 5}, {"c", actCut, "", "some library", "x.txt", 6},
		{"d", actQuit, "", "some library", "x.txt", 7}, {"e", actOverflow, "", "some library", "x.txt", 8}, {"f", actStart, "rust", "some library", "x.txt", 10},
		{"g", actLast, "rust", "some library", "x.txt", 11}, {"h*", actKeep, "", "another", "x.txt", 13}, {"libx*", actModule, "", "another", "x.txt", 14},
	}
	for i, r := range set.all {
		if i >= len(want) || *r != want[i] {
			t.Errorf("rule %d: %+v", i, *r)
		}
	}
	if len(set.all) != len(want) {
		t.Errorf("%d rules, want %d", len(set.all), len(want))
	}
	for text, want := range map[string]string{
		"why w\nskip a\n":      `x.txt:2: "skip a" is not a rule`,
		"why w\n\n drop \n":    `x.txt:3: "drop" is not a rule`,
		"# w\ndrop a\n":        `x.txt:2: "drop a" is not a rule`,
		"why w\nmod a # b\n\n": `x.txt:2: "mod a # b" is not a rule`,
	} {
		if err := set.parse("x.txt", text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestRuleOrder: which of several rules for a name is taken.
func TestRuleOrder(t *testing.T) {
	set := &ruleSet{exact: make(map[string][]*rule), patterns: make(map[byte][]*rule)}
	text := "why one\nlang rust\nquit abort ab*\nmodule libz*\nwhy two\ndrop abort\nwhy three\nlang go\ncut abcd*\nwhy four\nkeep a*d a*c *bc x*\nlang go\ndrop x* y*\nwhy five\ndrop y*\nwhy four\nmodule libx* libx-*\n"
	if err := set.parse("x.txt", text); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, lang, want string }{
		{"abort", "rust", "one rust abort"}, {"abort", "go", "two abort"}, {"abort", "", "two abort"},
		{"abx", "rust", "one rust ab*"}, {"abx", "go", ""}, {"abx", "", ""},
		{"abcde", "go", "three go abcd*"}, {"abcde", "rust", "one rust ab*"},
		{"acd", "", "four a*d"}, {"acd", "rust", "four a*d"}, {"a_c", "", "four a*c"}, {"abc", "", "four a*c"}, // the first of the longest, before "*bc"
		{"xbc", "", "four *bc"}, {"xb", "", "four x*"}, {"xb", "go", "four go x*"}, {"yb", "go", "four go y*"}, {"yb", "rust", "five y*"}, {"bc", "", "four *bc"}, {"bcd", "", ""}, {"", "", ""},
	} {
		got := ""
		if r := set.name(c.name, c.lang, true); r != nil {
			got = strings.Join(strings.Fields(r.why+" "+r.lang+" "+r.pattern), " ")
		}
		if got != c.want {
			t.Errorf("%s of %q: %q, want %q", c.name, c.lang, got, c.want)
		}
	}
	for module, want := range map[string]string{"/lib/LIBX-2.so": "libx*", `C:\Libz.dll`: "libz*", "/lib/my-libx.so": "", "": ""} {
		got := ""
		if r := set.module(module); r != nil {
			got = r.pattern
		}
		if got != want {
			t.Errorf("module %s: %q, want %q", module, got, want)
		}
	}
}

// TestRuleOfModule: a rule for the name comes before that for the module.
func TestRuleOfModule(t *testing.T) {
	for _, c := range []struct {
		name string
		f    report.Frame
		want string
	}{
		{"abort", report.Frame{Module: "/lib/libc.so.6"}, "the C library's abort code"},
		{"helper", report.Frame{Module: "/lib/libc.so.6"}, "the C library"},
		{"", report.Frame{Module: "/lib/libc.so.6"}, "the C library"},
		{"<app::Q as core::ops::Drop>::drop", report.Frame{Module: "/bin/app", Source: report.Source{File: "q.rs"}}, ""},
		{"<T as core::ops::Drop>::drop", report.Frame{Module: "/bin/app", Source: report.Source{File: "q.rs"}}, "Rust's library"},
		{"helper", report.Frame{Module: "/bin/app"}, ""},
	} {
		got := ""
		if r := ruleFor(c.name, &c.f); r != nil {
			got = r.why
		}
		if got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.name, c.f.Module, got, c.want)
		}
	}
}

// TestRuleName: the name of a method of a Rust trait that rules are looked up by.
func TestRuleName(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"main":                               "main",
		"a::B::c":                            "a::B::c",
		"(x) as y":                           "(x) as y",
		"<a::B as c::D>::e":                  "a::B",
		"<&a::B as c::D>::e":                 "a::B",
		"<&mut a::B as c::D>::e":             "a::B",
		"<&dyn a::B as c::D>::e":             "a::B",
		"<&mut dyn a::B as c::D>::e":         "a::B",
		"<*const a::B as c::D>::e":           "const a::B",
		"<(a::B) as c::D>::e":                "a::B)",
		"<[a::B] as c::D>::e":                "a::B]",
		"<impl a::B for c::D>::e":            "impl a::B for c::D>::e",
		"<T as c::D>::e":                     "c::D>::e",
		"<[] as c::D>::e":                    "c::D>::e",
		"<impl a::B for e::F as c::D>::e":    "c::D>::e",
		"<dyn implement::B as c::D>::e":      "implement::B",
		"<<a::B as c::D>::E as f::G>::h":     "a::B",
		"<T>::get":                           "T>::get",
		"app::<impl app::Sum for a::V>::sum": "app::<impl app::Sum for a::V>::sum",
	} {
		if got := ruleName(in); got != want {
			t.Errorf("ruleName(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestLanguage: what says that a frame is Rust's or Go's.
func TestLanguage(t *testing.T) {
	for _, c := range []struct {
		file, symbol, function, want string
	}{
		{"", "", "f", ""},
		{"/src/a.c", "f", "f", ""},
		{"/src/a.rs", "f", "f", "rust"},
		{"/src/a.go", "f", "f", "go"},
		{"/src/a.go", "_RNvf", "f", "go"},
		{"/src/a.rs.c", "f", "f", ""},
		{"/src/a.go.c", "f", "f", ""},
		{"", "_RNvCs_3app4take", "app::take", "rust"},
		{"", "_registry", "_registry", ""},
		{"", "$sSa15_checkSubscriptyySiF", "Array._checkSubscript", "swift"},
		{"<compiler-generated>", "$sSa15_checkSubscriptyySiF", "Array._checkSubscript", "swift"},
		{"/src/total.swift", "$sSa4shopE5totalSdyF", "Array.total", ""},
		{"", "_ZN3app4take17h0123456789abcdefE", "app::take", "rust"},
		{"/src/a.c", "_ZN3app4take17h0123456789abcdefE", "app::take", "rust"},
		{"", "x_ZN3app4take17h0123456789abcdefE", "f", ""},
		{"", "_ZN3app4take17h0123456789abcdefEv", "app::take::h0123456789abcdef", ""}, // C++
		{"", "_ZN3app4takeERKSt6vectorIiSaIiEE", "app::take", ""},
		{"", "_ZN3app4takeEv", "app::take", ""},
		{"", "_ZN17h", "f", ""},
		{"", "_ZN1a17h0123456789AE", "f", ""},
		{"", "_ZN1a17h0123456789ABE", "f", "rust"},
		{"", "", "app::run::{{closure}}", "rust"},
		{"", "", "app::run::{closure#0}", "rust"},
		{"", "", "app::run::{lambda#0}", ""},
		{"", "", "<app::Q as app::S>::next", "rust"},
		{"", "", "f<int>", ""},
	} {
		f := report.Frame{Function: c.function, Symbol: c.symbol, Source: report.Source{File: c.file}}
		if got := language(&f); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestSystemNames: names that programs use too are the system's in its libraries, and where no source line is known.
func TestSystemNames(t *testing.T) {
	for _, c := range []struct {
		name, module, file string
		want               bool
	}{
		{"getline", "/bin/app", "app.c", false}, {"getline", "/bin/app", "", true}, {"getline", "/lib/libc.so.6", "iogetline.c", true},
		{"clone", "/lib/libc.so.6", "clone.S", true}, {"clone", "/bin/app", "app.c", false},
		{"terminate", "/bin/app", "app.cpp", false}, {"terminate", "ucrtbase.dll", "terminate.cpp", true},
		{"qsort", "/bin/app", "app.c", true},
	} {
		r := ruleFor(c.name, &report.Frame{Module: c.module, Source: report.Source{File: c.file}})
		if got := r != nil && r.action != actModule; got != c.want {
			t.Errorf("%s of %s in %q: %+v", c.name, c.module, c.file, r)
		}
	}
}
