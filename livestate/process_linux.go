package livestate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// stopTimeout is how long a stop waits for threads that the kernel cannot stop just
// now (in uninterruptible sleep).
const stopTimeout = time.Second

// A Process is a running process that this program traces. Several goroutines may use it at
// the same time.
type Process struct {
	pid  int
	opts options
	t    *tracer
	mem  memory

	program atomic.Pointer[program]
	limit   arch.Address // the highest address; 0 for all 64 bits
	gen     atomic.Uint64
	mapping atomic.Pointer[mapList]
	mapMu   sync.Mutex // held while mapping is read anew; no other lock is taken inside

	libs   liveLibraries
	events events
	fatal  atomic.Pointer[fatal] // the signal that HoldFatal stopped it at
	trap   atomic.Pointer[trap]  // changed on the tracing thread

	seeking atomic.Bool // a goroutine is waiting until the library trap can be set
}

// A program is what a process executes, until it calls exec.
type program struct {
	arch  *arch.Arch
	class int
	path  string // path of the executable; "" if not known
	auxv  libstate.Auxv
}

// newProcess makes a Process of what the tracer has attached to.
func newProcess(pid int, t *tracer, o options) *Process {
	p := &Process{pid: pid, opts: o, t: t}
	p.mem.p = p
	p.libs.p = p
	p.events.init(p)
	t.onStop = p.onStop
	t.stranger = p.forked
	t.changed = p.changed
	return p
}

// Attach attaches to every thread of a running process, which keeps running. Close
// detaches.
//
// A program that attaches to its own child must not wait for it (os.Process.Wait) before
// Close: the wait would receive stops that are meant for the Process.
func Attach(pid int, opts ...Option) (*Process, error) {
	if err := mayAttach(pid); err != nil {
		return nil, err
	}
	t := newTracer(pid)
	t.child = parent(pid) == os.Getpid()
	p := newProcess(pid, t, newOptions(opts))
	t.start()
	err := t.call(t.seizeAll)
	if err == nil {
		err = p.learn()
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Adopt makes a Process of one that the caller traces, and whose threads it has all
// stopped. do must call its argument on the tracing thread, and return after that has
// returned. The Process never resumes or detaches. It may be used until the caller resumes
// a thread, and again, after Refresh, when all threads are stopped again.
func Adopt(pid int, do func(func()), opts ...Option) (*Process, error) {
	if do == nil {
		return nil, fmt.Errorf("adopt process %d without a way to its tracing thread: %w", pid, unwind.ErrBadParam)
	}
	t := newTracer(pid)
	t.do = do
	p := newProcess(pid, t, newOptions(opts))
	ids, err := tasks(pid)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	}
	for _, tid := range ids {
		if !deadTask(pid, tid) {
			t.add(tid).stopped = true
			t.living.Store(int64(tid))
		}
	}
	t.holdAll = 1
	if err := p.learn(); err != nil {
		return nil, err
	}
	return p, nil
}

// Close detaches. Running threads keep running, a stopped process stays stopped, and
// pending signals are delivered. A second call does nothing.
func (p *Process) Close() error {
	err := p.t.call(func() error {
		p.events.close()
		if p.trap.Load() != nil {
			p.t.stopAll(stopTimeout)
			p.clearTrap()
		}
		p.t.detachAll(stopTimeout)
		return nil
	})
	p.mem.close()
	p.mem.wait.close()
	if errors.Is(err, ErrDetached) {
		return nil
	}
	return err
}

// changed is called by the tracer when the process begins to run or has stopped.
func (p *Process) changed(running bool) {
	p.gen.Add(1)
	p.mem.hold(!running)
}

func (p *Process) living() int { return int(p.t.living.Load()) }
func (p *Process) gone() bool  { return p.t.exited.Load() }

// anotherThread finds a thread that still has memory to read.
func (p *Process) anotherThread() bool {
	was := p.living()
	ids, _ := tasks(p.pid)
	for _, tid := range ids {
		if tid != was && !deadTask(p.pid, tid) {
			p.t.living.Store(int64(tid))
			return true
		}
	}
	return false
}

// learn finds out which program the process executes.
func (p *Process) learn() error {
	if deadTask(p.pid, p.living()) && !p.anotherThread() {
		return ended(p.pid)
	}
	f, err := p.executable()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return ended(p.pid) // it is about to end: its memory is gone
	}
	if err != nil {
		return fmt.Errorf("process %d: cannot read its program: %w", p.pid, err)
	}
	a := f.Arch()
	if a == nil {
		return fmt.Errorf("process %d: %w", p.pid, ErrArch)
	}
	if err := p.readable(a); err != nil {
		return err
	}
	pr := &program{arch: a, class: f.Class, path: p.opts.execPath}
	if auxv, err := os.ReadFile(procPath(p.living(), "auxv")); err == nil {
		pr.auxv = libstate.ParseAuxv(auxv, f.PtrSize(), f.Order)
	}
	if path, err := os.Readlink(procPath(p.living(), "exe")); err == nil {
		pr.path = strings.TrimSuffix(path, " (deleted)")
	}
	p.program.Store(pr)
	return nil
}

