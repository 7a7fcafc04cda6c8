package signature

import (
	"cmp"
	"embed"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
)

// The rules are data, so that one can be added without reading Go. rules/README.md describes their format.
//
//go:embed rules/*.txt kinds.txt
var files embed.FS

type action byte

const (
	actDrop     action = iota + 1 // says nothing about the bug
	actCut                        // it and all frames inside of it are abort machinery
	actQuit                       // cut, and called by functions that decide to end the program
	actOverflow                   // cut, and called when the stack has run out
	actStart                      // start of a program or thread: it and all frames outside of it are dropped
	actLast                       // kept, as the outermost frame
	actKeep                       // not dropped, although another rule would
	actModule                     // every function of these modules is dropped
)

var actions = lazy.Value[map[string]action]{Make: func() map[string]action {
	return map[string]action{"drop": actDrop, "cut": actCut, "quit": actQuit, "overflow": actOverflow, "start": actStart, "last": actLast, "keep": actKeep, "module": actModule}
}}

type rule struct {
	pattern string // for a normalised name: "*" stands for anything
	action  action
	lang    string // language of the frames it applies to; "" for all, langSystem for those of the system
	why     string
	file    string
	line    int
}

// langSystem stands for the frames that may be the system's: in a library that a rule names, or without a source
// line, as in a program that is linked with the C library.
const langSystem = "system"

// applies reports whether the rule is for frames of a language; system says that they may be the system's.
func (r *rule) applies(lang string, system bool) bool {
	return r.lang == "" || r.lang == lang || r.lang == langSystem && system
}

// A ruleSet finds the rule for a name: an exact match first, then the longest pattern, of
// those of equal length one for the language.
type ruleSet struct {
	exact    map[string][]*rule
	patterns map[byte][]*rule // by the first byte of the pattern
	modules  []*rule
	all      []*rule
}

var rules = lazy.Value[*ruleSet]{Make: func() *ruleSet {
	set, err := loadRules()
	if err != nil {
		// The files are compiled in and tested. Without them every frame counts.
		return &ruleSet{}
	}
	return set
}}

func loadRules() (*ruleSet, error) {
	set := &ruleSet{exact: make(map[string][]*rule), patterns: make(map[byte][]*rule)}
	list, err := files.ReadDir("rules")
	if err != nil {
		return nil, err
	}
	for _, entry := range list {
		text, err := files.ReadFile("rules/" + entry.Name())
		if err != nil {
			return nil, err
		}
		if err := set.parse(entry.Name(), string(text)); err != nil {
			return nil, err
		}
	}
	return set, nil
}

func (set *ruleSet) parse(file, text string) error {
	why, lang := "", ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		act := actions.Get()[word]
		switch {
		case word == "why":
			why, lang = rest, ""
		case word == "lang":
			lang = rest
		case act == 0 || rest == "" || why == "":
			return fmt.Errorf("%s:%d: %q is not a rule", file, n, line)
		default:
			for pattern := range strings.FieldsSeq(rest) {
				set.add(&rule{pattern, act, lang, why, file, n})
			}
		}
	}
	return nil
}

func (set *ruleSet) add(r *rule) {
	set.all = append(set.all, r)
	switch {
	case r.action == actModule:
		set.modules = append(set.modules, r)
	case !strings.Contains(r.pattern, "*"):
		set.exact[r.pattern] = append(set.exact[r.pattern], r)
	default:
		set.patterns[r.pattern[0]] = append(set.patterns[r.pattern[0]], r)
	}
}

// name returns the rule for a function.
func (set *ruleSet) name(name, lang string, system bool) *rule {
	if name == "" {
		return nil
	}
	for _, r := range set.exact[name] {
		if r.applies(lang, system) {
			return r
		}
	}
	var best *rule
	for _, first := range [...]byte{name[0], '*'} {
		for _, r := range set.patterns[first] {
			if r.applies(lang, system) && (best == nil || r.narrower(best)) && glob(r.pattern, name) {
				best = r
			}
		}
	}
	return best
}

// narrower reports whether the rule goes before another one that matches too. Each is for all languages or for
// that of the frame.
func (r *rule) narrower(than *rule) bool {
	return cmp.Or(cmp.Compare(len(r.pattern), len(than.pattern)), cmp.Compare(r.lang, than.lang)) > 0
}

// module returns the rule for a module.
func (set *ruleSet) module(path string) *rule {
	base := strings.ToLower(baseName(path))
	for _, r := range set.modules {
		if glob(r.pattern, base) {
			return r
		}
	}
	return nil
}

// glob matches a pattern in which "*" stands for any number of bytes.
func glob(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, head)
	if !ok {
		return false
	}
	for rest != "" {
		head, next, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(s, head)
		}
		i := strings.Index(s, head)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(head):], next
	}
	return true
}

// ruleFor returns the rule for a frame whose function has a normalised name. The rule for the name comes before
// the rule for the module: abort is abort machinery in any module.
func ruleFor(name string, f *report.Frame) *rule {
	set := rules.Get()
	module := set.module(f.Module)
	if r := set.name(ruleName(name), language(f), module != nil || f.Source.File == ""); r != nil {
		return r
	}
	return module
}

// ruleName returns the name that rules are looked up by. For a method of a Rust trait it is the type without
// the bracket, or the trait if the type may be any type.
func ruleName(name string) string {
	inner, ok := strings.CutPrefix(name, "<")
	if !ok {
		return name
	}
	self, trait, ok := strings.Cut(inner, " as ")
	self = strings.TrimLeft(self, "&*<[(")
	self = strings.TrimPrefix(strings.TrimPrefix(self, "mut "), "dyn ")
	if ok && (!strings.Contains(self, "::") || strings.HasPrefix(self, "impl ")) {
		return trait // a type parameter, or a built-in type
	}
	return self
}

// language returns the language of a frame's function, as far as it matters to the rules: "rust", "go", "swift"
// without a source line, or "".
func language(f *report.Frame) string {
	switch file := f.Source.File; {
	case strings.HasSuffix(file, ".rs"):
		return "rust"
	case strings.HasSuffix(file, ".go"):
		return "go"
	case strings.HasPrefix(f.Symbol, "_R"):
		return "rust"
	case strings.HasPrefix(f.Symbol, "$s") && (file == "" || file == "<compiler-generated>"):
		return "swift"
	case strings.HasPrefix(f.Symbol, "_ZN") && len(f.Symbol) > 20 && strings.Contains(f.Symbol[len(f.Symbol)-20:], "17h"):
		return "rust"
	case strings.Contains(f.Function, "{{closure}}"), strings.Contains(f.Function, "{closure#"), strings.HasPrefix(f.Function, "<"):
		return "rust"
	}
	return ""
}

// cuts reports whether the rule cuts the frame and everything that it called.
func (r *rule) cuts() bool {
	return r != nil && (r.action == actCut || r.action == actQuit || r.action == actOverflow)
}

var classes = lazy.Value[map[string]string]{Make: func() map[string]string {
	m := make(map[string]string)
	text, _ := files.ReadFile("kinds.txt")
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		for i, w := range words {
			if i > 0 {
				m[w] = strings.TrimSuffix(words[0], ":")
			}
		}
	}
	return m
}}

// classOf returns the class of a kind; the kind itself if no class has it.
func classOf(kind string) string {
	if c, ok := classes.Get()[kind]; ok {
		return c
	}
	return kind
}
