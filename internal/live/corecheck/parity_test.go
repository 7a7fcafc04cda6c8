//go:build linux

package corecheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/livestate"
)

// runs lists the architectures of the programs that this machine runs.
var runs = map[string][]string{"amd64": {"amd64", "i386"}, "386": {"i386"}, "arm64": {"arm64"}}

// differs are the programs whose cores cannot show what the process does, and why.
var differs = map[string]string{
	"amd64-relro-omitted": "it asks for a page that a variable points to not to be dumped",
}

// patience is how long a program may take to crash. A program that waits for something is compared where it
// waits.
const patience = 3 * time.Second

// place copies a fixture's program, and the files next to it, to a place where the program may change them.
func place(t *testing.T, c fixture.Case) string {
	t.Helper()
	dir := t.TempDir()
	files := []string{c.Binary(t)}
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".zst", ".json", ".txt":
		default:
			if e.Type().IsRegular() {
				files = append(files, filepath.Join(c.Dir, e.Name()))
			}
		}
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, filepath.Base(files[0]))
}

// launch starts a program and waits until a signal is about to end it. It returns nil if the program cannot run
// here, or ends otherwise.
func launch(t *testing.T, exe string, args ...string) *corewalk.Target {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	target, err := corewalk.Launch(context.Background(), exe, append([]string{exe}, args...), corewalk.WithLiveOptions(livestate.HoldFatal(),
		livestate.Files(null, null, null), livestate.Dir(filepath.Dir(exe)), livestate.Env(append(os.Environ(), "GOTRACEBACK=crash", "LD_LIBRARY_PATH=."))))
	if errors.Is(err, livestate.ErrPermission) && os.Getenv("CI_NEEDS_PTRACE") == "" {
		t.Skipf("this machine forbids ptrace: %v", err)
	}
	if err != nil {
		t.Logf("does not run here: %v", err)
		return nil
	}
	t.Cleanup(func() { _ = target.Live().Kill(); _ = target.Close() })
	p := target.Live()
	if err := errors.Join(p.WatchEvents(), p.ResumeAll()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		events, err := p.HandleDebugEvent(false)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if ev.Kind == livestate.EventSignal && ev.Fatal {
				return target
			}
			if ev.Kind == livestate.EventExit {
				t.Logf("ended: status %d, signal %d", ev.Status, ev.Signal)
				return nil
			}
		}
	}
	return target
}

