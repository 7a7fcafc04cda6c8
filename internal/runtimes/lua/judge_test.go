package lua_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/judged"
	"github.com/corewalk/corewalk/report"
)

var interpreters = judged.Search{Env: "COREWALK_LUAS", Names: []string{"lua5.1", "lua5.2", "lua5.3", "lua5.4"}, Version: []string{"-v"}, Missing: "lua5.1 lua5.2 lua5.3 lua5.4"}

// all returns the interpreters of Lua by their versions.
func all(t *testing.T) map[string]judged.Interpreter {
	t.Helper()
	found := map[string]judged.Interpreter{}
	for _, p := range interpreters.All(t) {
		f := strings.Fields(p.Version) // Lua 5.4.6  Copyright
		if len(f) < 2 {
			t.Fatalf("%s: %s", p.Exe, p.Version)
		}
		found[f[1]] = p
	}
	return found
}

var casePattern = regexp.MustCompile(`(?m)^cases\["([a-z-]+)"\]`)

// TestJudge compares the calls of a program that dies with what debug.traceback says of them.
func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs Lua")
	}
	for version, p := range all(t) {
		t.Run(version, func(t *testing.T) {
			same, total := 0, 0
			for _, name := range judged.Cases(t, "judge.lua", casePattern) {
				s, n := judge(t, p, name)
				same, total = same+s, total+n
			}
			t.Logf("%d of %d calls of %d cases are the same", same, total, len(judged.Cases(t, "judge.lua", casePattern)))
			if total == 0 || same != total {
				t.Errorf("%d of %d calls are the same", same, total)
			}
		})
	}
}

func judge(t *testing.T, p judged.Interpreter, name string) (same, total int) {
	t.Helper()
	dir := p.Dir(t, "judge.lua")
	b, ok := p.Run(t, dir, name, filepath.Join(strings.TrimPrefix(dir, p.Root), "judge.lua"), name)
	if !ok {
		return 0, 1
	}
	var said []string
	for line := range strings.Lines(b) {
		line = plainTrace(strings.TrimSuffix(line, "\n"))
		if n := len(said); n > 0 && line == lost && said[n-1] == lost { // 5.1 has a line for each
			continue
		}
		said = append(said, line)
	}
	r := p.Analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
	var got []string
	own := 0 // functions with which the program writes its own trace, and dies
	for _, f := range r.Threads[0].Frames {
		if f.Language != "lua" {
			continue
		}
		if own++; own > 3 {
			got = append(got, plainCall(&f))
		}
		if own == 3 && (len(f.Args)+len(f.Locals) < 3 || !slices.ContainsFunc(f.Locals, func(v report.Variable) bool { return v.Name == "a" && v.Value == `"text"` })) {
			t.Errorf("%s: variables of dies: %+v %+v", name, f.Args, f.Locals)
		}
	}
	total = len(said)
	if strings.HasPrefix(p.Version, "Lua 5.1") && len(got) > total { // it does not say the main thread's
		got = got[:total]
	}
	for i := range said {
		if i < len(got) && got[i] == said[i] {
			same++
		}
	}
	if len(got) != len(said) || same != total {
		t.Logf("%s: %d of %d\n%s\nLua says\n%s", name, same, total, judged.First(got, 14), judged.First(said, 14))
		for _, w := range r.Warnings {
			t.Logf("%s: %s", w.Code, w.Message)
		}
	}
	if len(got) > len(said) {
		total += len(got) - len(said)
	}
	return same, total
}

const lost = "(...tail calls...)"

var (
	tracePattern = regexp.MustCompile(`^(.*?):(?:(\d+):)? (?:in )?(.*)$`)
	namePattern  = regexp.MustCompile(`^(?:function|local|upvalue|method|field|metamethod|global|constant|hook|for iterator) '(.*)'$`)
	pathPattern  = regexp.MustCompile(`(\.\.\.|/)[^ "<>:]*/`)
)

// plainTrace is a line of a trace without what depends on the version and the directory.
func plainTrace(line string) string {
	if line == lost || strings.HasPrefix(line, "(tail call)") {
		return lost
	}
	m := tracePattern.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	file, at, name := m[1], m[2], m[3]
	if strings.HasPrefix(line, "[builtin:") {
		return strings.Replace(strings.TrimSuffix(line, "'"), "]:0: in function '", "]:0 ", 1)
	}
	if strings.HasPrefix(line, "[string") {
		end := strings.Index(line, `"]:`) + 2
		rest := tracePattern.FindStringSubmatch("x" + line[end:])
		file, at, name = line[:end], rest[2], rest[3]
	}
	if q := namePattern.FindStringSubmatch(name); q != nil {
		name = strings.TrimPrefix(q[1], "_G.")
	}
	if file == "[C]" {
		return name
	}
	return short(file) + ":" + at + " " + short(name)
}

func plainCall(f *report.Frame) string {
	if f.Source.File == "" {
		return f.Function
	}
	return fmt.Sprintf("%s:%d %s", short(f.Source.File), f.Source.Line, short(f.Function))
}

// short is a file's name without its directory, which Lua cuts.
func short(name string) string {
	if strings.Contains(name, "[string") {
		return name
	}
	return pathPattern.ReplaceAllString(name, "")
}
