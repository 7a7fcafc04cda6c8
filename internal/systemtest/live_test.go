//go:build linux

package systemtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

const liveSource = `
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
struct job { int id; const char *name; };
static struct job *first;
static volatile int there;
static void *wait_there(void *a) { __sync_fetch_and_add(&there, 1); pause(); return a; }
__attribute__((noinline)) int deep(struct job *j, int n) {
	int here = n * 2;
	if (n == 0) { puts("ready"); fflush(stdout); pause(); return j->id; }
	return deep(j, n - 1) + here;
}
int main(int argc, char **argv) {
	pthread_t t;
	(void)argv;
	first = malloc(sizeof *first);
	first->id = 7; first->name = "seven";
	for (int i = 0; i < 3; i++) pthread_create(&t, 0, wait_there, 0);
	while (there < 3) usleep(1000);
	if (argc > 1) first = (struct job *)16, first->id = argc;
	return deep(first, 5);
}
`

// liveProgram compiles the program; the test is skipped where that cannot be.
func liveProgram(t *testing.T, flags ...string) string {
	t.Helper()
	fixture.Tools(t)
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed (Debian: gcc): no program to trace")
	}
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "job.c"), filepath.Join(dir, "job")
	if err := os.WriteFile(src, []byte(liveSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, append([]string{"-g", "-O0", "-pthread", "-o", exe, src}, flags...)...).CombinedOutput(); err != nil {
		t.Skipf("gcc %v: %v\n%s", flags, err, out)
	}
	fixture.Need386(t, flags...)
	return exe
}

// run starts it and waits until it is where it should be.
func runLive(t *testing.T, exe string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(exe)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if s := bufio.NewScanner(out); !s.Scan() {
		t.Fatal(s.Err())
	}
	return cmd
}

