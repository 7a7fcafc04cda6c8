package dwarfvars_test

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// A printout is what a program printed of its own variables before it died: the
// values of "function.name", one for each variable of that name. It is written by
// a second build of the same source, so that printing keeps no variable alive in
// the build that is looked at. Addresses stand there as 0x*.
type printout map[string][]string

// parsePrintout reads lines "function.name = value". Other lines are left out.
func parsePrintout(text string) printout {
	p := printout{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\n"), " = ")
		if ok && strings.Contains(name, ".") && !strings.Contains(name, " ") {
			p[name] = append(p[name], value)
		}
	}
	return p
}

// A proof is what a printout says of a value.
type proof int

const (
	unprinted proof = iota // the program did not print the variable
	proved                 // the value is the printed one, so far as it is known
	disproved
)

// check compares the text of a value with what the program printed. A text with
// parts that are not known is compared by the others.
func (p printout) check(function, name, text string) proof {
	values := p[baseName(function)+"."+name]
	if len(values) == 0 {
		return unprinted
	}
	got := starred(text)
	for _, want := range values {
		if matches(got, starred(want), 0) {
			return proved
		}
	}
	return disproved
}

// baseName is a function's name without what it belongs to: containers<int>,
// vars::values and main.values are containers and values.
func baseName(function string) string {
	if i := strings.IndexByte(function, '<'); i > 0 {
		function = function[:i]
	}
	if i := strings.LastIndexAny(function, ".:"); i >= 0 {
		function = function[i+1:]
	}
	return function
}

var (
	address  = regexp.MustCompile(`\b0x[0-9a-f]{4,}\b`)
	constant = regexp.MustCompile(`^\w+\.\w+(?: \| \w+\.\w+)*$`)
	noString = regexp.MustCompile(`<memory not in the dump: [^>]*>`)
)

// starred brings a text to what a program prints: addresses are 0x*.
func starred(s string) string {
	s = normal(strings.ReplaceAll(s, "(synthetic pointer)", "0x*"))
	s = strings.ReplaceAll(s, "_vptr$", "_vptr.") // clang's name of gcc's _vptr.
	return address.ReplaceAllString(noString.ReplaceAllString(s, "<no memory>"), "0x*")
}

// matches tells whether a value, so far as it is known, is the one wanted.
func matches(got, want string, depth int) bool {
	got, want = strings.TrimSpace(got), strings.TrimSpace(want)
	if got == want || depth > 0 && strings.HasPrefix(got, "<") {
		return true
	}
	if wanted, ok := strings.CutPrefix(want, "@0x*: "); ok {
		if got == "0x*" {
			return true // a reference to what has no address: nothing more is claimed
		}
		got = strings.TrimPrefix(strings.TrimPrefix(got, "@"), "0x*")
		return matches(strings.TrimPrefix(got, ":"), wanted, depth)
	}
	if symbol, ok := strings.CutPrefix(got, want); ok && strings.HasSuffix(want, "0x*") {
		return strings.HasPrefix(symbol, " <") || strings.HasPrefix(symbol, ": ") // whose name, or what it points to, the program does not print
	}
	if name, ok := strings.CutSuffix(got, " ("+want+")"); ok && constant.MatchString(name) { // nor a constant's name
		return true
	}
	if rest, ok := strings.CutPrefix(want, "0x* "); ok && strings.HasPrefix(got, "0x* ") {
		return matches(strings.TrimPrefix(got, "0x* "), rest, depth)
	}
	if sizeMatches(got, want) {
		return true
	}
	if strings.HasPrefix(got, "{") && strings.Contains(want, `"`) && !strings.HasPrefix(want, "{") {
		want = characters(want, len(elements(got[1:len(got)-1])))
	}
	gotHead, gotParts, ok := split(got)
	wantHead, wantParts, ok2 := split(want)
	if !strings.Contains(gotHead, ", cap ") {
		wantHead = goCapacity.ReplaceAllString(wantHead, ")") // not known
	}
	if !ok || !ok2 || gotHead != wantHead {
		return false
	}
	wantParts = withoutLost(gotParts, wantParts)
	if len(gotParts) != len(wantParts) {
		return false
	}
	if unordered(gotHead) {
		sort.Strings(gotParts)
		sort.Strings(wantParts)
	}
	for i := range gotParts {
		gotKey, gotValue := keyed(gotParts[i])
		wantKey, wantValue := keyed(wantParts[i])
		if gotKey != wantKey || !matches(gotValue, wantValue, depth+1) {
			return false
		}
	}
	return true
}

// withoutLost leaves out static members that the linker dropped: nothing used them.
func withoutLost(got, want []string) []string {
	return slices.DeleteFunc(want, func(w string) bool {
		name, _, ok := strings.Cut(w, " = ")
		return ok && strings.HasPrefix(name, "static ") && !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, name+" = ") })
	})
}

