//go:build amd64 || arm64

package crashself

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/carry/capture"
	"github.com/corewalk/corewalk/internal/live/livecore"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

const (
	// findTime is how long the thread that prints is looked for: other writers than the program have none.
	findTime = 2 * time.Second
	// mostHeld is how long the program is kept from ending, unless it waits for the report.
	mostHeld = 10 * time.Second
	// reportTime is how long a report may take, and reportGrace how long after that the watcher ends.
	reportTime, reportGrace = 60 * time.Second, 10 * time.Second
	// maxText limits what is kept of the runtime's text, in bytes.
	maxText = 64 << 20
)

// A watcher keeps the crash of one process.
type watcher struct {
	pid  int
	pipe *os.File
	name string // of the pipe, as /proc has it
	text []byte // what was read of it while no thread was found
	settings
	dir string
}

// watch waits for the end of the process, and keeps it if it is a crash.
func watch(pid int) {
	// What ends the program must not end the watcher before.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", pipeFD))
	if err != nil || !strings.HasPrefix(name, "pipe:") {
		return
	}
	w := &watcher{pid: pid, pipe: os.NewFile(pipeFD, "pipe"), name: name}
	for patience := findTime; w.await(); patience = findTime / 200 {
		tid := w.find(patience)
		if tid != 0 {
			w.crashed(tid)
			return
		}
		if !w.drainOne() {
			break
		}
	}
	if len(w.text) > 0 && w.configure() == nil && w.makeDir() == nil {
		w.put("runtime.txt", w.text)
		w.log("the program was gone before it could be stopped, or it cannot be traced")
	}
}

// await waits until the runtime printed something; false if it never will.
func (w *watcher) await() bool {
	fds := []unix.PollFd{{Fd: pipeFD, Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		if err == unix.EINTR {
			continue
		}
		return err == nil && fds[0].Revents&unix.POLLIN != 0
	}
}

// drainOne reads one piece of text; false at the end.
func (w *watcher) drainOne() bool {
	buf := make([]byte, 64<<10)
	n, err := w.pipe.Read(buf)
	if len(w.text)+n <= maxText {
		w.text = append(w.text, buf[:max(n, 0)]...)
	}
	return n > 0 && err == nil
}

// find returns the thread of the program that waits for room in the pipe; 0 if there is none.
func (w *watcher) find(patience time.Duration) int {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		dirs, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", w.pid))
		for _, d := range dirs {
			tid, err := strconv.Atoi(d.Name())
			if err == nil && w.prints(tid) {
				return tid
			}
		}
		if len(dirs) == 0 || time.Now().After(end) {
			return 0
		}
	}
}

// prints reports whether a thread is in a call that writes to the pipe.
func (w *watcher) prints(tid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", w.pid, tid))
	f := strings.Fields(string(b))
	if err != nil || len(f) < 2 || f[0] != strconv.Itoa(unix.SYS_WRITE) {
		return false
	}
	fd, err := strconv.ParseUint(strings.TrimPrefix(f[1], "0x"), 16, 31)
	if err != nil {
		return false
	}
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", w.pid, fd))
	return err == nil && to == w.name
}

// configure reads the options.
func (w *watcher) configure() error {
	b := make([]byte, maxOptions)
	n, err := os.NewFile(optionsFD, "options").ReadAt(b, 0)
	if n == 0 {
		return err
	}
	return json.Unmarshal(bytes.TrimRight(b[:n], "\x00"), &w.settings)
}

// crashed keeps the crash of which the thread prints.
func (w *watcher) crashed(tid int) {
	release := time.AfterFunc(mostHeld, func() {
		w.log("gave up after %v: the program could not be read", mostHeld)
		os.Exit(1) // the kernel lets the program go, and the pipe ends
	})
	if w.configure() != nil || w.makeDir() != nil {
		return
	}
	stderr := w.take(2)
	output := w.take(w.Output)
	p, err := w.capture(tid)
	if err != nil {
		w.log("no core: %v", err)
	}
	release.Stop()
	time.AfterFunc(reportTime+reportGrace, func() {
		w.log("the report took too long")
		os.Exit(1)
	})
	free := func() {
		if p != nil {
			_ = p.Close()
		}
		w.rest(output)
		if stderr != nil && !w.Quiet {
			say(stderr, "crashself: "+w.dir+"\n")
		}
	}
	wait := w.Wait || dieWith(w.pid)
	if !wait {
		free()
	}
	if err == nil && !w.NoReport {
		if err := w.report(); err != nil {
			w.log("no report: %v", err)
		}
	}
	if wait {
		free()
	}
}

// take returns a copy of one of the program's descriptors; nil if it has none there.
func (w *watcher) take(fd int) *os.File {
	if fd < 0 {
		return nil
	}
	pidfd, err := unix.PidfdOpen(w.pid, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(pidfd)
	got, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(got), "output")
}