func attachLive(t *testing.T, pid int, opts ...corewalk.Option) *corewalk.Target {
	t.Helper()
	target, err := corewalk.Attach(context.Background(), pid, opts...)
	if errors.Is(err, livestate.ErrPermission) {
		t.Skipf("this machine forbids ptrace: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	return target
}

// names are the functions of a stack, youngest first.
func names(th *report.Thread) string {
	var out []string
	for _, f := range th.Frames {
		out = append(out, f.Function)
	}
	return strings.Join(out, " ")
}

// checkLive looks at a report of the program.
func checkLive(t *testing.T, target *corewalk.Target) {
	t.Helper()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
	if err != nil {
		t.Fatal(err)
	}
	if r.Dump.Format != report.FormatLive || r.Crash != nil || r.Dump.Command != "job" || len(r.Threads) != 4 || !r.Complete() {
		t.Errorf("%+v, crash %v, %d threads", r.Dump, r.Crash, len(r.Threads))
	}
	main := &r.Threads[0]
	if want := "deep deep deep deep deep deep main"; !strings.Contains(names(main), want) {
		t.Errorf("stack %s", names(main))
	}
	for i := range r.Threads[1:] {
		if th := &r.Threads[1+i]; !strings.Contains(names(th), "wait_there") {
			t.Errorf("stack %s", names(th))
		}
	}
	for _, f := range main.Frames {
		if f.Function != "deep" {
			continue
		}
		var b strings.Builder
		for _, v := range append(f.Args, f.Locals...) {
			fmt.Fprintf(&b, "%s=%s ", v.Name, v.Value)
		}
		if filepath.Base(f.Source.File) != "job.c" || !strings.Contains(b.String(), "n=5 here=10 ") {
			continue
		}
		return
	}
	t.Error("no frame with n=5 here=10")
}

func TestLiveReport(t *testing.T) {
	exe := liveProgram(t)
	cmd := runLive(t, exe)
	for _, opts := range [][]corewalk.Option{nil, {corewalk.WithHold()}, {corewalk.WithExecutable(exe)}} {
		target := attachLive(t, cmd.Process.Pid, opts...)
		checkLive(t, target)
		checkLive(t, target)
		if proc, ok := target.ProcessStateByPID(cmd.Process.Pid); !ok || proc != target.ProcessState() {
			t.Error("the target does not know its process")
		}
		if _, ok := target.ProcessStateByPID(cmd.Process.Pid + 1); ok {
			t.Error("the target knows another's process")
		}
		if in := target.Info(); len(in.Modules) < 4 || len(in.Mappings) < 10 || len(in.Notes) != 0 {
			t.Errorf("%d modules, %d mappings, %d notes", len(in.Modules), len(in.Mappings), len(in.Notes))
		}
		if err := target.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A program of 32 bits, and one whose file is gone or another by now.
func TestLiveReportOthers(t *testing.T) {
	t.Run("32 bits", func(t *testing.T) { checkLive(t, attachLive(t, runLive(t, liveProgram(t, "-m32")).Process.Pid)) })
	t.Run("static", func(t *testing.T) { checkLive(t, attachLive(t, runLive(t, liveProgram(t, "-static")).Process.Pid)) })
	t.Run("removed", func(t *testing.T) {
		exe := liveProgram(t)
		cmd := runLive(t, exe)
		if err := os.Remove(exe); err != nil {
			t.Fatal(err)
		}
		checkLive(t, attachLive(t, cmd.Process.Pid))
	})
	t.Run("replaced", func(t *testing.T) {
		exe, other := liveProgram(t), liveProgram(t, "-DOTHER", "-Wl,--build-id=0x01020304")
		cmd := runLive(t, exe)
		if err := os.Rename(other, exe); err != nil {
			t.Fatal(err)
		}
		checkLive(t, attachLive(t, cmd.Process.Pid))
	})
}

// A process in namespaces of its own: its files are found below its root directory.
func TestLiveReportNamespaces(t *testing.T) {
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Getuid() != 0 {
		t.Skip("needs root and unshare (Debian: util-linux)")
	}
	exe, dir := liveProgram(t), t.TempDir()
	cmd := exec.Command(unshare, "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", "mount -t tmpfs none $1 && cp $0 $1/job && exec $1/job", exe, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if lines := bufio.NewScanner(out); !lines.Scan() {
		t.Skip("namespaces of its own cannot be had here")
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
	if err != nil {
		t.Skip(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(children), &pid); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(exe); err != nil {
		t.Fatal(err)
	}
	checkLive(t, attachLive(t, pid))
}

// A Walker stops the thread that it walks, and lets it go on.
func TestLiveWalker(t *testing.T) {
	cmd := runLive(t, liveProgram(t))
	target := attachLive(t, cmd.Process.Pid)
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ids, err := w.AvailableThreads()
	if err != nil || len(ids) != 4 {
		t.Fatal(ids, err)
	}
	for _, id := range append(ids, unwind.NullThread) {
		s, err := w.WalkStack(id)
		if err != nil || s.End != unwind.EndBottom {
			t.Errorf("thread %d: %d frames, %v, %v", id, len(s.Frames), s.End, err)
		}
	}
	// The hooks nest: a walk inside a hold does not let the thread go.
	if err := target.Live().PreStackwalk(ids[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WalkStack(ids[0]); err != nil {
		t.Error(err)
	}
	state := func() string {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		_, rest, _ := strings.Cut(string(b), ") ")
		return rest[:1]
	}
	if s := state(); s != "t" {
		t.Errorf("in state %s after a walk inside a hold", s)
	}
	if err := target.Live().PostStackwalk(ids[0]); err != nil {
		t.Fatal(err)
	}
	for s := state(); s != "S" && s != "R"; s = state() {
	}
}

// A program that is launched and crashes is reported on like its core.
func TestLaunchAndCrash(t *testing.T) {
	exe := liveProgram(t)
	target, err := corewalk.Launch(context.Background(), exe, []string{"job", "crash"}, corewalk.WithLiveOptions(livestate.HoldFatal()))
	if errors.Is(err, livestate.ErrPermission) {
		t.Skipf("this machine forbids ptrace: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	p := target.Live()
	if err := errors.Join(p.WatchEvents(), p.ResumeAll()); err != nil {
		t.Fatal(err)
	}
	for fatal := false; !fatal; {
		events, err := p.HandleDebugEvent(true)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			fatal = fatal || ev.Fatal
		}
	}
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Crash; c == nil || c.Signal != "SIGSEGV" || c.Code != "SEGV_MAPERR" || c.Address == nil || *c.Address != 16 || c.Thread != p.ProcessID() {
		t.Errorf("%+v", c)
	}
	if len(r.Threads) != 4 || !r.Threads[0].Crashed || r.Threads[0].Frames[0].Function != "main" {
		t.Errorf("%d threads, the first %s", len(r.Threads), names(&r.Threads[0]))
	}
}

func TestAttachAll(t *testing.T) {
	exe := liveProgram(t)
	a, b := runLive(t, exe), runLive(t, exe)
	list, err := corewalk.AttachAll(context.Background(), []int{a.Process.Pid, 1 << 30, b.Process.Pid}, corewalk.WithExecutable(exe))
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	for i, one := range list {
		if (one.Target == nil) != (i == 1) || (one.Err == nil) != (i != 1) {
			t.Errorf("%+v", one)
		}
		if one.Target != nil {
			checkLive(t, one.Target)
			one.Target.Close()
		}
	}
	if _, err := corewalk.AttachAll(context.Background(), []int{1 << 30, 0}); !errors.Is(err, livestate.ErrNoProcess) {
		t.Errorf("a group of nobody: %v", err)
	}
}
