package coro_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/tasks"
)

// build compiles a program; the test is skipped without the compiler.
func build(t *testing.T, source, compiler string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("%s is not installed: Debian's g++, clang-19, rustc", compiler)
	}
	exe := filepath.Join(t.TempDir(), "program")
	args := append(slices.Clone(flags), "-g", "-o", exe, "../../../testdata/src/tasks/"+source)
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Skipf("%s %v: %v: %s", compiler, args, err, out)
	}
	return exe
}

// list runs a program until it aborts and lists the tasks of its core in lines: id left out.
func list(t *testing.T, exe string) (lines []string, all []*tasks.Task) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", "ulimit -c unlimited; exec \"$@\"", "sh", exe)
	cmd.Dir = dir
	cmd.Run()
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) == 0 {
		t.Skip("the kernel writes no core here: /proc/sys/kernel/core_pattern")
	}
	ctx := context.Background()
	target, err := corewalk.Open(ctx, cores[0], corewalk.WithExecutable(exe))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for task, err := range target.Tasks(ctx) {
		if err != nil {
			t.Error(err)
			continue
		}
		if task.Kind == tasks.KindThread {
			continue
		}
		all = append(all, task)
		lines = append(lines, line(task))
	}
	slices.Sort(lines)
	return lines, all
}

func line(t *tasks.Task) string {
	var b strings.Builder
	b.WriteString(t.Status)
	if t.Certainty == tasks.Possible {
		b.WriteString("?")
	}
	for i := range t.Suspended {
		f := &t.Suspended[i]
		fmt.Fprintf(&b, " < %s:%d", f.Function, f.Line)
		if f.Approximate {
			b.WriteString("~")
		}
		if f.Awaits == tasks.Possible {
			b.WriteString("?")
		}
		for _, v := range slices.Concat(f.Args, f.Locals) {
			if !strings.HasPrefix(v.Value, "0x") {
				fmt.Fprintf(&b, " %s=%s", v.Name, v.Value)
			}
		}
	}
	return b.String()
}

// TestCoroutines: what each compiler's coroutines tell.
func TestCoroutines(t *testing.T) {
	gcc := []string{
		"done < finished:121~",
		"suspended < count:82 from=3 to=100 i=4 square=16",
		"suspended < main::{lambda(int)#2}::operator():135 arg=5",
		"suspended? < leaf:63 depth=2 local=14 < middle:69 depth=1 saved=101 < top:75",
		"suspended? < pooled:112 number=7",
	}
	clang := []string{
		"done < finished:121~",
		"suspended < count:82 from=3 to=100 i=4 square=16",
		"suspended < main::$_1::operator():135 arg=5",
		"suspended? < leaf:63 depth=2 local=14 < middle:69 depth=1 saved=101 < top:75",
		"suspended? < pooled:112 number=7",
		"suspended? < stale:117 number=8",
	}
	// Clang 19 describes no frames of optimised code; the frames of finished were optimised away.
	clangO2 := []string{
		"suspended < count:82",
		"suspended < main::$_1::operator():135",
		"suspended? < leaf:63 < middle:69 < top:75",
		"suspended? < pooled:112",
		"suspended? < stale:117",
	}
	for _, c := range []struct {
		compiler, level string
		want            []string
	}{
		{"g++", "-O0", gcc},
		{"g++", "-O2", gcc},
		{"clang++-14", "-O0", clang},
		{"clang++-19", "-O0", clang},
		{"clang++-19", "-O2", clangO2},
	} {
		t.Run(c.compiler+c.level, func(t *testing.T) {
			t.Parallel()
			got, _ := list(t, build(t, "coroutines.cpp", c.compiler, "-std=c++20", "-pthread", c.level))
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}
