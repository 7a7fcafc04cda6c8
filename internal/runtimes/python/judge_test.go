package python_test

import (
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	pythons "github.com/corewalk/corewalk/internal/runtimes/python"
	"github.com/corewalk/corewalk/report"
)

// interpreters returns the CPythons of this machine, each by its version, and those that COREWALK_PYTHONS lists: files named
// python3.14.1 or the like.
func interpreters(t *testing.T) map[string]string {
	t.Helper()
	fixture.Tools(t)
	home, _ := os.UserHomeDir()
	found, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	out := map[string]string{}
	for _, p := range found {
		out[filepath.Base(filepath.Dir(filepath.Dir(p)))] = p
	}
	for _, p := range filepath.SplitList(os.Getenv("COREWALK_PYTHONS")) {
		out[strings.TrimPrefix(filepath.Base(p), "python")] = p
	}
	if p, err := exec.LookPath("python3"); err == nil && len(out) == 0 {
		out[versionOf(t, p)] = p
	}
	if len(out) == 0 {
		t.Skip("no CPython is installed: neither ~/.pyenv/versions nor python3")
	}
	return out
}

// versionOf asks an interpreter for its version: its name may not tell.
func versionOf(t *testing.T, python string) string {
	t.Helper()
	out, err := exec.Command(python, "-I", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// inSample are those interpreters of which tests ask at every change; in the long run all. TestJudge compares stacks of all.
func inSample(t *testing.T) map[string]string {
	t.Helper()
	all := interpreters(t)
	if len(all) == 1 {
		return all
	}
	maps.DeleteFunc(all, func(version, _ string) bool { return !pythons.InSample(t, version) })
	if len(all) == 0 {
		t.Skip("no CPython of the sample is installed: make test-long asks the others")
	}
	return all
}

// sampled are every other one of inSample, some tests the first and some the second: an older one and a newer one for each test, and each of them for
// half of the tests. In the long run all.
func sampled(t *testing.T) map[string]string {
	t.Helper()
	all := inSample(t)
	if fixture.IsLong(t) {
		return all
	}
	first := 0
	if fixture.InTurn(t.Name(), 0, 2) {
		first = 1
	}
	for i, version := range byRelease(all) {
		if len(all) > 2 && i%2 != first {
			defer delete(all, version)
		}
	}
	return all
}

// outermost are the oldest and the newest of inSample; in the long run all.
func outermost(t *testing.T) map[string]string {
	t.Helper()
	all := inSample(t)
	if fixture.IsLong(t) {
		return all
	}
	versions := byRelease(all)
	maps.DeleteFunc(all, func(version, _ string) bool { return version != versions[0] && version != versions[len(versions)-1] })
	return all
}

// byRelease are the versions of interpreters, from old to new.
func byRelease(all map[string]string) []string {
	minor := func(version string) int {
		n, _ := strconv.Atoi(strings.TrimRight(strings.Split(version+".", ".")[1], "mt"))
		return n
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int { return minor(a) - minor(b) })
}

// listed reports whether a CPython is of COREWALK_PYTHONS: it may have no symbols but those that it exports.
func listed(python string) bool {
	return slices.Contains(filepath.SplitList(os.Getenv("COREWALK_PYTHONS")), python)
}

// dump runs a program of testdata until it dies, and returns its core. What it wrote is in the same directory.
func dump(t *testing.T, python, program string, args ...string) string {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("testdata", program))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out, _ := fixture.Dies(dir, python, append([]string{program}, args...)...).CombinedOutput() // fails: it dies
	if _, err := os.Stat(filepath.Join(dir, "said.json")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return fixture.CoreIn(t, dir)
}

// files shares what was read of the interpreters' files and of the libraries between the tests.
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

// calls returns the Python calls of a thread, as faulthandler writes them.
func calls(th *report.Thread) []string {
	var out []string
	for _, f := range th.Frames {
		if f.Language == "python" {
			out = append(out, fmt.Sprintf("%s %s:%d", f.Function, f.Source.File, f.Source.Line))
		}
	}
	return out
}

// TestJudge compares the calls of each thread with what the process itself says of them: all of them with the chain of
// its frame objects, and the first 100 with faulthandler's.
func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	for version, python := range interpreters(t) {
		for _, how := range []string{"flat", "deep"} {
			t.Run(version+"/"+how, func(t *testing.T) {
				if !pythons.InSample(t, version) {
					t.Skip("make test-long asks all releases")
				}
				t.Parallel()
				core := dump(t, python, "judge.py", "said", how)
				dir := filepath.Dir(core)
				r := analyze(t, core, corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
				var said [][][3]any
				b, err := os.ReadFile(filepath.Join(dir, "said.json"))
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(b, &said); err != nil {
					t.Fatal(err)
				}
				var want []string
				total := 0
				for _, th := range said {
					var list []string
					for _, c := range th {
						list = append(list, fmt.Sprintf("%s %s:%v", c[0], c[1], c[2]))
					}
					total += len(list)
					want = append(want, strings.Join(list, "\n"))
				}
				var got []string
				for i := range r.Threads {
					list := calls(&r.Threads[i])
					if !qualifies(version) {
						plain(list)
					}
					got = append(got, strings.Join(list, "\n"))
				}
				slices.Sort(want)
				slices.Sort(got)
				t.Logf("%d calls", total)
				if !slices.Equal(got, want) {
					t.Errorf("of %d calls:\n%s\nthe process says:\n%s", total, strings.Join(got, "\n\n"), strings.Join(want, "\n\n"))
				}
				faulthandler(t, dir, r)
				if !listed(python) {
					order(t, r)
				}
			})
		}
	}
}

// qualifies reports whether code objects of a release have qualified names, so that a process says them.
func qualifies(version string) bool {
	return !slices.ContainsFunc([]string{"3.6.", "3.7.", "3.8.", "3.9.", "3.10."}, func(v string) bool { return strings.HasPrefix(version, v) })
}

// plain leaves of the functions of calls their own names.
func plain(calls []string) []string {
	for i := range calls {
		name, place, _ := strings.Cut(calls[i], " ")
		calls[i] = name[strings.LastIndexByte(name, '.')+1:] + " " + place
	}
	return calls
}

var handlerLine = regexp.MustCompile(`File "(.*)", line (\d+) in (.*)`)

// faulthandler compares the crashed thread with what faulthandler wrote.
func faulthandler(t *testing.T, dir string, r *report.Report) {
	b, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	_, current, _ := strings.Cut(string(b), "Current thread ")
	var want []string
	for _, m := range handlerLine.FindAllStringSubmatch(current, -1) {
		want = append(want, m[3]+" "+m[1]+":"+m[2])
	}
	got := plain(calls(&r.Threads[0]))
	if len(want) == 0 || len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("%s\nfaulthandler:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// order checks that C and Python are in the right order: the sort of a list calls __lt__, and map a lambda; and that
// the native frames under the calls are all there.
func order(t *testing.T, r *report.Report) {
	var seen []string
	physical := -1
	evals := 0
	for _, f := range r.Threads[0].Frames {
		if f.Language == "" {
			if f.Physical != physical && f.Physical != physical+1 {
				t.Errorf("native frame %d follows %d", f.Physical, physical)
			}
			physical = f.Physical
			if f.Function == "_PyEval_EvalFrameDefault" {
				if evals++; !f.Folded {
					t.Errorf("frame %d runs Python, and is not folded", f.Index)
				}
			}
		}
		name := f.Function[strings.LastIndexByte(f.Function, '.')+1:]
		if f.Language == "" && !strings.HasPrefix(name, "list_sort") && !strings.HasPrefix(name, "listsort") && !strings.HasPrefix(name, "builtin_sorted") && !strings.HasPrefix(name, "map_next") {
			continue
		}
		for _, want := range []string{"map_next", "list", "builtin_sorted", "numbers", "inner", "__lt__", "pay"} {
			if (name == want || f.Language == "" && strings.HasPrefix(name, want)) && (len(seen) == 0 || seen[len(seen)-1] != want) {
				seen = append(seen, want)
			}
		}
	}
	want := []string{"numbers", "map_next", "inner", "__lt__", "list", "builtin_sorted", "pay"}
	if !slices.Contains(seen, "map_next") && !slices.Contains(seen, "list") && stripped(r) {
		want = []string{"numbers", "inner", "__lt__", "pay"} // the functions of C are local to their files, and have no names
	}
	if evals == 0 || !slices.Equal(slices.Compact(seen), want) {
		t.Errorf("the order is %v, want %v", seen, want)
	}
}

// stripped reports whether the interpreter, and its library if it has one, have no symbols of functions local to files.
func stripped(r *report.Report) bool {
	n := 0
	for _, m := range r.Modules {
		if base := filepath.Base(m.Path); !strings.HasPrefix(base, "python3") && !strings.HasPrefix(base, "libpython3") {
			continue
		}
		f, err := elf.Open(m.Path)
		if err != nil {
			return false
		}
		n++
		whole := f.Section(".symtab") != nil
		f.Close()
		if whole {
			return false
		}
	}
	return n > 0
}
