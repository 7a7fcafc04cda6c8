package mono_test

import (
	"bytes"
	"os"
	"os/exec"
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

var casePattern = regexp.MustCompile(`(?m)^      \{"([a-z-]+)"`)

var monos = judged.Search{Env: "COREWALK_MONOS", Names: []string{"mono"}, Missing: "mono-runtime, mono-mcs", Version: []string{"--version=number"}}

// TestJudge compares the calls of a program that dies in a function of C with those that Mono's own report has of the thread.
func TestJudge(t *testing.T) {
	p := monos.All(t)[0]
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	exe := program(t)
	cases := casePattern.FindAllSubmatch(text, -1)
	if !fixture.IsLongRun() {
		cases = slices.DeleteFunc(cases, func(c [][]byte) bool {
			return !slices.Contains([]string{"generic", "three-callbacks", "domain"}, string(c[1]))
		})
	}
	same, total := 0, 0
	for _, c := range cases {
		s, n := judge(t, p, exe, string(c[1]))
		same, total = same+s, total+n
	}
	t.Logf("%d of %d calls are the same", same, total)
}

// source is what the programs are made of.
const source = "testdata/judge.cs"

// program compiles it.
func program(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("mcs"); err != nil {
		t.Skip("not installed: mono-mcs")
	}
	dir := fixture.Made(t, []string{"mcs"}, []string{source}, func(dir string) {
		if out, err := exec.Command("mcs", "-out:"+filepath.Join(dir, "judge.exe"), source).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	})
	return filepath.Join(dir, "judge.exe")
}

// dies runs a case, and returns the core and what Mono says.
func dies(t *testing.T, p judged.Interpreter, exe, name string) (core string, said []byte) {
	t.Helper()
	dir := t.TempDir()
	out, _ := p.Command(dir, exe, name).CombinedOutput()
	return fixture.CoreIn(t, dir), out
}

func judge(t *testing.T, p judged.Interpreter, exe, name string) (same, total int) {
	t.Helper()
	core, out := dies(t, p, exe, name)
	said := managed(out)
	if len(said) < 2 {
		t.Errorf("%s: Mono says nothing: %.300q", name, out)
		return 0, 1
	}
	r := p.Analyze(t, core, corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	if !strings.HasPrefix(r.Crash.Reason, "SIGSEGV caught: ") || r.Crash.Address == nil || *r.Crash.Address != 16 {
		t.Errorf("%s: %s", name, r.Crash.Reason)
	}
	i := slices.IndexFunc(r.Threads, func(t report.Thread) bool { return t.Crashed })
	if i < 0 {
		t.Fatalf("%s: no thread crashed", name)
	}
	var got []string
	for _, f := range r.Threads[i].Frames {
		switch {
		case f.Module == "" && strings.Contains(f.Function, ":"):
			got = append(got, short(f.Function))
		case strings.HasSuffix(f.Module, ".dll.so") && !strings.HasPrefix(f.Function, "plt_"): // compiled ahead of time: named by its symbols
			got = append(got, f.Function)
		}
	}
	for i := range max(len(said), len(got)) {
		switch {
		case i >= len(said), i >= len(got), said[i] != got[i] && !symbol(got[i], said[i]):
			t.Errorf("%s: calls %q, Mono says %q", name, got, said)
			return i, max(len(said), len(got))
		}
	}
	return len(said), len(said)
}

// managed returns the calls that Mono prints, youngest first, without those of C.
func managed(out []byte) []string {
	_, text, _ := bytes.Cut(out, []byte("Managed Stacktrace:"))
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^\t +at (\S.*) <0x`).FindAllSubmatch(text, -1) {
		if name := string(m[1]); name != "<unknown>" {
			list = append(list, name)
		}
	}
	return list
}

// symbol reports whether a symbol of code that was compiled ahead of time is of a method: its characters that C has not are _.
func symbol(symbol, name string) bool {
	_, method, _ := strings.Cut(name, ":")
	return !strings.Contains(symbol, ":") && strings.Contains(symbol, "_"+strings.Map(func(c rune) rune {
		if strings.ContainsRune(".:`<>,/", c) {
			return '_'
		}
		return c
	}, method))
}

// short is a name as that list has it: without what kind of wrapper it is, and what classes are around the method's.
func short(name string) string {
	if strings.HasPrefix(name, "(") {
		_, name, _ = strings.Cut(name, ") ")
	}
	class, method, _ := strings.Cut(name, ":")
	if i := strings.LastIndexByte(class, '/'); i >= 0 {
		class = class[i+1:]
	}
	return class + ":" + method
}
