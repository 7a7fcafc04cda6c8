package native_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/tasks"
)

// build compiles the program of deadlocks; the test is skipped without a compiler.
func build(t *testing.T, cc string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("%s is not installed: Debian's gcc, musl-tools", cc)
	}
	exe := filepath.Join(t.TempDir(), "deadlock")
	args := append([]string{"-g", "-O1", "-pthread", "-o", exe, "../../../testdata/src/tasks/deadlock.c"}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Skipf("%s %v: %v: %s", cc, flags, err, out)
	}
	return exe
}

// core runs the program until it aborts.
func core(t *testing.T, exe string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("sh", append([]string{"-c", "ulimit -c unlimited; exec \"$@\"", "sh", exe}, args...)...)
	cmd.Dir = dir
	cmd.Run()
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) == 0 {
		t.Skip("the kernel writes no core here: /proc/sys/kernel/core_pattern")
	}
	return cores[0]
}

// read lists the threads of a core with what each waits for.
func read(t *testing.T, core, exe string) []*tasks.Task {
	t.Helper()
	ctx := context.Background()
	target, err := corewalk.Open(ctx, core, corewalk.WithExecutable(exe))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	all, err := target.Waits(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// show writes what tasks wait for, with threads numbered from 0 in the order of their ids.
func show(all []*tasks.Task) string {
	all = slices.SortedFunc(slices.Values(all), func(a, b *tasks.Task) int { return cmp.Compare(a.ID, b.ID) })
	number := map[uint64]int{}
	for i, t := range all {
		number[t.ID] = i
	}
	var b strings.Builder
	for i, t := range all {
		w := t.Wait
		if w == nil {
			continue
		}
		fmt.Fprintf(&b, "%d %s %s %q", i, w.Kind, w.Object.Type, w.Object.Detail)
		if w.Timed {
			b.WriteString(" timed")
		}
		if !w.Proved {
			b.WriteString(" unproved")
		}
		for _, h := range w.Holders {
			fmt.Fprintf(&b, " held by %d %s", number[h.ID], h.Certainty)
		}
		if w.Note != "" {
			b.WriteString(" (" + w.Note + ")")
		}
		b.WriteString("\n")
	}
	for _, d := range tasks.NewGraph(all).Deadlocks() {
		fmt.Fprintf(&b, "deadlock %s:", d.Certainty)
		for _, t := range d.Tasks {
			fmt.Fprintf(&b, " %d", number[t.ID])
		}
		for _, t := range d.Behind {
			fmt.Fprintf(&b, " behind %d", number[t.ID])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// circle is what show writes for a circle of threads: each waits for the next, another for the
// first mutex. Which thread came first is up to the scheduler, so numbers do not count.
func circle(n int, detail string) string {
	return fmt.Sprintf("%d waits for pthread_mutex_t %q held certain; deadlock certain of %d, 1 behind", n+1, detail, n)
}

// summary counts what show writes of a circle.
func summary(all []*tasks.Task) string {
	n := 0
	detail := ""
	for _, t := range all {
		if w := t.Wait; w != nil && w.Proved && w.Object.Type == "pthread_mutex_t" && len(w.Holders) == 1 && w.Holders[0].Certainty == tasks.Certain {
			n++
			detail = w.Object.Detail
		}
	}
	s := fmt.Sprintf("%d waits for pthread_mutex_t %q held certain", n, detail)
	for _, d := range tasks.NewGraph(all).Deadlocks() {
		s += fmt.Sprintf("; deadlock %s of %d, %d behind", d.Certainty, len(d.Tasks), len(d.Behind))
	}
	return s
}

func TestCircles(t *testing.T) {
	if os.Getenv("COREWALK_LONG") == "" {
		t.Skip("builds programs: set COREWALK_LONG=1")
	}
	exe := build(t, "gcc")
	for _, c := range []struct {
		args, detail string
	}{
		{"normal 2", ""}, {"normal 3", ""}, {"normal 5", ""}, {"recursive 2", "recursive"}, {"errorcheck 3", "error-checking"},
		{"adaptive 2", ""}, {"robust 3", "robust, shared"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var n int
			fmt.Sscanf(c.args[strings.Index(c.args, " "):], "%d", &n)
			all := read(t, core(t, exe, strings.Fields(c.args)...), exe)
			if got, want := summary(all), circle(n, c.detail); got != want {
				t.Errorf("got %s\nwant %s\n%s", got, want, show(all))
			}
		})
	}
}

// TestWaits has one program for each kind of wait. Threads are numbered in the order of their ids, which is that of
// their creation.
func TestWaits(t *testing.T) {
	if os.Getenv("COREWALK_LONG") == "" {
		t.Skip("builds programs: set COREWALK_LONG=1")
	}
	exe := build(t, "gcc")
	for _, c := range []struct{ args, want string }{
		{"self", `
1 lock pthread_mutex_t "" held by 1 certain
deadlock certain: 1
`},
		{"join", `
0 join  "" held by 1 certain
1 join  "" held by 0 certain
deadlock certain: 0 1
`},
		{"rwlock", `
1 lock pthread_mutex_t "" held by 2 certain
2 read-lock pthread_rwlock_t "locked for writing" held by 1 certain
deadlock certain: 1 2
`},
		{"none", `
1 condition pthread_cond_t ""
2 semaphore sem_t ""
3 barrier pthread_barrier_t "2 of 3 arrived"
4 barrier pthread_barrier_t "2 of 3 arrived"
5 lock pthread_mutex_t "" timed held by 0 certain
6 lock pthread_mutex_t "" held by 0 certain
7 lock pthread_rwlock_t "2 readers" (readers are not recorded)
`},
		{"abandoned", `
1 lock pthread_mutex_t "" (the thread that held it has ended)
`},
	} {
		t.Run(c.args, func(t *testing.T) {
			if got := "\n" + show(read(t, core(t, exe, strings.Fields(c.args)...), exe)); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}
