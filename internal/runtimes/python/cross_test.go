package python_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// crossing builds the module for a CPython, runs the program in a mode, and reads its core. The module has no symbols but
// its own.
func crossing(t *testing.T, python, mode string) (*report.Report, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	include, err := exec.CommandContext(ctx, python, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	headers := strings.TrimSpace(string(include))
	if _, err := os.Stat(filepath.Join(headers, "Python.h")); err != nil {
		t.Skipf("Python.h of %s is not installed: Debian's python3-dev", python)
	}
	source, _ := filepath.Abs("testdata/cross.c")
	program, _ := filepath.Abs("testdata/cross.py")
	if out, err := exec.CommandContext(ctx, "gcc", "-g", "-O0", "-shared", "-fPIC", "-I"+headers, "-o", filepath.Join(dir, "cross.so"), source).CombinedOutput(); err != nil {
		t.Skipf("gcc: %v: %s", err, out)
	}
	_ = fixture.Dies(dir, python, program, mode).Run()
	return analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone}), dir
}

// TestCrossings: a crash in a C extension that Python called, that C called, three times over: C and Python in the right order,
// and of all threads the calls that faulthandler wrote.
func TestCrossings(t *testing.T) {
	fixture.Long(t)
	for version, python := range interpreters(t) {
		t.Run(version, func(t *testing.T) {
			r, dir := crossing(t, python, "die")
			var seen []string
			for _, f := range r.Threads[0].Frames {
				if f.Language == "python" || strings.HasPrefix(f.Function, "cross_") {
					seen = append(seen, f.Function[strings.LastIndexByte(f.Function, '.')+1:])
				}
			}
			want := []string{"cross_die", "last", "<lambda>", "cross_call", "middle", "cross_call", "<listcomp>", "pay", "cross_call", "first", "<module>"}
			if !slices.Contains(seen, "<listcomp>") { // 3.12 has no frame for it
				want = slices.Delete(want, 6, 7)
			}
			if !slices.Equal(seen, want) {
				t.Errorf("the order is %q, want %q", seen, want)
			}
			said, err := os.ReadFile(filepath.Join(dir, "said"))
			if err != nil {
				t.Fatal(err)
			}
			var threads [][]string
			for _, part := range regexp.MustCompile(`(?m)^(Current t|T)hread .*$`).Split(string(said), -1)[1:] {
				var list []string
				for _, m := range handlerLine.FindAllStringSubmatch(part, -1) {
					list = append(list, m[3]+" "+m[1]+":"+m[2])
				}
				threads = append(threads, list)
			}
			var got [][]string
			for i := range r.Threads {
				list := calls(&r.Threads[i])
				for k := range list {
					name, place, _ := strings.Cut(list[k], " ")
					list[k] = name[strings.LastIndexByte(name, '.')+1:] + " " + place
				}
				if len(list) > 0 {
					got = append(got, list)
				}
			}
			order := func(a, b []string) int { return strings.Compare(strings.Join(a, "\n"), strings.Join(b, "\n")) }
			slices.SortFunc(threads, order)
			slices.SortFunc(got, order)
			if len(threads) != 2 || !slices.EqualFunc(got, threads, slices.Equal[[]string]) {
				t.Errorf("got %q\nfaulthandler has %q", got, threads)
			}
		})
	}
}

// TestEndless: C and Python call each other until the stack is full. From 3.12 on Python has a limit for that, which no
// program can raise.
func TestEndless(t *testing.T) {
	fixture.Long(t)
	for version, python := range interpreters(t) {
		if minor, _ := strconv.Atoi(strings.Split(version+".", ".")[1]); minor >= 12 {
			continue
		}
		t.Run(version, func(t *testing.T) {
			r, _ := crossing(t, python, "endless")
			if r.Crash.Kind != report.CrashStackOverflow {
				t.Fatalf("%s (%s), want a stack overflow", r.Crash.Reason, r.Crash.Kind)
			}
			python, c := 0, 0
			for _, f := range r.Threads[0].Frames {
				switch {
				case f.Language == "python" && f.Function == "endless":
					python++
				case f.Function == "cross_call":
					c++
				}
			}
			if python < 1000 || max(python-c, c-python) > 2 {
				t.Errorf("%d calls of endless, %d of cross_call", python, c)
			}
		})
	}
}
