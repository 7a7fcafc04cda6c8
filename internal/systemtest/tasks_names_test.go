package systemtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestNamesOfLocks: locks are named as the program would, also those that are parts of something, and in frames of
// libraries that know only their addresses.
func TestNamesOfLocks(t *testing.T) {
	t.Parallel()
	// clang only declares the types of libraries.
	for _, build := range [][2]string{{"g++", "-O0"}, {"g++", "-O2"}, {"clang++", "-O0"}} {
		compiler, flag := build[0], build[1]
		t.Run(compiler+flag, func(t *testing.T) {
			if compiler == "g++" && flag == "-O0" { // the others are of both compilers, and optimised and not
				fixture.Long(t)
			}
			core := fixture.Crash(t, nil, fixture.Compile(t, compiler, "tasks/names.cpp", "-g", flag, "-std=c++20", "-pthread"))
			target, err := corewalk.Open(context.Background(), core)
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := report.WriteText(&b, r, report.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			text := strings.Join(strings.Fields(b.String()), " ")
			for _, want := range []string{"hang: 3 threads wait for each other: ", "reg.a[0].m at names.cpp:31", "reg.a[1].m at names.cpp:31", "to read under reg.rw (pthread_rwlock_t"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in %s", want, b.String())
				}
			}
			if strings.Contains(text, "waits for mutex (") || strings.Contains(text, "waits for __") { // a parameter of the library
				t.Errorf("a name that says nothing in %s", b.String())
			}
			// Optimised, the pointer is in no register any more.
			if flag == "-O0" && !strings.Contains(text, "to->m at names.cpp:31") {
				t.Errorf("no to->m in %s", b.String())
			}
		})
	}
}

// TestNamesOfRefused: of a circle of priority-inheriting mutexes each thread waits for the one that it names, also the thread whose lock the kernel
// refused, of which only the others' waits tell what it was.
func TestNamesOfRefused(t *testing.T) {
	t.Parallel()
	core := fixture.Crash(t, nil, fixture.Compile(t, "gcc", "tasks/deadlock.c", "-g", "-O1", "-pthread"), "pi", "3")
	target, err := corewalk.Open(context.Background(), core)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const size = 40 // of a pthread_mutex_t
	starts, named, refused := map[report.Addr]bool{}, map[string]bool{}, 0
	for _, task := range r.Tasks {
		if w := task.Wait; w != nil && w.Object != nil && w.Kind == "lock" {
			var n int
			if _, err := fmt.Sscanf(w.Object.Name, "door[%d]", &n); err != nil {
				t.Errorf("thread %d waits for %+v", task.ID, *w.Object)
			}
			starts[w.Object.Address-report.Addr(n*size)] = true
			named[w.Object.Name] = true
			if strings.Contains(w.Note, "refused") {
				refused++
			}
		}
	}
	if len(starts) != 1 || len(named) != 3 || refused < 1 || refused > 2 { // two that come at once are both refused, rarely
		t.Errorf("mutexes %v, of an array at %v, %d refused", named, starts, refused)
	}
}

// TestNamesOfChannels: a channel is named by the member or the captured variable that has it.
func TestNamesOfChannels(t *testing.T) {
	core := fixture.Crash(t, []string{"GOTRACEBACK=crash"}, fixture.Compile(t, "go", "go-names/main.go", "-gcflags=-N -l"))
	target, err := corewalk.Open(context.Background(), core)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	if list := target.Info().Runtimes; len(list) != 1 || list[0].Name != "go" || !strings.HasPrefix(list[0].Description, "go1.") || list[0].Tasks < 3 || list[0].Problem != "" {
		t.Errorf("runtimes: %+v", list)
	}
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"s.out": false, "jobs": false}
	for _, task := range r.Tasks {
		if task.Wait != nil && task.Wait.Object != nil {
			want[task.Wait.Object.Name] = true
		}
	}
	for name, found := range want {
		if !found {
			t.Errorf("no goroutine waits for %q: %v", name, want)
		}
	}
}

// TestNamesOfSync: goroutines that wait for a sync.Cond say for which, and a lock was taken where the program calls RLock, which is
// inlined there together with what it calls.
func TestNamesOfSync(t *testing.T) {
	for _, flags := range []string{"", "-N -l"} {
		exe := fixture.Compile(t, "go", "go-sync/main.go", "-gcflags="+flags)
		target, err := corewalk.Open(context.Background(), fixture.Crash(t, []string{"GOTRACEBACK=crash"}, exe))
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		conds := map[report.Addr]string{}
		locks := 0
		for _, task := range r.Tasks {
			w := task.Wait
			switch {
			case w == nil || w.Object == nil:
			case w.Object.Type == "sync.Cond":
				conds[w.Object.Address] += w.Object.Detail + ", " + w.Certainty + "; "
			case w.Object.Type == "sync.RWMutex":
				locks++
				if w.Object.Name != "main.rw" || len(w.Holders) != 1 || w.Holders[0].AcquiredAt == nil || w.Holders[0].AcquiredAt.Function != "main.main" {
					t.Errorf("%q: a lock %+v, held by %+v", flags, w.Object, w.Holders)
				}
			}
		}
		var got []string
		for _, s := range conds {
			got = append(got, s)
		}
		slices.Sort(got)
		want := []string{"1 waiting, certain; ", "2 waiting, certain; 2 waiting, certain; "}
		if !slices.Equal(got, want) || locks != 1 {
			t.Errorf("%q: %d locks, conditions %q, want %q", flags, locks, got, want)
		}
	}
}