// sayTime is how long it may take to write to a pipe that nobody reads.
const sayTime = time.Second

// say writes text to where the program would, and closes it.
func say(f *os.File, text string) {
	done := make(chan struct{})
	go func() {
		_, _ = f.WriteString(text)
		f.Close()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(sayTime):
	}
}

// initialPIDs is the number of the pid namespace that is no container's (include/linux/proc_ns.h).
const initialPIDs = 0xeffffffc

// dieWith reports whether this process ends with the program: when the first process of a container ends, all are killed.
func dieWith(pid int) bool {
	var st unix.Stat_t
	if unix.Stat("/proc/self/ns/pid", &st) == nil && st.Ino == initialPIDs {
		return false
	}
	if pid == 1 {
		return true
	}
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return bytes.Contains(b, []byte("\nPPid:\t1\n"))
}

// capture stops the program and writes its core. The program stays stopped until the Process is closed, which may be nil.
func (w *watcher) capture(tid int) (*livestate.Process, error) {
	p, err := livestate.Attach(w.pid, livestate.NoLibraryEvents())
	if err != nil {
		return nil, err
	}
	if err := p.StopAll(); err != nil {
		return p, err
	}
	// What the runtime would end the program with if it were told to dump core (GOTRACEBACK=crash).
	death := livecore.Death{Thread: unwind.ThreadID(tid), Signal: corestate.SignalInfo{Source: corestate.FullSigInfo,
		Signo: int(unix.SIGABRT), Code: siTKill, HasSender: true, PID: w.pid, UID: os.Getuid()}}
	head, err := livecore.Head(p, death)
	if err != nil {
		return p, err
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", w.pid))
	if err != nil {
		return p, err
	}
	defer mem.Close()
	from := capture.Process{Memory: mem, Resident: resident(w.pid)}
	if pm, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", w.pid)); err == nil {
		defer pm.Close()
		from.Pagemap = pm
	}
	taken, err := capture.Take(bytes.NewReader(head), from, capture.Limits{Memory: w.Memory, Stack: w.Stack, Reach: w.Reach})
	if taken == nil || taken.Core == nil {
		return p, err
	}
	f, cerr := os.OpenFile(filepath.Join(w.dir, "core"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if cerr != nil {
		return p, cerr
	}
	_, werr := taken.Write(f)
	return p, errors.Join(werr, f.Close())
}

// siTKill is the code of a signal that a thread sent to itself (include/uapi/asm-generic/siginfo.h).
const siTKill = -6

// resident returns how much memory of its own a process has, in bytes.
func resident(pid int) (n uint64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		if f := strings.Fields(value); len(f) > 0 && (key == "RssAnon" || key == "RssShmem" || key == "VmSwap") {
			kb, _ := strconv.ParseUint(f[0], 10, 40)
			n += kb << 10
		}
	}
	return n
}

// rest reads what the runtime prints until the program is gone.
func (w *watcher) rest(output *os.File) {
	f, err := os.OpenFile(filepath.Join(w.dir, "runtime.txt"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		w.log("%v", err)
		f = nil
	}
	to := io.Discard
	if f != nil {
		defer f.Close()
		to = f
	}
	if output != nil {
		defer output.Close()
		to = io.MultiWriter(to, ignoring{output})
	}
	if _, err := to.Write(w.text); err == nil {
		_, err = io.Copy(to, io.LimitReader(w.pipe, maxText))
		if err != nil {
			w.log("runtime.txt: %v", err)
		}
	}
	_, _ = io.Copy(io.Discard, w.pipe) // the program must not wait for room
}

// ignoring is a writer whose failures do not matter to others.
type ignoring struct{ w io.Writer }

func (i ignoring) Write(b []byte) (int, error) {
	_, _ = i.w.Write(b)
	return len(b), nil
}

// report makes the report of the core.
func (w *watcher) report() error {
	ctx, cancel := context.WithTimeout(context.Background(), reportTime)
	defer cancel()
	t, err := corewalk.Open(ctx, filepath.Join(w.dir, "core"), corewalk.WithExecutable("/proc/self/exe"))
	if t == nil {
		return err
	}
	defer t.Close()
	made, err := t.Analyze(ctx, corewalk.AnalyzeOptions{})
	if err != nil {
		return err
	}
	return errors.Join(w.write("report.txt", func(out io.Writer) error { return report.WriteText(out, made, report.TextOptions{}) }),
		w.write("report.json", func(out io.Writer) error { return report.WriteJSON(out, made) }))
}

// write has a file of the crash written, whole or not at all.
func (w *watcher) write(name string, content func(io.Writer) error) error {
	path := filepath.Join(w.dir, name)
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(content(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// put writes a file of the crash, whole or not at all.
func (w *watcher) put(name string, b []byte) error {
	return w.write(name, func(out io.Writer) error {
		_, err := out.Write(b)
		return err
	})
}
