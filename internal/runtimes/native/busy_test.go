package native_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
)

// TestBusy stops programs that are merely busy, slow or starved at random moments: no deadlock of theirs is certain.
// COREWALK_MOMENTS is how many moments of each program, 5 without it.
func TestBusy(t *testing.T) {
	fixture.Long(t)
	moments := 5
	if n, err := strconv.Atoi(os.Getenv("COREWALK_MOMENTS")); err == nil {
		moments = n
	}
	for _, c := range []struct {
		cc, source string
		flags      []string
		holders    bool // some are certain
	}{
		{"gcc", "busy.c", []string{"-g", "-O1", "-pthread"}, true},
		{"musl-gcc", "busy.c", []string{"-g", "-O1", "-pthread"}, true},
		{"g++", "busy.cc", []string{"-std=c++17", "-g", "-O1", "-pthread"}, true},
		{"go", "../go-busy", nil, false},
		{"rustc", "busy.rs", []string{"--edition", "2021", "-g"}, false},
		{"rustc", "busy.rs", []string{"--edition", "2021", "-g", "-O"}, false},
		{"gcc", "busy_omp.c", []string{"-g", "-O1", "-fopenmp"}, false},
		{"g++", "busy_coroutines.cpp", []string{"-std=c++20", "-g", "-O1", "-pthread"}, true},
		{"cargo", "busy_tokio.rs", nil, false},
	} {
		t.Run(c.cc+" "+c.source, func(t *testing.T) {
			exe := ""
			switch c.cc {
			case "cargo":
				exe = fixture.Cargo(t, "tasks/"+c.source, "tokio", `{ version = "1", features = ["rt-multi-thread", "time", "sync", "macros"] }`, false)
			case "go":
				exe = compile(t, c.cc, c.source, "build")
			default:
				exe = compile(t, c.cc, c.source, c.flags...)
			}
			list, err := exec.Command(exe, "list").Output()
			if err != nil {
				t.Fatal(err)
			}
			var n busyCount
			for _, mode := range strings.Fields(string(list)) {
				t.Run(mode, func(t *testing.T) {
					stopAt(t, exe, mode, moments, func(m *moment) { n.check(t, mode, m) })
				})
			}
			t.Logf("%s: %d moments of each program, %d waits, %d holders, %d certain that hold, %d proved by code, %d possible deadlocks", c.cc, moments, n.waits, n.holders, n.held, n.proved, n.possible)
			if n.held == 0 && c.holders {
				t.Error("of nothing it was certain who held it: no deadlock could be")
			}
		})
	}
}

// A moment is a process that is stopped, or its core.
type moment struct {
	target *corewalk.Target
	slots  uint64 // where the program keeps which thread holds what
}

type busyCount struct{ waits, holders, held, proved, possible int }