// executable returns the ELF header of the program: from its file, otherwise from
// memory.
func (p *Process) executable() (*elffile.File, error) {
	head := make([]byte, 64<<10)
	f, err := os.Open(procPath(p.living(), "exe"))
	if err == nil {
		defer f.Close()
		n, _ := f.ReadAt(head, 0)
		return elffile.Parse(head[:n])
	}
	return nil, err
}

// readable checks that this program's word is as wide as the target's.
func (p *Process) readable(a *arch.Arch) error {
	if a.WordSize == 4 {
		p.limit = 1<<32 - 1
	} else if ^uintptr(0)>>32 == 0 {
		return fmt.Errorf("process %d is a 64-bit process, but this program is a 32-bit one: use a 64-bit build: %w", p.pid, ErrArch)
	}
	return nil
}

// Arch returns the architecture of the program.
func (p *Process) Arch() *arch.Arch { return p.program.Load().arch }

// ProcessID returns the process's id in this program's pid namespace.
func (p *Process) ProcessID() int { return p.pid }

// Exited reports whether the process has ended, with its exit status or the signal that
// ended it.
func (p *Process) Exited() (status, signal int, exited bool) {
	if !p.gone() {
		return 0, 0, false
	}
	ws := p.t.status
	if ws.Signaled() {
		return 0, int(ws.Signal()), true
	}
	return ws.ExitStatus(), 0, true
}

// ThreadIDs lists the threads: the initial one first, if it is alive.
func (p *Process) ThreadIDs() ([]unwind.ThreadID, error) {
	var ids []unwind.ThreadID
	err := p.call(func() error {
		for _, l := range p.t.list() {
			ids = append(ids, unwind.ThreadID(l.tid))
			if n := len(ids) - 1; l.tid == p.pid {
				copy(ids[1:], ids[:n])
				ids[0] = unwind.ThreadID(p.pid)
			}
		}
		if len(ids) == 0 {
			return fmt.Errorf("process %d: %w", p.pid, ErrExited)
		}
		return nil
	})
	return ids, err
}

// call runs f on the tracing thread, unless the process has ended.
func (p *Process) call(f func() error) error {
	return p.t.call(func() error {
		if p.gone() {
			return fmt.Errorf("process %d: %w", p.pid, ErrExited)
		}
		return f()
	})
}

// DefaultThread returns the thread of the fatal signal at which HoldFatal stopped; or else
// the initial thread; or else, if that has ended, the one with the lowest number.
func (p *Process) DefaultThread() (unwind.ThreadID, error) {
	if f := p.fatal.Load(); f != nil {
		return f.tid, nil
	}
	ids, err := p.ThreadIDs()
	if err != nil {
		return unwind.NullThread, err
	}
	return ids[0], nil
}

// ThreadName returns a thread's name, at most 15 bytes; "" if the thread has ended.
func (p *Process) ThreadName(tid unwind.ThreadID) string { return comm(p.pid, int(tid)) }

// Activity returns what each thread does now, stopped or not, and how much it has run: read
// it before the process is stopped.
func (p *Process) Activity() map[unwind.ThreadID]Activity {
	list, _ := tasks(p.pid)
	out := make(map[unwind.ThreadID]Activity, len(list))
	for _, tid := range list {
		if a, ok := activity(p.pid, tid); ok {
			out[unwind.ThreadID(tid)] = a
		}
	}
	return out
}

// thread finds a thread. Call it on the tracing thread.
func (p *Process) thread(tid unwind.ThreadID) (*lwp, error) {
	if tid == unwind.NullThread {
		for _, l := range p.t.list() {
			if l.tid == p.pid {
				return l, nil
			}
		}
		if all := p.t.list(); len(all) > 0 {
			return all[0], nil
		}
	}
	if l := p.t.lwps[int(tid)]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("thread %d of process %d: %w", tid, p.pid, unwind.ErrNoThread)
}