// check expects no difference.
func check(t *testing.T, target *corewalk.Target, o Options) *Result {
	t.Helper()
	r, err := Check(context.Background(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	_, name, _ := strings.Cut(t.Name(), "programs/")
	if why := differs[name]; why != "" && len(r.Differences) == 0 {
		t.Errorf("no difference, although %s", why)
	} else if why == "" {
		for _, d := range r.Differences {
			t.Error(d)
		}
	}
	if r.Frames == 0 || r.Registers == 0 {
		t.Errorf("%d frames, %d registers compared", r.Frames, r.Registers)
	}
	return r
}

// sampleStep selects the fixtures that every run compares: one in sampleStep. COREWALK_LONG=1 compares all.
const sampleStep = 16

// Every program of the fixtures that runs here, at the signal that ends it.
func TestFixturePrograms(t *testing.T) {
	compared := make(chan *Result, 1000)
	t.Run("programs", func(t *testing.T) {
		for i, c := range fixture.Cases(t) {
			for _, arch := range runs[runtime.GOARCH] {
				if c.Arch() == arch {
					t.Run(c.Name, func(t *testing.T) {
						if i%sampleStep != 0 {
							fixture.Long(t)
						}
						t.Parallel()
						if target := launch(t, place(t, c)); target != nil {
							compared <- check(t, target, Options{MaxFrames: 20_000})
						}
					})
				}
			}
		}
	})
	close(compared)
	var sum Result
	n := 0
	for r := range compared {
		n++
		sum.Threads += r.Threads
		sum.Frames += r.Frames
		sum.Registers += r.Registers
		sum.Variables += r.Variables
	}
	if n == 0 {
		t.Skip("not compared: none of the fixtures' programs runs here")
	}
	t.Logf("%d programs: %d threads, %d frames, %d registers, %d variables compared", n, sum.Threads, sum.Frames, sum.Registers, sum.Variables)
}

// The core that gdb's gcore writes of a process, and ours of the same process, which waits all the time.
func TestGCore(t *testing.T) {
	fixture.Tools(t)
	gcore, err := exec.LookPath("gcore")
	if err != nil {
		t.Skip("not compared: gcore is not installed (Debian: gdb)")
	}
	c := fixture.Get(t, "amd64-gcore")
	if !slices.Contains(runs[runtime.GOARCH], c.Arch()) {
		t.Skip("not compared: its program does not run here")
	}
	exe := place(t, c)
	cmd := exec.Command(exe)
	cmd.Dir = filepath.Dir(exe)
	if err := cmd.Start(); err != nil {
		t.Skipf("not compared: %v", err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid := cmd.Process.Pid
	fixture.Asleep(t, pid, c.Threads)
	theirs := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command(gcore, "-o", theirs, fmt.Sprint(pid)).CombinedOutput(); err != nil {
		t.Skipf("not compared: gcore: %v\n%s", err, out)
	}
	live, err := corewalk.Attach(context.Background(), pid)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	ours := filepath.Join(t.TempDir(), "core")
	f, err := os.Create(ours)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.WriteCore(f, corewalk.CoreOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	a, err := corewalk.Open(context.Background(), fmt.Sprintf("%s.%d", theirs, pid), corewalk.WithExecutable(exe))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := corewalk.Open(context.Background(), ours)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var r Result
	if err := errors.Join(r.stacks(context.Background(), a, b, Options{}), r.reports(context.Background(), a, b, Options{})); err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Differences {
		// The system call that gcore's stop interrupted was restarted as restart_syscall.
		if !strings.Contains(d, " orig_rax: ") {
			t.Error(d)
		}
	}
	if r.Threads != c.Threads || r.Frames < 2*c.Threads {
		t.Errorf("%d threads, %d frames compared", r.Threads, r.Frames)
	}
}

// Memory that a limit leaves out of the core is reported and is not a difference; what really differs is one.
func TestBoundAndDifferences(t *testing.T) {
	c := fixture.Get(t, "amd64-vars-cxx-O0")
	if !slices.Contains(runs[runtime.GOARCH], c.Arch()) {
		t.Skip("not compared: its program does not run here")
	}
	target := launch(t, place(t, c))
	if target == nil {
		t.Skip("not compared: the program does not run here")
	}
	r, err := Check(context.Background(), target, Options{MaxMemory: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r.Core.LeftOut == 0 || r.Unread == 0 || r.Frames < 5 {
		t.Errorf("%d bytes left out, %d variables unread, %d frames", r.Core.LeftOut, r.Unread, r.Frames)
	}
	for _, d := range r.Differences {
		t.Error(d)
	}
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s, err := w.WalkStack(-1)
	if err != nil {
		t.Fatal(err)
	}
	short := *s
	short.Frames = s.Frames[1:]
	var other Result
	other.Stack(s, &short)
	all := strings.Join(other.Differences, "\n")
	for _, want := range []string{"frames live", " rip: live 0x", " rsp: live 0x", ": CFA: live 0x", ": function: live "} {
		if !strings.Contains(all, want) {
			t.Errorf("no difference in %q:\n%s", want, all)
		}
	}
	other = Result{}
	other.values("x", map[string]any{"a": []int{1, 2}, "b": "y", "c": nil}, map[string]any{"a": []int{1, 3}, "b": []int{}, "d": 1})
	if want := []string{"x a 1: live 2, core 3", `x b: live "y", core []`, "x d: live nothing, core 1"}; !slices.Equal(other.Differences, want) {
		t.Errorf("%q", other.Differences)
	}
}
