package lua_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// all returns the interpreters of Lua of this machine, and those that COREWALK_LUAS lists, by their versions.
func all(t *testing.T) map[string]string {
	t.Helper()
	fixture.Tools(t)
	list := filepath.SplitList(os.Getenv("COREWALK_LUAS"))
	for _, v := range []string{"lua5.1", "lua5.2", "lua5.3", "lua5.4"} {
		if p, err := exec.LookPath(v); err == nil {
			list = append(list, p)
		}
	}
	found := map[string]string{}
	for _, p := range list {
		out, err := exec.Command(p, "-v").CombinedOutput()
		f := strings.Fields(string(out))
		if err != nil || len(f) < 2 {
			t.Fatalf("%s: %v\n%s", p, err, out)
		}
		found[f[1]] = p
	}
	if len(found) == 0 {
		t.Skip("no Lua is installed: lua5.1 lua5.2 lua5.3 lua5.4")
	}
	return found
}

// files shares what was read of files between the tests.
var files = sync.OnceValue(func() corewalk.Option { return corewalk.WithCache(corewalk.NewCache(context.Background(), 0)) })

func analyze(t *testing.T, core string, o corewalk.AnalyzeOptions) *report.Report {
	t.Helper()
	target, err := corewalk.Open(t.Context(), core, files())
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var casePattern = regexp.MustCompile(`(?m)^cases\["([a-z-]+)"\]`)

// cases are those of judge.lua.
func cases(t *testing.T) (list []string) {
	t.Helper()
	b, err := os.ReadFile("testdata/judge.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range casePattern.FindAllStringSubmatch(string(b), -1) {
		list = append(list, m[1])
	}
	return list
}

// TestJudge compares the calls of a program that dies with what debug.traceback says of them.
func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs Lua")
	}
	for version, exe := range all(t) {
		t.Run(version, func(t *testing.T) {
			same, total := 0, 0
			for _, name := range cases(t) {
				s, n := judge(t, exe, name)
				same, total = same+s, total+n
			}
			t.Logf("%d of %d calls of %d cases are the same", same, total, len(cases(t)))
			if total == 0 || same != total {
				t.Errorf("%d of %d calls are the same", same, total)
			}
		})
	}
}

func judge(t *testing.T, exe, name string) (same, total int) {
	t.Helper()
	dir := t.TempDir()
	program, err := filepath.Abs("testdata/judge.lua")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := fixture.Dies(dir, exe, program, name).CombinedOutput() // fails: it dies
	b, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
		return 0, 1
	}
	var said []string
	for line := range strings.Lines(string(b)) {
		line = plainTrace(strings.TrimSuffix(line, "\n"))
		if n := len(said); n > 0 && line == lost && said[n-1] == lost { // 5.1 has a line for each
			continue
		}
		said = append(said, line)
	}
	r := analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
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
	if strings.Contains(exe, "5.1") && len(got) > total { // it does not say the main thread's
		got = got[:total]
	}
	for i := range said {
		if i < len(got) && got[i] == said[i] {
			same++
		}
	}
	if len(got) != len(said) || same != total {
		t.Logf("%s: %d of %d\n%s\nLua says\n%s", name, same, total, first(got, 14), first(said, 14))
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

func first(list []string, n int) string { return strings.Join(list[:min(n, len(list))], "\n") }