// unordered tells containers that have no order.
func unordered(head string) bool {
	return strings.Contains(head, "unordered") || strings.Contains(head, "Hash") || strings.HasPrefix(head, "map[")
}

// split takes "head{a, b}" apart; repeated parts stand there as often as they are.
func split(s string) (head string, parts []string, ok bool) {
	if s == "" || !strings.ContainsRune("})]", rune(s[len(s)-1])) {
		return "", nil, false
	}
	var open []int
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '(' || c == '[':
			open = append(open, i)
		case (c == '}' || c == ')' || c == ']') && len(open) > 0:
			at := open[len(open)-1]
			open = open[:len(open)-1]
			if i == len(s)-1 {
				return strings.TrimSpace(s[:at]) + s[at:at+1], elements(s[at+1 : i]), true
			}
		}
	}
	return "", nil, false
}

var goCapacity = regexp.MustCompile(`, cap \d+\)`)

var repeats = regexp.MustCompile(`^(.*) <repeats (\d+) times>$`)

// elements are the parts of a list.
func elements(s string) []string {
	var list []string
	for s != "" {
		n := valueLen(s)
		e := strings.TrimSpace(s[:n])
		s = strings.TrimPrefix(s[n:], ",")
		m := repeats.FindStringSubmatch(e)
		if m == nil {
			list = append(list, e)
			continue
		}
		times, _ := strconv.Atoi(m[2])
		for range min(times, 1000) {
			list = append(list, m[1])
		}
	}
	return list
}

var key = regexp.MustCompile(`^(\[[^\]]*\]|[A-Za-z_<][\w.:<>()]*) ?[=:] `)

// keyed takes "name = value" apart. gcc writes __ before the names of what a
// closure holds.
func keyed(part string) (name, value string) {
	if m := key.FindStringSubmatch(part); m != nil {
		return strings.TrimPrefix(m[1], "__"), part[len(m[0]):]
	}
	return "", part
}

