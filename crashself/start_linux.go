//go:build amd64 || arm64

package crashself

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// marker is the environment variable that makes a process the watcher: the number of the process that it watches.
const marker = "COREWALK_CRASHSELF_WATCHES"

// Descriptors of the watcher: the pipe's end, and the options.
const pipeFD, optionsFD = 3, 4

// maxOptions limits the options, in bytes.
const maxOptions = 64 << 10

// settings are what the watcher gets: the options, and what it cannot know.
type settings struct {
	Options
	Output  int // the descriptor in the program; -1 for none
	Program string
}

var running struct {
	sync.Mutex
	options *os.File // which the watcher reads when there is a crash; nil if no watcher was started
	own     int      // the pipe's end for signals of which the runtime says nothing; -1 for none
	err     error    // why the import could not start it
}

// begin makes this process the watcher, or starts one.
func begin() {
	if of, ok := os.LookupEnv(marker); ok {
		os.Unsetenv(marker)
		if pid, err := strconv.Atoi(of); err == nil && pid == os.Getppid() { // else it has ended already
			watch(pid)
		}
		os.Exit(0) // never the program's own code
	}
	running.Lock()
	defer running.Unlock()
	running.err = launch(Options{})
}

func start(o Options) error {
	running.Lock()
	defer running.Unlock()
	if running.options == nil {
		running.err = launch(o)
		return running.err
	}
	return tell(running.options, o)
}

func stop() error {
	running.Lock()
	defer running.Unlock()
	if running.options == nil {
		return errors.Join(ErrNotRunning, running.err)
	}
	running.options.Close()
	running.options = nil
	if unforeign(); running.own >= 0 {
		_ = unix.Close(running.own)
	}
	return debug.SetCrashOutput(nil, debug.CrashOptions{}) // ends the pipe
}

// tell puts the options where the watcher reads them.
func tell(f *os.File, o Options) error {
	if o.Dir == "" {
		o.Dir = os.Getenv("CRASHSELF_DIR")
	}
	if o.Dir == "" {
		o.Dir = filepath.Join(os.TempDir(), fmt.Sprintf("crashes-%d", os.Geteuid()))
	}
	s := settings{Options: o, Output: -1, Program: filepath.Base(os.Args[0])}
	if o.Output != nil {
		s.Output = int(o.Output.Fd())
	}
	s.Options.Output = nil
	var err error
	if s.Dir, err = filepath.Abs(o.Dir); err != nil {
		return fmt.Errorf("crashself: %w", err)
	}
	if exe, err := os.Executable(); err == nil {
		s.Program = filepath.Base(exe)
	}
	b, err := json.Marshal(&s)
	if err == nil && len(b) >= maxOptions {
		err = fmt.Errorf("the options have %d bytes", len(b))
	}
	if err != nil {
		return fmt.Errorf("crashself: %w", err)
	}
	// One write: a crash in the middle of two would find half of them.
	if _, err := f.WriteAt(append(b, make([]byte, maxOptions-len(b))...), 0); err != nil {
		return fmt.Errorf("crashself: %w", err)
	}
	return nil
}

// launch starts the watcher.
func launch(o Options) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrNotRunning, err)
		}
	}()
	if os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() {
		return errors.New("the program has privileges that its caller has not")
	}
	fd, err := unix.MemfdCreate("crashself", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	options := os.NewFile(uintptr(fd), "options")
	if err := tell(options, o); err != nil {
		options.Close()
		return err
	}
	// Each piece of text that the runtime writes takes a page of its own, and there is one.
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_DIRECT); err != nil {
		options.Close()
		return err
	}
	in, out := os.NewFile(uintptr(ends[0]), "pipe"), os.NewFile(uintptr(ends[1]), "pipe")
	defer in.Close()
	defer out.Close()
	_, err = unix.FcntlInt(out.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err != nil {
		options.Close()
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		options.Close()
		return err
	}
	defer null.Close()
	// Not by os/exec: a goroutine that waits would hide deadlocks from the runtime.
	p, err := os.StartProcess("/proc/self/exe", []string{os.Args[0] + " (crashself)"}, &os.ProcAttr{
		Dir: "/", Env: append(os.Environ(), marker+"="+strconv.Itoa(os.Getpid())),
		Files: []*os.File{null, null, null, in, options},
		Sys:   &syscall.SysProcAttr{Setsid: true}, // signals from the terminal are for the program
	})
	if err != nil {
		options.Close()
		return err
	}
	// Where only ancestors may trace (Yama), this one may, too. Elsewhere the kernel does not know the word.
	_ = unix.Prctl(unix.PR_SET_PTRACER, uintptr(p.Pid), 0, 0, 0)
	_ = p.Release()
	if err := debug.SetCrashOutput(out, debug.CrashOptions{}); err != nil {
		options.Close()
		return err
	}
	if running.own, err = unix.FcntlInt(out.Fd(), unix.F_DUPFD_CLOEXEC, 0); err == nil {
		foreign(running.own)
	}
	running.options = options
	return nil
}
