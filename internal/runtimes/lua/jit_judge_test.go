package lua_test

import (
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

var jitInterpreters = judged.Search{Env: "COREWALK_LUAJITS", Names: []string{"luajit"}, Version: []string{"-v"}, Missing: "luajit"}

// TestJudgeJIT compares the calls of programs that die in LuaJIT, compiled and not, with what debug.traceback says of them.
func TestJudgeJIT(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs LuaJIT")
	}
	for _, p := range jitInterpreters.All(t) {
		for _, mode := range []string{"-jon", "-joff"} {
			t.Run(filepath.Base(filepath.Dir(filepath.Dir(p.Exe)))+mode, func(t *testing.T) {
				same, total := 0, 0
				for _, program := range []string{"jitjudge.lua", "judge.lua"} {
					for _, name := range judged.Cases(t, program, casePattern) {
						s, n := judgeJIT(t, p, mode, program, name)
						same, total = same+s, total+n
					}
				}
				t.Logf("%d of %d calls are the same", same, total)
				if total == 0 || same != total {
					t.Errorf("%d of %d calls are the same", same, total)
				}
			})
		}
	}
}

// nativePattern is a function of C that debug.traceback has no name for.
var nativePattern = regexp.MustCompile(`^(\[C\]|\[builtin#\d+\]): at 0x`)

// linePattern is the line of a call.
var linePattern = regexp.MustCompile(`:\d+ `)

func judgeJIT(t *testing.T, p judged.Interpreter, mode, program, name string) (same, total int) {
	t.Helper()
	dir := p.Dir(t, program)
	b, ok := p.Run(t, dir, name, mode, filepath.Join(strings.TrimPrefix(dir, p.Root), program), name)
	if !ok {
		return 0, 1
	}
	var said []string
	for line := range strings.Lines(b) {
		line = strings.TrimSuffix(line, "\n")
		if nativePattern.MatchString(line) {
			said = append(said, "?")
			continue
		}
		if strings.HasPrefix(line, "[builtin:") { // without a line
			line = strings.Replace(line, "]: ", "]:0: ", 1)
		}
		said = append(said, plainTrace(line))
	}
	r := p.Analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
	var got []string
	all := slices.DeleteFunc(slices.Clone(r.Threads[0].Frames), func(f report.Frame) bool { return f.Language != "lua" })
	dies := func(f report.Frame) bool { // which writes the trace, and dies
		return slices.ContainsFunc(f.Locals, func(v report.Variable) bool { return v.Name == "a" && v.Value == `"text"` })
	}
	compiled := strings.HasPrefix(name, "trace")
	if i := slices.IndexFunc(all, dies); i >= 0 {
		all = all[i+1:]
	} else if compiled && len(all) > 0 && (all[0].Function == "__newindex" || all[0].Function == "memset") { // of the ffi, interpreted
		all = all[1:]
	} else if !compiled {
		t.Errorf("%s: no variables of dies", name)
	}
	if compiled && mode == "-jon" && !slices.ContainsFunc(all, func(f report.Frame) bool { return f.Kind == report.KindJIT }) {
		t.Errorf("%s: no call is compiled", name)
	}
	for i := range all {
		got = append(got, plainCall(&all[i]))
	}
	// LuaJIT does not say the main thread's, of a coroutine; finalizers have one of their own since 2025.
	if len(got) > len(said) && (name == "callbacks" || name == "coroutines" || name == "finalizer") {
		got = got[:len(said)]
	}
	if early := strings.Contains(p.Version, "-2017 "); early && compiled && mode == "-jon" && len(got) > 0 && len(got) <= len(said) {
		// Its snapshots do not say for which code they are: what the youngest has called is not known, nor where it is.
		said = said[len(said)-len(got):]
		got[0], said[0] = linePattern.ReplaceAllString(got[0], " "), linePattern.ReplaceAllString(said[0], " ")
	}
	for i := range said {
		if i >= len(got) {
			break
		}
		if got[i] == said[i] || said[i] == "?" && !strings.Contains(got[i], ":") {
			same++
		} else {
			t.Logf("%s %d: %s, Lua says %s", name, i, got[i], said[i])
		}
	}
	total = len(said)
	if len(got) > len(said) {
		total += len(got) - len(said)
	}
	if same != total {
		t.Logf("%s: %d of %d\n%s\nLua says\n%s", name, same, total, judged.First(got, 24), judged.First(said, 24))
		for _, w := range r.Warnings {
			t.Logf("%s: %s", w.Code, w.Message)
		}
	}
	return same, total
}
