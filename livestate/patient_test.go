//go:build linux

package livestate

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A process whose stack has pages that another program never fills: reading them does not
// return. Nobody waits for it, and the process runs on.
func TestMemoryThatNeverComes(t *testing.T) {
	exe := cProgram(t, `
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { used = 1 << 20, missing = 1 << 16 };
static void *on_it(void *a) { puts("ready"); fflush(stdout); pause(); return a; }
int main(void) {
	struct uffdio_api api = {.api = UFFD_API};
	char *stack = mmap(0, used + missing, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register r = {.range = {(unsigned long)stack, used + missing}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	memset(stack, 1, used);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &r)) { puts("no userfaultfd"); return 0; }
	pthread_attr_t at; pthread_attr_init(&at); pthread_attr_setstack(&at, stack, used);
	pthread_t t; pthread_create(&t, &at, on_it, 0);
	pause();
}
`, "-pthread")
	cmd := exec.Command(exe)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	said := make([]byte, 5)
	if _, err := out.Read(said); err != nil || string(said) != "ready" {
		t.Skipf("this user may not use userfaultfd(2): %q, %v", said, err)
	}
	p := attach(t, cmd.Process.Pid)
	p.mem.wait.limit = 20 * time.Millisecond
	s, err := p.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.threads) != 2 {
		t.Fatalf("%d threads", len(s.threads))
	}
	main, other := s.threads[0].sp, s.threads[1].sp
	if _, err := s.ReadWord(main); err != nil {
		t.Errorf("the other thread's stack: %v", err)
	}
	// Below the stack pointer: it was not copied.
	if _, err := s.ReadWord(other - 4*pageSize); err == nil {
		t.Error("memory was read where reading did not end before")
	}
	if n := len(p.mem.late); n != 1 {
		t.Errorf("%d ranges", n)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if st := readStatus(cmd.Process.Pid); st.tracer != 0 || st.state == 't' || st.state == 'T' {
		t.Errorf("afterwards: state %c, traced by %d", st.state, st.tracer)
	}
	_ = unix.Kill(cmd.Process.Pid, unix.SIGKILL)
}

// After a few reads that do not return, no more are tried.
func TestPatience(t *testing.T) {
	p := patient{limit: time.Millisecond}
	never := make(chan bool)
	for i := range maxStuck {
		if _, late := p.read(make([]byte, 1), func([]byte) int { <-never; return 1 }); !late {
			t.Errorf("read %d ended", i)
		}
	}
	if _, late := p.read(make([]byte, 1), func([]byte) int { t.Error("another one was tried"); return 1 }); !late {
		t.Error("another one ended")
	}
	close(never)
}
