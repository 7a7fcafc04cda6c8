//go:build linux

package livestate

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/unwind"
)

// state waits until the first thread of a process is in one of the states.
func state(t *testing.T, pid int, want string) { t.Helper(); threadState(t, pid, pid, want) }

func threadState(t *testing.T, pid, tid int, want string) {
	t.Helper()
	for range 2000 {
		if strings.IndexByte(want, taskState(pid, tid)) >= 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("thread %d is in state %c, not %s", tid, taskState(pid, tid), want)
}

// What was stopped by job control stays so, attached and after; SIGCONT wakes it.
func TestStoppedStaysStopped(t *testing.T) {
	cmd, lines := child(t, "busy")
	pid := cmd.Process.Pid
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	state(t, pid, "T")
	p := attach(t, pid)
	ids, err := p.ThreadIDs()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := p.PreStackwalk(ids[0]); err != nil {
			t.Fatal(err)
		}
		if err := p.PostStackwalk(ids[0]); err != nil {
			t.Fatal(err)
		}
		if s, err := p.Snapshot(); err != nil || len(s.threads) != len(ids) {
			t.Fatalf("%v: %v", s, err)
		}
	}
	state(t, pid, "Tt")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tid := range must(tasks(pid)) {
		threadState(t, pid, tid, "T") // it wakes up, and stops again, in the kernel
	}
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	state(t, pid, "RS")
	ticks(t, lines)
}

// A stop and its end that come while the process is traced do what they should.
func TestJobControlWhileTraced(t *testing.T) {
	cmd, lines := child(t, "busy")
	pid := cmd.Process.Pid
	p := attach(t, pid)
	for range 3 {
		_ = unix.Kill(pid, unix.SIGSTOP)
		state(t, pid, "t")
		if _, err := p.Snapshot(); err != nil {
			t.Fatal(err)
		}
		_ = unix.Kill(pid, unix.SIGCONT)
		ticks(t, lines)
	}
	_ = unix.Kill(pid, unix.SIGSTOP)
	state(t, pid, "t")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	state(t, pid, "T")
	_ = unix.Kill(pid, unix.SIGCONT)
	ticks(t, lines)
}

// ticks makes sure that a busy program goes on.
func ticks(t *testing.T, lines *bufio.Scanner) {
	t.Helper()
	for range 5 {
		if !lines.Scan() || lines.Text() != "tick" {
			t.Fatalf("the program says %q: %v", lines.Text(), lines.Err())
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const counting = `
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static long sum;
static void on_signal(int n, siginfo_t *i, void *c) { (void)n; (void)c; got++; sum += i->si_value.sival_int; }
int main(void) {
	struct sigaction a;
	memset(&a, 0, sizeof a);
	a.sa_sigaction = on_signal;
	a.sa_flags = SA_SIGINFO;
	sigaction(SIGRTMIN + 3, &a, 0);
	puts("ready");
	fflush(stdout);
	while (got < 2000) pause();
	printf("%d %ld\n", (int)got, sum);
	return 0;
}
`

// Signals arrive, each once and with what goes with it, while the process is attached
// to and detached from all the time.
func TestNoSignalIsLost(t *testing.T) {
	exe := cProgram(t, counting)
	cmd, lines := start(t, exec.Command(exe))
	pid := cmd.Process.Pid
	sent := make(chan bool)
	go func() {
		defer close(sent)
		for i := range 2000 {
			for sigqueue(pid, 37, i) == unix.EAGAIN {
				time.Sleep(time.Millisecond)
			}
			if i%20 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	}()
	for n := 0; ; n++ {
		select {
		case <-sent:
			if !lines.Scan() || lines.Text() != "2000 1999000" {
				t.Errorf("after %d attaches the program counts %q", n, lines.Text())
			}
			return
		default:
		}
		p, err := Attach(pid)
		if forbidden(err) {
			t.Skip(err)
		}
		if errors.Is(err, ErrExited) || errors.Is(err, ErrNoProcess) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			_, _ = p.Snapshot()
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Soak attaches and detaches COREWALK_SOAK times (default 200) while the target
// works: it must live on, and nothing may be left behind here.
func TestSoak(t *testing.T) {
	rounds := 200
	if n, err := strconv.Atoi(os.Getenv("COREWALK_SOAK")); err == nil {
		rounds = n
	}
	cmd, lines := child(t, "busy")
	gone := make(chan bool)
	go func() {
		for lines.Scan() {
		}
		close(gone)
	}()
	attach(t, cmd.Process.Pid).Close()
	files, threads := len(must(os.ReadDir("/proc/self/fd"))), len(must(tasks(os.Getpid())))
	for i := range rounds {
		select {
		case <-gone:
			t.Fatalf("the target died in round %d: %v", i, cmd.Wait())
		default:
		}
		p, err := Attach(cmd.Process.Pid)
		if err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		switch i % 4 {
		case 0:
			if _, err := p.Snapshot(); err != nil {
				t.Fatal(err)
			}
		case 1:
			if err := p.WatchEvents(); err != nil {
				t.Fatal(err)
			}
		case 2:
			if err := p.PreStackwalk(unwind.NullThread); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if s := readStatus(cmd.Process.Pid); s.tracer != 0 || s.state == 'T' || s.state == 't' || s.state == 'Z' {
		t.Errorf("the target is in state %c, traced by %d", s.state, s.tracer)
	}
	for _, tid := range must(tasks(cmd.Process.Pid)) {
		if s := taskState(cmd.Process.Pid, tid); s == 't' || s == 'T' {
			t.Errorf("thread %d is in state %c", tid, s)
		}
	}
	if now := len(must(os.ReadDir("/proc/self/fd"))); now > files+2 {
		t.Errorf("%d files are open, %d were before", now, files)
	}
	if now := len(must(tasks(os.Getpid()))); now > threads+40 { // the runtime's own vary
		t.Errorf("%d threads, %d were before", now, threads)
	}
}

// sigqueue sends a signal with a value.
func sigqueue(pid, sig, value int) error {
	var info [sigInfoSize]byte
	put := func(off int, v uint32) {
		for i := range 4 {
			info[off+i] = byte(v >> (8 * i))
		}
	}
	put(0, uint32(sig))
	put(8, ^uint32(0)) // SI_QUEUE
	put(16, uint32(os.Getpid()))
	put(24, uint32(value))
	return rtSigQueueInfo(pid, sig, info[:])
}

func rtSigQueueInfo(pid, sig int, info []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(sig), uintptr(unsafe.Pointer(&info[0])))
	if errno != 0 {
		return errno
	}
	return nil
}

// The end of a child that this program started itself is left for it to wait for.
func TestOwnChild(t *testing.T) {
	cmd, _ := child(t, "idle")
	p := attach(t, cmd.Process.Pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for !p.gone() {
		time.Sleep(time.Millisecond)
	}
	if _, sig, _ := p.Exited(); sig != int(unix.SIGKILL) {
		t.Errorf("ended by signal %d", sig)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if state, err := cmd.Process.Wait(); err != nil || state.String() != "signal: killed" {
		t.Errorf("%v, %v", state, err)
	}
}
