package livestate

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/unwind"
)

// Launch starts a program and attaches to it before its first instruction. The program is
// stopped, as by StopAll, until ResumeAll. argv[0] is the program's name; a nil argv is the
// same as exe alone. exe must be a path. Close detaches, and the program continues.
func Launch(exe string, argv []string, opts ...Option) (*Process, error) {
	if exe == "" {
		return nil, fmt.Errorf("launch: need the path of a program: %w", unwind.ErrBadParam)
	}
	if len(argv) == 0 {
		argv = []string{exe}
	}
	o := newOptions(opts)
	if o.files == nil {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("launch %s: %w", exe, err)
		}
		defer null.Close()
		o.files = []*os.File{null, null, null}
	}
	t := newTracer(0)
	p := newProcess(0, t, o)
	t.start()
	err := t.call(func() error {
		err := t.launch(exe, argv, &os.ProcAttr{Dir: o.dir, Env: o.env, Files: o.files, Sys: &syscall.SysProcAttr{Ptrace: true}})
		p.pid = t.pid
		return err
	})
	if err == nil {
		err = p.learn()
	}
	if err != nil {
		if t.pid != 0 && !p.gone() {
			_ = p.Kill()
		}
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// launch starts the program on the tracing thread. A child can only ask to be traced
// with PTRACE_TRACEME, which allows no interrupting of threads and hides job-control
// stops. So launch detaches from it with SIGSTOP, which the child gets before it
// executes anything, seizes it, and wakes it with SIGCONT, which is not delivered.
func (t *tracer) launch(exe string, argv []string, attr *os.ProcAttr) error {
	child, err := os.StartProcess(exe, argv, attr)
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	t.pid = child.Pid
	t.living.Store(int64(t.pid))
	_ = child.Release()
	var ws unix.WaitStatus
	for {
		if _, err = unix.Wait4(t.pid, &ws, unix.WALL|noThread, nil); err != unix.EINTR {
			break
		}
	}
	if err != nil || !ws.Stopped() {
		t.exited.Store(true)
		return fmt.Errorf("launch %s: it ended before its first instruction: %w", exe, ErrExited)
	}
	t.holdAll = 1
	t.changed(false)
	l := t.add(t.pid)
	if err := detach(t.pid, int(unix.SIGSTOP)); err != nil {
		return fmt.Errorf("launch %s: %w", exe, err)
	}
	if err := seize(t.pid, baseOptions); err != nil {
		return fmt.Errorf("launch %s: %w", exe, refused(err, readStatus(t.pid)))
	}
	none := func(d time.Duration) {}
	if !t.await(stopTimeout, t.drain, func() bool { return l.stopped && l.group }, none) {
		return fmt.Errorf("launch %s: %w", exe, ErrNotStopped)
	}
	if err := unix.Kill(t.pid, unix.SIGCONT); err != nil {
		return fmt.Errorf("launch %s: %w", exe, err)
	}
	l.group = false
	for l.sig != int(unix.SIGCONT) && !t.exited.Load() {
		t.resume(l)
		if !t.await(stopTimeout, t.drain, func() bool { return l.stopped || t.exited.Load() }, none) {
			return fmt.Errorf("launch %s: %w", exe, ErrNotStopped)
		}
	}
	l.sig = 0
	return nil
}