// characters is a literal as a list of n characters: {97 'a', 0 '\000'}.
func characters(literal string, n int) string {
	prefix, quoted, _ := strings.Cut(literal, `"`)
	text, err := strconv.Unquote(`"` + quoted)
	if err != nil {
		return literal
	}
	values := []rune(text)
	if prefix == "" {
		values = nil
		for _, b := range []byte(text) {
			values = append(values, rune(b))
		}
	}
	list := make([]string, 0, n)
	for i := range n {
		v := rune(0)
		if i < len(values) {
			v = values[i]
		}
		list = append(list, fmt.Sprintf("%d %s%s", v, prefix, literalOf(v)))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

func literalOf(v rune) string {
	switch {
	case v == '\n':
		return `'\n'`
	case v == '\t':
		return `'\t'`
	case v < 0x20 || v >= 0x7f && v < 0x100:
		return fmt.Sprintf(`'\%03o'`, v)
	}
	return "'" + string(v) + "'"
}

var (
	wantSize = regexp.MustCompile(`^[\w&\[\]]+ ?\((?:size=|len )(\d+)`)
	leaf     = regexp.MustCompile(`\b(\w+)(?::| =) (?:\w+\()?(\d+)\b`)
)

// sizeMatches compares a string or a container of Rust of which only the size is known: its
// elements are beyond a pointer that is not. Anything else that is known of it
// has to be of its layout: its capacity, or where a queue begins.
func sizeMatches(got, want string) bool {
	if !strings.Contains(got, "<optimized out>") {
		return false
	}
	size := -1
	if m := wantSize.FindStringSubmatch(want); m != nil {
		size, _ = strconv.Atoi(m[1])
	} else if text, err := strconv.Unquote(want); err == nil {
		size = len(text)
	}
	sized := false
	for _, known := range leaf.FindAllStringSubmatch(got, -1) {
		n, _ := strconv.Atoi(known[2])
		switch name := known[1]; {
		case name == "len" || name == "length" || name == "_M_len" || name == "__size_":
			if n != size {
				return false
			}
			sized = true
		case name == "cap" && n >= size, name == "head" && strings.HasPrefix(want, "VecDeque"):
		default:
			return false
		}
	}
	return sized
}

// TestPrintout compares the values of the programs made for their variables with
// what they printed themselves. It asks no other tool.
func TestPrintout(t *testing.T) {
	for _, c := range fixture.Cases(t) {
		if !madeForVariables(c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			s := ofFixture(t, c)
			target := s.open(t)
			w, err := target.NewWalker()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			stack, _ := w.WalkStack(unwind.NullThread)
			n := 0
			eachVariable(target.Variables(), stack.Frames, func(function, name, text string) {
				switch how := s.printed.check(function, name, text); {
				case !hasValue(text):
				case how == proved:
					n++
				case how == disproved && debugInformationIsWrong(c.Name, function, name) == "":
					t.Errorf("%s: %s = %s\n  the program printed %s", function, name, text, s.printed[baseName(function)+"."+name])
				}
			})
			if n == 0 {
				t.Error("no value was compared")
			}
			t.Logf("%d values are those printed", n)
		})
	}
}

// eachVariable calls fn for every variable of a stack.
func eachVariable(r *dwarfvars.Reader, frames []*unwind.Frame, fn func(function, name, text string)) {
	for i := range frames {
		a, err := r.At(frames, i)
		if err != nil {
			continue
		}
		for _, s := range a.Live() {
			for _, list := range [][]*dwarfvars.LocalVar{s.Params, s.Locals} {
				for _, v := range list {
					fn(s.Function, v.Name, a.Read(v, dwarfvars.Options{}).String())
				}
			}
		}
		a.Close()
	}
}

// TestMatches checks the comparison itself: it has to tell wrong values.
func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		got, want string
		ok        bool
	}{
		{"5", "5", true},
		{"5", "6", false},
		{"<optimised out>", "6", false},
		{"{1, <optimised out>}", "{1, 2}", true},
		{"{3, <optimised out>}", "{1, 2}", false},
		{"{1}", "{1, 2}", false},
		{"{0 <repeats 3 times>, 1}", "{0, 0, 0, 1}", true},
		{"{0 <repeats 2 times>, 1}", "{0, 0, 0, 1}", false},
		{"{a = 1, b = {c = 2}}", "{a = 1, b = {c = 3}}", false},
		{"{a = 1, b = 2}", "{a = 1, c = 2}", false},
		{"{102 'f', <optimised out> <repeats 2 times>}", `"fo"`, true},
		{"{102 'f', 111 'o', 1 '\\001'}", `"fo"`, false},
		{"0x7ffd12345678", "0x*", true},
		{"0x0", "0x*", false},
		{"0x555555554123 <visit>", "0x* <visit>", true},
		{"0x555555554123 <other>", "0x* <visit>", false},
		{"0x555555554123 <visit>", "0x*", true},
		{`0x555555554123 "beta"`, `0x* "beta"`, true},
		{`(synthetic pointer) "alpha"`, `0x* "beta"`, false},
		{`0x555555554123 "alpha"`, `0x* "beta"`, false},
		{"(synthetic pointer)", "@0x*: 2", true},
		{"@0x7ffd12345678: 3", "@0x*: 2", false},
		{`map[int]string (len 2) = {[2] = "b", [1] = "a"}`, `map[int]string (len 2) = {[1] = "a", [2] = "b"}`, true},
		{`map[int]string (len 2) = {[2] = "b", [1] = "c"}`, `map[int]string (len 2) = {[1] = "a", [2] = "b"}`, false},
		{"std::map with 2 elements = {[2] = 1, [1] = 1}", "std::map with 2 elements = {[1] = 1, [2] = 1}", false},
		{"&str {data_ptr: <optimised out>, length: 3}", `"one"`, true},
		{"&str {data_ptr: <optimised out>, length: 4}", `"one"`, false},
		{"Vec {buf: RawVec {inner: {ptr: <optimised out>, cap: UsizeNoHighBit(3)}}, len: 3}", "Vec(size=3) = [1, 2, 3]", true},
		{"Vec {buf: RawVec {inner: {ptr: <optimised out>, cap: UsizeNoHighBit(3)}}, len: 4}", "Vec(size=3) = [1, 2, 3]", false},
		{"Vec(size=3) = [1, 2, 4]", "Vec(size=3) = [1, 2, 3]", false},
		{`[]string (len 2) = {"one", "two"}`, `[]string (len 2, cap 2) = {"one", "two"}`, true},
		{`[]string (len 2, cap 3) = {"one", "two"}`, `[]string (len 2, cap 2) = {"one", "two"}`, false},
		{"{array = <optimised out>, len = 3, cap = <optimised out>}", "[]int (len 3, cap 3) = {1, 2, 3}", true},
		{"{array = <optimised out>, len = 4, cap = <optimised out>}", "[]int (len 3, cap 3) = {1, 2, 3}", false},
		{"{a = 1}", "{a = 1, static b = 2}", true},
		{"{a = 1, static b = 3}", "{a = 1, static b = 2}", false},
		{"{static b = 2}", "{a = 1, static b = 2}", false},
		{"{get() = <optimised out>}", "{get() = 0x*}", true},
		{"(synthetic pointer) 3", "@0x*: 2", false},
		{"(synthetic pointer) 2", "@0x*: 2", true},
		{"(1, &str {data_ptr: <rax not recovered>, length: 3}, 3.5)", `(1, "two", 3.5)`, true},
		{"Shape::Line(<optimised out>, 8)", "Shape::Line(8, -8)", false},
	} {
		if got := matches(starred(tc.got), starred(tc.want), 0); got != tc.ok {
			t.Errorf("%s and the printed %s: %v", tc.got, tc.want, got)
		}
	}
}
