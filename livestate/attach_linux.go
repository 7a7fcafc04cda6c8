package livestate

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// baseOptions are the options with which every thread is traced: the kernel attaches to
// threads that it creates before they run, and exec is reported.
const baseOptions = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC

// kthreadd is the process whose children are the kernel's threads; on older kernels
// only that identifies them.
const kthreadd = 2

// mayAttach checks what can be checked before anything is touched.
func mayAttach(pid int) error {
	if pid <= 0 {
		return fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	}
	if pid == os.Getpid() {
		return fmt.Errorf("process %d is this program: %w", pid, ErrSelf)
	}
	s := readStatus(pid)
	switch {
	case !s.ok:
		return fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	case s.tgid != pid:
		return fmt.Errorf("%d is a thread of process %d (%s): attach to the process: %w", pid, s.tgid, s.name, ErrNoProcess)
	case s.kernel || s.noMemory && (pid == kthreadd || parent(pid) == kthreadd):
		return fmt.Errorf("process %d (%s) is a kernel thread, whose stack cannot be read from here: %w", pid, s.name, ErrPermission)
	case s.tracer != 0:
		return fmt.Errorf("process %d (%s) is already traced by %s: %w", pid, s.name, describe(s.tracer), ErrTraced)
	}
	return nil
}

// describe returns a name of a process for messages.
func describe(pid int) string {
	s := readStatus(pid)
	if !s.ok {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d (%s)", s.tgid, s.name)
}

// maxRounds limits how often the list of threads is read again. The kernel attaches to
// threads that an attached one creates, so a few rounds find all.
const maxRounds = 1000

// seizeAll attaches to every thread: it reads the list of threads until it has no new
// ones.
func (t *tracer) seizeAll() error {
	dead := map[int]bool{}
	reaper := newReaper(t.pid)
	defer func() {
		for _, w := range reaper.close() {
			t.handle(w)
		}
	}()
	for range maxRounds {
		ids, err := tasks(t.pid)
		if err != nil {
			return fmt.Errorf("process %d: %w", t.pid, ErrNoProcess)
		}
		fresh := 0
		for _, tid := range ids {
			if t.lwps[tid] != nil || dead[tid] {
				continue
			}
			fresh++
			reaped, err := reaper.request(func() error { return t.seize(tid) })
			for _, w := range reaped {
				dead[w.tid] = true
				t.handle(w)
			}
			if errors.Is(err, ErrExited) {
				dead[tid] = true
			} else if err != nil {
				return err
			}
		}
		t.drain()
		switch {
		case len(t.lwps) == 0 && (t.exited.Load() || len(dead) == len(ids)):
			return ended(t.pid)
		case fresh == 0:
			return nil
		}
	}
	return fmt.Errorf("process %d creates threads faster than corewalk can attach to them", t.pid)
}

// ended returns the error for a process that has ended.
func ended(pid int) error {
	if ppid := parent(pid); ppid != 0 {
		return fmt.Errorf("process %d has ended, but its parent (%s) has not waited for it: %w", pid, describe(ppid), ErrExited)
	}
	return fmt.Errorf("process %d: %w", pid, ErrExited)
}

func parent(pid int) int {
	b, _ := os.ReadFile(procPath(pid, "stat"))
	if i := strings.LastIndexByte(string(b), ')'); i >= 0 {
		var state byte
		var ppid int
		fmt.Sscanf(string(b[i+1:]), " %c %d", &state, &ppid)
		return ppid
	}
	return 0
}

// seizeAgain is how often a refusal to attach is doubted.
const seizeAgain = 20

// seize attaches to one thread. ErrExited means that it has ended.
func (t *tracer) seize(tid int) error {
	err := seize(tid, baseOptions)
	for n := 0; n < seizeAgain && err == unix.EPERM && !deadTask(t.pid, tid) && readStatus(tid).tracer == 0; n++ {
		time.Sleep(longPause) // it may be in the middle of exec, when nobody is allowed to
		err = seize(tid, baseOptions)
	}
	if err == nil {
		t.add(tid)
		if deadTask(t.pid, int(t.living.Load())) {
			t.living.Store(int64(tid))
		}
		return nil
	}
	if err == unix.ESRCH || deadTask(t.pid, tid) {
		return ErrExited
	}
	s := readStatus(tid)
	switch {
	case s.tracer == t.tid: // the kernel attached to it when an attached thread created it
		t.add(tid)
		return nil
	case s.tracer != 0:
		return fmt.Errorf("thread %d of process %d is already traced by %s: %w", tid, t.pid, describe(s.tracer), ErrTraced)
	}
	return fmt.Errorf("process %d (%s): %w", t.pid, s.name, refused(err, s))
}

// refused explains why the kernel does not allow us to trace a process: ptrace(2),
// "Ptrace access mode checking", and the kernel's
// Documentation/admin-guide/LSM/Yama.rst.
func refused(err error, s status) error {
	if err != unix.EPERM && err != unix.EACCES {
		return fmt.Errorf("%w: %v", ErrPermission, err)
	}
	why := "its privileges may have changed, or this program runs in a sandbox that forbids ptrace"
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	switch me := os.Geteuid(); {
	case me != 0 && (s.uids[0] != me || s.uids[1] != me || s.uids[2] != me):
		why = fmt.Sprintf("it belongs to user %d (effective user %d), and this is user %d: run as root", s.uids[0], s.uids[1], me)
	case strings.TrimSpace(string(scope)) == "1":
		why = "kernel.yama.ptrace_scope is 1, so only its parent may trace a process: run as root, or set it to 0"
	case strings.TrimSpace(string(scope)) == "2":
		why = "kernel.yama.ptrace_scope is 2, so only root may trace: run as root"
	case strings.TrimSpace(string(scope)) == "3":
		why = "kernel.yama.ptrace_scope is 3: nobody may trace until the next reboot"
	case me != 0:
		why = "it may have been started setuid or with capabilities, or made itself not dumpable: run as root"
	}
	return fmt.Errorf("%w: %s", ErrPermission, why)
}