// PreStackwalk stops a thread. Every call needs a PostStackwalk.
func (p *Process) PreStackwalk(tid unwind.ThreadID) error {
	return p.call(func() error {
		l, err := p.thread(tid)
		if err != nil {
			return err
		}
		return p.holdThread(l)
	})
}

// holdThread stops one thread until releaseThread.
func (p *Process) holdThread(l *lwp) error {
	if l.holds++; l.holds == 1 && p.t.holdAll == 0 {
		p.changed(false)
	}
	if l.stopped {
		return nil
	}
	p.t.awaitStops(stopTimeout, l)
	if p.t.lwps[l.tid] != l {
		return fmt.Errorf("thread %d of process %d has ended: %w", l.tid, p.pid, unwind.ErrNoThread)
	}
	if !l.stopped {
		p.releaseThread(l)
		return fmt.Errorf("thread %d of process %d, in state %c: %w", l.tid, p.pid, taskState(p.pid, l.tid), ErrNotStopped)
	}
	return nil
}

func (p *Process) releaseThread(l *lwp) {
	if l.holds == 0 {
		return
	}
	if l.holds--; l.holds == 0 && p.t.holdAll == 0 {
		p.t.release()
	}
}

// PostStackwalk resumes a thread that PreStackwalk stopped. If the thread has ended
// meanwhile, it does nothing.
func (p *Process) PostStackwalk(tid unwind.ThreadID) error {
	return p.t.call(func() error {
		if l, err := p.thread(tid); err == nil {
			p.releaseThread(l)
		}
		return nil
	})
}

// StopAll stops every thread. Each call needs a ResumeAll. It does not fail because of
// threads that the kernel cannot stop just now; their Registers fail with ErrNotStopped.
func (p *Process) StopAll() error {
	return p.call(func() error {
		p.t.stopAll(stopTimeout)
		return nil
	})
}

// ResumeAll resumes the process after the last StopAll, or after HoldFatal has stopped it.
func (p *Process) ResumeAll() error {
	return p.t.call(func() error {
		if p.t.holdAll <= 1 {
			p.fatal.Store(nil)
		}
		p.t.resumeAll()
		return nil
	})
}

// IsFirstParty returns false.
func (p *Process) IsFirstParty() bool { return false }

// ExecutablePath returns the path of the program in its own mount namespace.
func (p *Process) ExecutablePath() string {
	return p.program.Load().path
}

// Auxv returns the process's auxiliary vector.
func (p *Process) Auxv() libstate.Auxv { return p.program.Load().auxv }

// ReadMem reads memory as it is now; while a thread is stopped, as it was when it was first
// read in this stop. If it reads less than len(buf), the error is a *arch.MemError.
func (p *Process) ReadMem(addr arch.Address, buf []byte) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	return p.mem.read(addr, buf)
}

// ReadWord reads one pointer-sized integer.
func (p *Process) ReadWord(addr arch.Address) (uint64, error) {
	a := p.Arch()
	return p.mem.word(addr, a.WordSize, a.ByteOrder)
}

// maps returns the mappings as they are in this stop, or were in the last one.
func (p *Process) maps() *mapList {
	gen := p.gen.Load()
	if l := p.mapping.Load(); l != nil && l.gen == gen {
		return l
	}
	p.mapMu.Lock()
	defer p.mapMu.Unlock()
	old := p.mapping.Load()
	if old != nil && (old.gen == gen || p.gone()) {
		return old
	}
	list, err := readMaps(p.living())
	if err != nil || len(list) == 0 {
		return old // the process has ended: this is what was last known
	}
	l := &mapList{list: list, gen: gen, files: fingerprint(list)}
	p.mapping.Store(l)
	return l
}

// Mappings lists the process's mappings, ascending and disjoint.
func (p *Process) Mappings() []libstate.Mapping {
	if l := p.maps(); l != nil {
		return append([]libstate.Mapping(nil), l.list...)
	}
	return nil
}

// MappingAt returns the mapping that contains addr.
func (p *Process) MappingAt(addr arch.Address) (libstate.Mapping, bool) {
	if l := p.maps(); l != nil {
		return l.at(addr)
	}
	return libstate.Mapping{}, false
}

// Kill ends the process, as SIGKILL does.
func (p *Process) Kill() error { return unix.Kill(p.pid, unix.SIGKILL) }