// check looks at one moment: no deadlock is certain, and certain holders hold what they are said to.
func (n *busyCount) check(t *testing.T, mode string, m *moment) {
	t.Helper()
	facts, err := m.target.Facts(corewalk.FactsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer facts.Close()
	all, err := facts.Waits(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range tasks.NewGraph(all).Deadlocks() {
		if d.Certainty == tasks.Certain {
			t.Errorf("%s: a certain deadlock: %s", mode, show(all))
		}
		n.possible++
	}
	truth := map[uint64][]uint64{}
	if m.slots != 0 {
		truth = m.truth(t)
	}
	for _, task := range all {
		w := task.Wait
		if w == nil {
			continue
		}
		n.waits++
		n.holders += len(w.Holders)
		if w.Object.Type == "std::sync::Mutex" && len(w.Holders) > 0 && w.Holders[0].Certainty == tasks.Certain {
			n.proved++
		}
		for _, h := range w.Holders {
			if h.Certainty != tasks.Certain || w.Object.Type != "pthread_mutex_t" && w.Object.Type != "pthread_rwlock_t" {
				continue
			}
			n.held++
			if has, known := truth[h.ID]; known && !slices.Contains(has, w.Object.Address) {
				t.Errorf("%s: thread %d waits for %#x, which thread %d does not hold, but %#x", mode, task.ID, w.Object.Address, h.ID, has)
			}
		}
	}
}

// truth reads what each thread holds, takes or gives back.
func (m *moment) truth(t *testing.T) map[uint64][]uint64 {
	const slots, words = 64, 10
	buf := make([]byte, slots*words*8)
	if _, err := m.target.ProcessState().ReadMem(m.slots, buf); err != nil {
		t.Fatal(err)
	}
	found := map[uint64][]uint64{}
	for ; len(buf) > 0; buf = buf[words*8:] {
		var has []uint64
		for i := 1; i < words; i++ {
			if v := binary.LittleEndian.Uint64(buf[8*i:]); v != 0 {
				has = append(has, v)
			}
		}
		found[binary.LittleEndian.Uint64(buf)] = has
	}
	return found
}

// stopAt runs a program and stops it at random moments. Every fourth is a core.
func stopAt(t *testing.T, exe, mode string, moments int, at func(*moment)) {
	t.Helper()
	target, slots := running(t, exe, mode)
	m := &moment{target, slots}
	for i := range moments {
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		if i%4 == 3 {
			atCore(t, exe, m, at)
			continue
		}
		if err := target.Live().StopAll(); err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		at(m)
		if err := target.Live().ResumeAll(); err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
	}
}

// running starts a program, and attaches to it when it says where its slots are.
func running(t *testing.T, exe, mode string) (*corewalk.Target, uint64) {
	t.Helper()
	cmd := exec.Command(exe, mode)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", mode, err)
	}
	slots, _ := strconv.ParseUint(strings.TrimSpace(line), 0, 64)
	target, err := corewalk.Attach(context.Background(), cmd.Process.Pid, corewalk.WithHold())
	if err != nil {
		t.Skipf("attach: %v", err)
	}
	t.Cleanup(func() { target.Close() })
	return target, slots
}

// atCore looks at a core of the process.
func atCore(t *testing.T, exe string, m *moment, at func(*moment)) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "core")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(f.Name())
	_, err = m.target.WriteCore(f, corewalk.CoreOptions{})
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	core, err := corewalk.Open(context.Background(), f.Name(), corewalk.WithExecutable(exe))
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	at(&moment{core, m.slots})
}

// TestDescriptors: of a running process, descriptors are named, and the other end of a pipe.
func TestDescriptors(t *testing.T) {
	fixture.Long(t)
	exe := compile(t, "gcc", "busy.c", "-g", "-O1", "-pthread")
	found := false
	target, _ := running(t, exe, "poll")
	for range 40 {
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Tasks {
			w := r.Tasks[i].Wait
			if w != nil && w.Kind == "io" && w.Reason == "write" && w.Object != nil && w.Object.Type == "descriptor 4" &&
				strings.HasPrefix(w.Object.Detail, "pipe:[") && strings.HasSuffix(w.Object.Detail, "], other end: 3") {
				found = true
			}
		}
	}
	if !found {
		t.Error("nobody waited for the pipe of descriptors 3 and 4")
	}
}

// TestHeldStill: what the threads of a running process wait for is certain if it is held, and else only possible.
func TestHeldStill(t *testing.T) {
	fixture.Long(t)
	exe := build(t, "gcc")
	for want, o := range map[string][]corewalk.Option{"certain": {corewalk.WithHold()}, "possible": nil} {
		cmd := exec.Command(exe, "normal", "2", "stay")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		fixture.Bind(t, cmd.Process.Pid)
		fixture.Asleep(t, cmd.Process.Pid, 4)
		target, err := corewalk.Attach(context.Background(), cmd.Process.Pid, o...)
		if err != nil {
			t.Skipf("attach: %v", err)
		}
		r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
		target.Close()
		cmd.Process.Kill()
		cmd.Wait()
		if err != nil || len(r.Deadlocks) != 1 || r.Deadlocks[0].Certainty != want {
			t.Errorf("want one that is %s: %v, %+v", want, err, r.Deadlocks)
		}
	}
}
