//go:build linux

package livestate

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/fixture"
)

// cProgram compiles a C program, or skips the test where no compiler is.
func cProgram(t *testing.T, source string, flags ...string) string {
	t.Helper()
	fixture.Tools(t)
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed (Debian: gcc): no program to trace")
	}
	dir := t.TempDir()
	src, out := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-g", "-O1", "-o", out, src}, flags...)
	if msg, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Skipf("gcc %s: %v\n%s", strings.Join(flags, " "), err, msg)
	}
	fixture.Need386(t, flags...)
	return out
}

// launch launches, or skips the test where that is forbidden.
func launch(t *testing.T, exe string, argv []string, opts ...Option) *Process {
	t.Helper()
	p, err := Launch(exe, argv, opts...)
	if forbidden(err) {
		t.Skipf("this machine forbids ptrace: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.gone() {
			_ = p.Kill()
		}
		_ = p.Close()
	})
	return p
}

// readable waits until a descriptor is readable, as a user of it would.
func readable(t *testing.T, fd int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 10000)
		if err == unix.EINTR {
			continue
		}
		if n != 1 || err != nil {
			t.Fatalf("no event: %d, %v", n, err)
		}
		return
	}
}

const eventful = `
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void on_signal(int n) { (void)n; }
static void *run(void *a) { return a; }
int main(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[1], "again")) return 5;
	signal(SIGUSR1, on_signal);
	void *h = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	if (!h) return 1;
	pid_t child = fork();
	if (!child) { /* runs into the breakpoint unless that is taken out of its copy */
		h = dlopen("libutil.so.1", RTLD_NOW);
		_exit(h ? 42 : 1);
	}
	int status;
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 42) return 2;
	if (system("exit 3") != 3 << 8) return 3;
	dlclose(h);
	pthread_t t;
	pthread_create(&t, 0, run, 0);
	pthread_join(t, 0);
	raise(SIGUSR1);
	execl("/proc/self/exe", argv[0], "again", (char *)0);
	return 4;
}
`

// Everything that happens to a process is told of, in order, and the process sees
// nothing of being watched.
func TestEvents(t *testing.T) {
	for _, bits := range []string{"-m64", "-m32"} {
		t.Run(bits, func(t *testing.T) { testEvents(t, cProgram(t, eventful, "-ldl", "-pthread", bits)) })
	}
}

func testEvents(t *testing.T, exe string) {
	p := launch(t, exe, nil)
	fd, err := p.NotificationFD()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.ResumeAll(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for end := false; !end; {
		readable(t, fd)
		events, err := p.HandleDebugEvent(false)
		if err != nil {
			t.Fatal(err, got)
		}
		for _, ev := range events {
			s := ev.Kind.String()
			switch ev.Kind {
			case EventLibraryLoad, EventLibraryUnload:
				s += " " + filepath.Base(ev.Library.Path)
			case EventSignal:
				s += " " + unix.SignalName(unix.Signal(ev.Signal))
			case EventExit:
				end = true
				if ev.Status != 5 || ev.Signal != 0 {
					t.Errorf("ended with %+v", ev)
				}
			}
			got = append(got, s)
		}
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{"library_load libc.so.6", "library_load libm.so.6", "fork", "thread_create", "thread_exit", "signal SIGUSR1", "exec", "exit"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s among\n%s", want, all)
		}
	}
	if strings.Contains(all, "SIGTRAP") {
		t.Errorf("the breakpoint shows:\n%s", all)
	}
	if status, _, exited := p.Exited(); !exited || status != 5 {
		t.Errorf("exited %v with %d", exited, status)
	}
}

const loader = `
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	puts("ready");
	for (;;) {
		void *h = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
		if (!h) return 1;
		puts("loaded");
		usleep(1000);
		dlclose(h);
	}
}
`

// The library trap is there only while somebody listens, and leaves nothing behind,
// whenever it goes: the target loads and unloads libraries all the time.
func TestTrapComesAndGoes(t *testing.T) {
	for _, bits := range []string{"-m64", "-m32"} {
		t.Run(bits, func(t *testing.T) { testTrap(t, cProgram(t, loader, "-ldl", bits)) })
	}
}

func testTrap(t *testing.T, exe string) {
	cmd, lines := start(t, exec.Command(exe))
	for range 20 {
		p := attach(t, cmd.Process.Pid)
		if err := p.WatchEvents(); err != nil {
			t.Fatal(err)
		}
		loads := 0
		for loads < 2 {
			events, err := p.HandleDebugEvent(true)
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range events {
				if ev.Kind == EventLibraryLoad || ev.Kind == EventLibraryUnload {
					loads++
				}
				if ev.Kind == EventExit {
					t.Fatalf("the target died: %+v", ev)
				}
			}
		}
		addr := p.LibraryTracker().LibTrapAddress()
		var b [1]byte
		if _, err := p.ReadMem(addr, b[:]); err != nil || b[0] == breakpoint {
			t.Errorf("the breakpoint shows: %x, %v", b, err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		if !lines.Scan() || lines.Text() != "loaded" {
			t.Fatalf("line %d after the last tracer: %q", i, lines.Text())
		}
	}
}

// Who does not want to hear of libraries has no breakpoint put into the process.
func TestNoLibraryEvents(t *testing.T) {
	p := launch(t, cProgram(t, eventful, "-ldl", "-pthread"), nil, NoLibraryEvents())
	if err := errors.Join(p.WatchEvents(), p.ResumeAll()); err != nil {
		t.Fatal(err)
	}
	for end := false; !end; {
		events, err := p.HandleDebugEvent(true)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if ev.Library != nil || p.trap.Load() != nil {
				t.Errorf("%v, trap %v", ev, p.trap.Load())
			}
			end = end || ev.Kind == EventExit
		}
	}
	if status, _, _ := p.Exited(); status != 5 {
		t.Errorf("ended with %d", status)
	}
}

// A caller who sleeps holds nobody up: the target runs through its events alone.
func TestNobodyWaitsForTheReader(t *testing.T) {
	exe := cProgram(t, eventful, "-ldl", "-pthread")
	p := launch(t, exe, nil)
	if err := p.WatchEvents(); err != nil {
		t.Fatal(err)
	}
	if err := p.ResumeAll(); err != nil {
		t.Fatal(err)
	}
	for !p.gone() { // nothing is handled
		time.Sleep(time.Millisecond)
	}
	if status, _, _ := p.Exited(); status != 5 {
		t.Errorf("ended with %d", status)
	}
	events, err := p.HandleDebugEvent(true)
	if err != nil || len(events) < 5 || events[len(events)-1].Kind != EventExit {
		t.Errorf("%v, %v", events, err)
	}
}
