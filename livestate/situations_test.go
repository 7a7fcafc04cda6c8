//go:build linux

package livestate

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

func init() {
	roles["attach"] = func() { // what an attempt comes to, for another user
		pid, _ := strconv.Atoi(os.Getenv("LIVESTATE_PID"))
		_, err := Attach(pid)
		fmt.Println("ready")
		fmt.Println(err)
	}
	roles["leaderless"] = func() { // the first thread ends before the others
		go func() {
			runtime.LockOSThread()
			for taskState(os.Getpid(), os.Getpid()) != 'Z' {
				time.Sleep(time.Millisecond)
			}
			ready()
			time.Sleep(time.Hour)
		}()
		runtime.LockOSThread()
		time.Sleep(10 * time.Millisecond)
		unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
	roles["churn"] = func() { // threads begin and end all the time, several at a time
		for range 8 {
			go func() {
				for {
					done := make(chan bool)
					go func() { runtime.LockOSThread(); close(done) }()
					<-done
				}
			}()
		}
		ready()
		time.Sleep(time.Hour)
	}
}

// Processes that cannot be attached to are told apart.
func TestRefusals(t *testing.T) {
	cmd, _ := child(t, "idle")
	pid := cmd.Process.Pid
	attach(t, pid)
	ended := exec.Command(os.Args[0])
	ended.Env = append(os.Environ(), roleVar+"=exit")
	if err := ended.Start(); err != nil {
		t.Fatal(err)
	}
	defer ended.Wait()
	state(t, ended.Process.Pid, "Z")
	for range 2000 { // its other threads end after its first
		if ids, _ := tasks(ended.Process.Pid); len(ids) == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	thread := 0
	for _, tid := range must(tasks(pid)) {
		if tid != pid {
			thread = tid
		}
	}
	for _, tt := range []struct {
		pid  int
		err  error
		says string
	}{
		{0, ErrNoProcess, "no such process"},
		{1 << 30, ErrNoProcess, "no such process"},
		{os.Getpid(), ErrSelf, "itself"},
		{pid, ErrTraced, fmt.Sprintf("already traced by process %d (livestate.test)", os.Getpid())},
		{thread, ErrNoProcess, fmt.Sprintf("is a thread of process %d", pid)},
		{ended.Process.Pid, ErrExited, "has not waited for it"},
	} {
		p, err := Attach(tt.pid)
		if p != nil || !errors.Is(err, tt.err) || !strings.Contains(fmt.Sprint(err), tt.says) {
			t.Errorf("%d: %v, want %v and %q", tt.pid, err, tt.err, tt.says)
		}
	}
	if s := readStatus(2); s.kernel {
		if _, err := Attach(2); !errors.Is(err, ErrPermission) || !strings.Contains(err.Error(), "kernel") {
			t.Errorf("thread of the kernel: %v", err)
		}
	}
}

// Another user is told why not.
func TestPermission(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	target, _ := child(t, "idle")
	exe := filepath.Join(must(os.MkdirTemp("", "")), "attacher")
	defer os.RemoveAll(filepath.Dir(exe))
	if err := errors.Join(os.WriteFile(exe, must(os.ReadFile("/proc/self/exe")), 0o755), os.Chmod(filepath.Dir(exe), 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), roleVar+"=attach", fmt.Sprint("LIVESTATE_PID=", target.Process.Pid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	_, lines := start(t, cmd)
	if !lines.Scan() || !strings.Contains(lines.Text(), "belongs to user 0") || !strings.Contains(lines.Text(), "run as root") {
		t.Errorf("%q", lines.Text())
	}
}

// The other threads of a process whose first has ended are attached to, and it has
// memory, libraries and mappings.
func TestLeaderEnded(t *testing.T) {
	cmd, _ := child(t, "leaderless")
	pid := cmd.Process.Pid
	state(t, pid, "Z")
	p := attach(t, pid)
	checkWalkable(t, p)
	ids := must(p.ThreadIDs())
	if ids[0] == unwind.ThreadID(pid) {
		t.Error("the first thread has ended, and is listed")
	}
	if lib, ok := p.LibraryTracker().AOut(); !ok || lib.BuildID == nil && len(lib.Mappings) == 0 {
		t.Errorf("program %+v", lib)
	}
}

// checkWalkable looks at every thread as a walk begins.
func checkWalkable(t *testing.T, p *Process) {
	t.Helper()
	s, err := p.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	ids, _ := s.ThreadIDs()
	if len(ids) == 0 {
		t.Fatal("no threads")
	}
	for _, id := range ids {
		regs, err := s.Registers(id)
		if err != nil {
			t.Error(err)
			continue
		}
		pc, _ := regs.Get(s.Arch().PC)
		sp, _ := regs.Get(s.Arch().SP)
		if m, ok := s.MappingAt(pc); !ok {
			t.Errorf("thread %d: at %#x, in %+v", id, pc, m)
		}
		if _, err := s.ReadWord(sp); err != nil {
			t.Error(err)
		}
	}
}

// Threads that begin and end during the attach are all found: none runs on while all
// are stopped.
func TestChurn(t *testing.T) {
	cmd, _ := child(t, "churn")
	pid := cmd.Process.Pid
	for range 20 {
		p := attach(t, pid)
		if err := p.StopAll(); err != nil {
			t.Fatal(err)
		}
		for _, tid := range must(tasks(pid)) {
			if s := settled(pid, tid); s != 't' && s != 'Z' && s != 'X' {
				t.Errorf("thread %d is in state %c while all are stopped", tid, s)
			}
		}
		checkWalkable(t, p)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// settled returns the state of a thread that ends or stops without running code of the program: X if it was ending. The kernel may
// not have come to that yet.
func settled(pid, tid int) (state byte) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		b, err := readProc(procPath(pid, "task/"+strconv.Itoa(tid)+"/stat"))
		if err != nil {
			break
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest) // from the third on
		const exiting = 4              // PF_EXITING
		if flags, _ := strconv.ParseUint(fields[6], 10, 64); flags&exiting != 0 {
			return 'X'
		}
		if state = fields[0][0]; state != 'R' {
			break
		}
	}
	return cmp.Or(state, 'X')
}

// A program whose file was removed, or replaced, is still to be had.
func TestDeletedBinary(t *testing.T) {
	dir := t.TempDir()
	exe := filepath.Join(dir, "prog")
	data := must(os.ReadFile("/proc/self/exe"))
	if err := os.WriteFile(exe, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVar+"=idle")
	start(t, cmd)
	if err := os.Remove(exe); err != nil {
		t.Fatal(err)
	}
	p := attach(t, cmd.Process.Pid)
	if p.ExecutablePath() != exe {
		t.Errorf("path %q", p.ExecutablePath())
	}
	lib, ok := p.LibraryTracker().AOut()
	if !ok || lib.Path != exe || !lib.Deleted {
		t.Errorf("program %+v", lib)
	}
	for i, path := range p.HeldFiles(exe, true) {
		if i > 0 && os.Getuid() != 0 {
			break
		}
		if got, err := os.ReadFile(path); err != nil || len(got) != len(data) {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
	}
}

// A process in namespaces of its own: the number is ours, paths are its.
func TestNamespaces(t *testing.T) {
	fixture.Tools(t)
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Getuid() != 0 {
		t.Skip("needs root and unshare (Debian: util-linux)")
	}
	dir := t.TempDir()
	script := fmt.Sprintf("mount -t tmpfs none %s && cp /proc/%d/exe %s/inside && exec %s/inside", dir, os.Getpid(), dir, dir)
	cmd := exec.Command(unshare, "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script)
	cmd.Env = append(os.Environ(), roleVar+"=idle")
	start(t, cmd)
	pid := 0
	for _, id := range strings.Fields(string(must(os.ReadFile(procPath(cmd.Process.Pid, fmt.Sprintf("task/%d/children", cmd.Process.Pid)))))) {
		pid, _ = strconv.Atoi(id)
	}
	p := attach(t, pid)
	checkWalkable(t, p)
	if p.Root() == "" {
		t.Error("its root directory is not told apart")
	}
	if _, err := os.Stat(p.ExecutablePath()); err == nil {
		t.Fatalf("%s is here, too", p.ExecutablePath())
	}
	if _, err := os.Stat(filepath.Join(p.Root(), p.ExecutablePath())); err != nil {
		t.Error(err)
	}
}

// A process of 32 bits.
func Test32Bit(t *testing.T) {
	exe := cProgram(t, "#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts(\"ready\"); fflush(stdout); pause(); }", "-m32")
	cmd, _ := start(t, exec.Command(exe))
	p := attach(t, cmd.Process.Pid)
	if p.Arch() != arch.X86 {
		t.Fatalf("it is %s", p.Arch().Name)
	}
	checkWalkable(t, p)
}

// A process that the caller traces himself: nothing is resumed or detached.
func TestAdopt(t *testing.T) {
	cmd, _ := child(t, "idle")
	pid := cmd.Process.Pid
	work, done := make(chan func()), make(chan bool)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range work {
			f()
			done <- true
		}
	}()
	defer close(work)
	do := func(f func()) { work <- f; <-done }
	var err error
	do(func() {
		seized := map[int]bool{}
		for found := true; found; { // until no thread has begun meanwhile
			found = false
			for _, tid := range must(tasks(pid)) {
				if seized[tid] {
					continue
				}
				if err = seize(tid, 0); err != nil {
					return
				}
				seized[tid], found = true, true
				_ = interrupt(tid)
				var ws unix.WaitStatus
				_, err = unix.Wait4(tid, &ws, unix.WALL, nil)
			}
		}
	})
	if forbidden(err) || errors.Is(err, unix.EPERM) {
		t.Skip(err)
	}
	p, err := Adopt(pid, do)
	if err != nil {
		t.Fatal(err)
	}
	checkWalkable(t, p)
	for _, id := range must(p.ThreadIDs()) {
		if err := errors.Join(p.PreStackwalk(id), p.PostStackwalk(id)); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.NotificationFD(); !errors.Is(err, ErrUnsupported) {
		t.Errorf("events: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for _, tid := range must(tasks(pid)) {
		if s := taskState(pid, tid); s != 't' {
			t.Errorf("thread %d is in state %c", tid, s)
		}
	}
	do(func() {
		for _, tid := range must(tasks(pid)) {
			_ = detach(tid, 0)
		}
	})
}

// A thread in uninterruptible sleep, as the parent of a vfork is, delays nobody.
func TestUnstoppable(t *testing.T) {
	exe := cProgram(t, `
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *forker(void *a) { if (!vfork()) { for (;;) pause(); } return a; }
int main(void) { pthread_t t; pthread_create(&t, 0, forker, 0); usleep(50000); puts("ready"); fflush(stdout); pause(); }
`, "-pthread")
	cmd := exec.Command(exe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	start(t, cmd)
	defer unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	for _, tid := range must(tasks(cmd.Process.Pid)) {
		if tid != cmd.Process.Pid {
			threadState(t, cmd.Process.Pid, tid, "D")
		}
	}
	p := attach(t, cmd.Process.Pid)
	s, err := p.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var stopped, not int
	for i := range s.threads {
		switch err := s.threads[i].err; {
		case err == nil:
			stopped++
		case errors.Is(err, ErrNotStopped) && strings.Contains(err.Error(), "state D"):
			not++
		default:
			t.Error(err)
		}
	}
	for _, id := range s.Unstopped() {
		regs, err := s.Registers(id)
		pc, _ := regs.Get(s.Arch().PC)
		if m, ok := s.MappingAt(pc); err != nil || !ok || m.Perm&libstate.Exec == 0 {
			t.Errorf("asleep at %#x in %+v, %v", pc, m, err)
		}
	}
	if stopped != 1 || not != 1 {
		t.Errorf("%d stopped, %d not", stopped, not)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for range 1000 { // the kernel detaches when the tracing thread has ended
		if readStatus(cmd.Process.Pid).tracer == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("still traced")
}

// exec by another thread than the first leaves a process with one thread, and its
// new program.
func TestExecByAnotherThread(t *testing.T) {
	exe := cProgram(t, `
#include <pthread.h>
#include <unistd.h>
static void *run(void *a) { execl("/bin/sleep", "sleep", "100", (char *)0); return a; }
int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pause(); }
`, "-pthread")
	p := launch(t, exe, nil)
	if err := errors.Join(p.WatchEvents(), p.ResumeAll()); err != nil {
		t.Fatal(err)
	}
	for execed := false; !execed; {
		events, err := p.HandleDebugEvent(true)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			execed = execed || ev.Kind == EventExec
		}
	}
	if ids := must(p.ThreadIDs()); len(ids) != 1 || ids[0] != unwind.ThreadID(p.ProcessID()) {
		t.Errorf("threads %v", ids)
	}
	state(t, p.ProcessID(), "S")
	checkWalkable(t, p)
	if lib, ok := p.LibraryTracker().AOut(); !ok || !strings.HasSuffix(lib.Path, "/sleep") {
		t.Errorf("program %+v", lib)
	}
}

// A fatal signal is held: the process is as a core would show it, and dies after.
func TestHoldFatal(t *testing.T) {
	exe := cProgram(t, "int main(void) { return *(volatile int *)16; }")
	p := launch(t, exe, nil, HoldFatal())
	if err := errors.Join(p.WatchEvents(), p.ResumeAll()); err != nil {
		t.Fatal(err)
	}
	for fatal := false; !fatal; {
		events, err := p.HandleDebugEvent(true)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			fatal = fatal || ev.Kind == EventSignal && ev.Fatal
		}
	}
	if s := p.Signal(); s.Signo != int(unix.SIGSEGV) || s.Code != 1 || !s.HasAddr || s.Addr != 16 {
		t.Errorf("signal %+v", s)
	}
	checkWalkable(t, p)
	if err := p.ResumeAll(); err != nil {
		t.Fatal(err)
	}
	for !p.gone() {
		time.Sleep(time.Millisecond)
	}
	if _, sig, _ := p.Exited(); sig != int(unix.SIGSEGV) {
		t.Errorf("ended by signal %d", sig)
	}
	if err := p.StopAll(); !errors.Is(err, ErrExited) {
		t.Errorf("stopping what has ended: %v", err)
	}
}

// A program that another thread executes while the first is held is held, and goes on
// when that is released.
func TestExecWhileHeld(t *testing.T) {
	exe := cProgram(t, `
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *run(void *a) { usleep(100000); execl("/bin/sleep", "sleep", "100", (char *)0); return a; }
int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); puts("ready"); fflush(stdout); pause(); }
`, "-pthread")
	cmd, _ := start(t, exec.Command(exe))
	p := attach(t, cmd.Process.Pid)
	id := unwind.ThreadID(cmd.Process.Pid)
	if err := p.PreStackwalk(id); err != nil {
		t.Fatal(err)
	}
	for !strings.HasSuffix(p.ExecutablePath(), "/sleep") {
		time.Sleep(time.Millisecond)
	}
	threadState(t, cmd.Process.Pid, cmd.Process.Pid, "t")
	checkWalkable(t, p)
	if err := p.PostStackwalk(id); err != nil {
		t.Fatal(err)
	}
	threadState(t, cmd.Process.Pid, cmd.Process.Pid, "S")
	if p.mem.caching() {
		t.Error("the process runs, and its pages are kept")
	}
}

// What has ended while a thread was held is said to have.
func TestEndsWhileHeld(t *testing.T) {
	cmd, _ := child(t, "idle")
	p := attach(t, cmd.Process.Pid)
	ids := must(p.ThreadIDs())
	if err := p.PreStackwalk(ids[0]); err != nil {
		t.Fatal(err)
	}
	if !p.mem.caching() {
		t.Error("the process stands still, and its pages are not kept")
	}
	if err := unix.Kill(cmd.Process.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for !p.gone() {
		time.Sleep(time.Millisecond)
	}
	if err := p.PostStackwalk(ids[0]); err != nil {
		t.Error(err)
	}
	if _, err := p.Registers(ids[0]); !errors.Is(err, ErrExited) {
		t.Errorf("registers of nobody: %v", err)
	}
}

// HoldFatal holds also what died while others held it.
func TestHoldFatalWhileStopped(t *testing.T) {
	exe := cProgram(t, "#include <unistd.h>\nint main(void) { for (;;) pause(); }")
	p := launch(t, exe, nil, HoldFatal())
	if err := p.WatchEvents(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(p.ProcessID(), unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.ResumeAll(); err != nil { // from the launch
		t.Fatal(err)
	}
	for p.Signal().Signo == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := errors.Join(p.StopAll(), p.ResumeAll()); err != nil {
		t.Fatal(err)
	}
	if p.Signal().Signo != int(unix.SIGTERM) || p.gone() {
		t.Errorf("%+v", p.Signal())
	}
	if err := p.ResumeAll(); err != nil {
		t.Fatal(err)
	}
	for !p.gone() {
		time.Sleep(time.Millisecond)
	}
}
