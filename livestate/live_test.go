//go:build linux

package livestate

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// The tests' programs are this test's own binary, which does what the variable
// says instead of testing.
const roleVar = "LIVESTATE_ROLE"

var roles = map[string]func(){
	"idle":    func() { ready(); time.Sleep(time.Hour) },
	"threads": manyThreads,
	"busy":    busy,
	"fault":   fault,
	"exit":    func() { os.Exit(7) },
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		roles[role]()
		return
	}
	os.Exit(m.Run())
}

// ready tells the test that the program is where it should be.
func ready() { fmt.Println("ready") }

// manyThreads has a hundred threads that wait in a system call.
func manyThreads() {
	for range 100 {
		r, _, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		fd := int(r.Fd()) // blocking from here on
		go func() {
			runtime.LockOSThread()
			var b [1]byte
			_, _ = unix.Read(fd, b[:])
		}()
	}
	time.Sleep(50 * time.Millisecond)
	ready()
	time.Sleep(time.Hour)
}

// busy computes on several threads, makes and ends threads, and counts.
func busy() {
	for range 4 {
		go func() {
			for i := 0; ; i++ {
				if i%1000 == 0 {
					done := make(chan bool)
					go func() { runtime.LockOSThread(); close(done) }() // the thread ends with it
					<-done
				}
			}
		}()
	}
	ready()
	for {
		time.Sleep(10 * time.Millisecond)
		if _, err := fmt.Println("tick"); err != nil {
			os.Exit(1)
		}
	}
}

func fault() {
	ready()
	_ = unix.Kill(os.Getpid(), unix.SIGQUIT)
	time.Sleep(time.Hour)
}

// child starts a program of the tests and waits until it is ready.
func child(t testing.TB, role string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	return start(t, cmd)
}

// start starts a program that says "ready" when it is.
func start(t testing.TB, cmd *exec.Cmd) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("%s says %q", cmd, lines.Text())
	}
	return cmd, lines
}

// forbidden reports whether this machine forbids ptrace. Root may trace what is his,
// but in a sandbox.
func forbidden(err error) bool { return errors.Is(err, ErrPermission) || errors.Is(err, unix.ENOSYS) }

// attach attaches, or skips the test where that is forbidden.
func attach(t *testing.T, pid int, opts ...Option) *Process {
	t.Helper()
	p, err := Attach(pid, opts...)
	if forbidden(err) {
		t.Skipf("this machine forbids ptrace: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestAttachAndRead(t *testing.T) {
	cmd, _ := child(t, "idle")
	p := attach(t, cmd.Process.Pid)
	ids, err := p.ThreadIDs()
	if err != nil || len(ids) == 0 || ids[0] != unwind.ThreadID(cmd.Process.Pid) {
		t.Fatalf("threads %v, %v", ids, err)
	}
	if err := p.StopAll(); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		regs, err := p.Registers(id)
		if err != nil {
			t.Fatal(err)
		}
		pc, _ := regs.Get(p.Arch().PC)
		if m, ok := p.MappingAt(pc); !ok || m.Perm.String()[2] != 'x' {
			t.Errorf("thread %d is at %#x, in %+v", id, pc, m)
		}
		sp, _ := regs.Get(p.Arch().SP)
		if _, err := p.ReadWord(sp); err != nil {
			t.Error(err)
		}
	}
	lib, ok := p.LibraryTracker().AOut()
	if !ok || !strings.HasSuffix(lib.Path, "livestate.test") {
		t.Errorf("program %+v", lib)
	}
	head := make([]byte, 4)
	if _, err := p.ReadMem(lib.HeaderAddr, head); err != nil || string(head) != "\x7fELF" {
		t.Errorf("%q, %v", head, err)
	}
	if err := p.ResumeAll(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if s := readStatus(cmd.Process.Pid); s.tracer != 0 || s.state == 'T' || s.state == 't' {
		t.Errorf("after detaching: %+v", s)
	}
}
