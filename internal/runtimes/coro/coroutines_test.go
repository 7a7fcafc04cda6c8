package coro_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
)

// build compiles a program; the test is skipped without the compiler.
func build(t *testing.T, source, compiler string, flags ...string) string {
	t.Helper()
	return fixture.Compile(t, compiler, "tasks/"+source, append(slices.Clip(flags), "-g")...)
}

// list lists the tasks of a program that aborted, but for threads, in lines without their ids.
func list(t *testing.T, exe string) (lines []string, all []*tasks.Task) {
	t.Helper()
	ctx := context.Background()
	target, err := corewalk.Open(ctx, fixture.Crash(t, nil, exe), corewalk.WithExecutable(exe))
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
			if !(c.compiler == "g++" && c.level == "-O0" || c.compiler == "clang++-19" && c.level == "-O2") { // each layout of frames, and frames that nothing describes
				fixture.Long(t)
			}
			t.Parallel()
			got, _ := list(t, build(t, "coroutines.cpp", c.compiler, "-std=c++20", "-pthread", c.level))
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

// TestFutures: what async functions of Rust tell. A future that is pinned on a stack without a Box is not found.
func TestFutures(t *testing.T) {
	want := []string{
		"not begun? < futures::top:29~ name=\"not begun\"",
		"suspended? < futures::leaf:19 depth=2 local=14 < futures::middle:25 depth=1 saved=101 < futures::top:30 name=\"outer\"",
		"suspended? < futures::leaf:19 depth=6 local=42 < futures::both:49? < futures::main::{async_block#0}:64",
		"suspended? < futures::leaf:19 depth=6 local=42 < futures::middle:25 depth=5 saved=105 < futures::both:49? < futures::main::{async_block#0}:64",
	}
	for _, level := range []string{"0", "3"} {
		t.Run("opt-level="+level, func(t *testing.T) {
			t.Parallel()
			got, all := list(t, build(t, "futures.rs", "rustc", "--crate-name", "futures", "--edition", "2021", "-C", "opt-level="+level))
			if !slices.Equal(got, want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
			for _, task := range all {
				if task.Status == "suspended" && (task.Wait == nil || task.Wait.Object.Type != "futures::Never") {
					t.Errorf("%s waits for %+v", task.Key, task.Wait)
				}
			}
		})
	}
}

// TestDamaged: cores with damaged memory are listed without a panic, and in bounds.
func TestDamaged(t *testing.T) {
	for _, c := range [][]string{{"coroutines.cpp", "g++", "-std=c++20", "-pthread"}, {"futures.rs", "rustc", "--crate-name", "futures", "--edition", "2021"}} {
		exe := build(t, c[0], c[1], c[2:]...)
		core, err := os.ReadFile(fixture.Crash(t, nil, exe))
		if err != nil {
			t.Fatal(err)
		}
		seeds := 3
		if fixture.IsLong(t) {
			seeds = 10
		}
		for seed := range seeds {
			bad := damage(core, uint64(seed), 3000)
			path := filepath.Join(t.TempDir(), "core")
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			target, err := corewalk.Open(context.Background(), path, corewalk.WithExecutable(exe))
			if err != nil {
				continue
			}
			n := 0
			for task := range target.Tasks(context.Background()) {
				if task != nil {
					n += len(task.Suspended)
				}
			}
			if n > 1000 {
				t.Errorf("%s: %d frames", c[0], n)
			}
			target.Close()
		}
	}
}

// damage puts words of a core where others were.
func damage(core []byte, seed uint64, words int) []byte {
	random := rand.New(rand.NewPCG(seed, 2))
	bad := slices.Clone(core)
	for range words {
		at := 4096 + random.IntN(len(bad)-4096-8)&^7
		from := 4096 + random.IntN(len(bad)-4096-8)&^7
		copy(bad[at:at+8], bad[from:from+8])
	}
	return bad
}
