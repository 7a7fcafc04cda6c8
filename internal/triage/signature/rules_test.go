package signature

import (
	"os"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestRules looks up the examples in testdata/rules.txt, and requires several for every file of rules.
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
		want, name, ok := strings.Cut(line, " ")
		if !ok {
			t.Fatalf("testdata/rules.txt:%d: %q", n, line)
		}
		var r *rule
		if want == "module" {
			r = set.module(name)
		} else {
			lang := ""
			if rest, ok := strings.CutPrefix(name, "rust:"); ok {
				name, lang = rest, "rust"
			}
			r = set.name(ruleName(Normalize(name)), lang)
		}
		got := "none"
		if r != nil {
			got, met[r] = words[r.action], true
		}
		if got != want {
			t.Errorf("testdata/rules.txt:%d: %s: %s, want %s", n, name, got, want)
		}
	}
	files := make(map[string]int)
	for r := range met {
		files[r.file]++
	}
	for _, r := range set.all {
		if n := files[r.file]; n < 5 && n < rulesIn(set, r.file) {
			t.Fatalf("rules/%s: only %d rules have an example", r.file, files[r.file])
		}
	}
}

func rulesIn(set *ruleSet, file string) (n int) {
	for _, r := range set.all {
		if r.file == file {
			n++
		}
	}
	return n
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
	m := classes()
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

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"":                                    "",
		"double free or corruption (fasttop)": "double free or corruption (fasttop)",
		"read of 8 bytes at 0x7f00deadbeef, which is not mapped": "read of N bytes at N, which is not mapped",
		"cannot open /home/u/data/x.txt: error 13":               "cannot open x.txt: error N",
		`cannot open C:\Users\u\x.txt`:                           "cannot open C:x.txt",
		"utf8_decode failed at deadbeef01":                       "utf8_decode failed at N",
		"index out of bounds: the len is 3 but the index is 99":  "index out of bounds: the len is N but the index is N",
		"line one\nline   two":                                   `line one\nline two`,
		strings.Repeat("x", 500):                                 strings.Repeat("x", 400),
	} {
		if got := Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestModuleName(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"/usr/lib/libfoo.so.6":         "libfoo.so",
		"/usr/lib/libfoo-2.1.so.3.0":   "libfoo.so",
		`C:\Program Files\App\App.exe`: "app",
		"/opt/app-1.2.3":               "app",
		"/opt/app (deleted)":           "app",
		"ntdll.dll":                    "ntdll.dll",
		"/opt/tool_v":                  "tool_v",
	} {
		if got := moduleName(in); got != want {
			t.Errorf("moduleName(%q) = %q, want %q", in, got, want)
		}
	}
}
