package unwind

import (
	"context"
	"fmt"
	"sync"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Walker walks the call stacks of one process.
//
// It may be used by several goroutines, also for different threads of a process
// at a time, as far as its parts allow. Close it when libraries can still come
// and go; it holds nothing else.
type Walker struct {
	proc   ProcessState
	group  StepperGroup
	lookup SymbolLookup
	reader SymbolReader
	arch   *arch.Arch
	// codeMask is the process's own; 0 for the architecture's.
	codeMask Address

	maxFrames int
	explain   bool
	verify    bool
	cancel    func()

	hookMu sync.Mutex
	walks  map[ThreadID]int // walks of a thread under way
	nameMu sync.Mutex
}

// DefaultMaxFrames bounds a walk unless WithMaxFrames says otherwise. The
// deepest stack of an 8 MB thread with the smallest frames there are (16 bytes)
// fits.
const DefaultMaxFrames = 1 << 20

// An Option configures a Walker.
type Option func(*Walker) error

// WithGroup uses the given group instead of an empty AddrRangeGroup.
func WithGroup(g StepperGroup) Option {
	return func(w *Walker) error { w.group = g; return nil }
}

// WithSymbolLookup sets what names frames.
func WithSymbolLookup(l SymbolLookup) Option {
	return func(w *Walker) error { w.lookup = l; return nil }
}

// WithSymbolReader sets what steppers find functions with.
func WithSymbolReader(r SymbolReader) Option {
	return func(w *Walker) error { w.reader = r; return nil }
}

// WithMaxFrames bounds the frames of one stack; it must be positive.
func WithMaxFrames(n int) Option {
	return func(w *Walker) error {
		if n <= 0 {
			return fmt.Errorf("limit of %d frames: %w", n, ErrBadParam)
		}
		w.maxFrames = n
		return nil
	}
}

// WithExplain makes frames remember which steppers were asked for them and what
// those said (Frame.Attempts). It costs memory and time.
func WithExplain() Option {
	return func(w *Walker) error { w.explain = true; return nil }
}

// NewWalker returns a walker over proc. Without options it has an empty group,
// so that every walk ends at its first frame, and names nothing: the corewalk
// package's NewWalker fills both in. ErrBadParam without a ProcessState.
func NewWalker(proc ProcessState, opts ...Option) (*Walker, error) {
	if proc == nil {
		return nil, fmt.Errorf("new walker without a process: %w", ErrBadParam)
	}
	w := &Walker{proc: proc, arch: proc.Arch(), maxFrames: DefaultMaxFrames, walks: map[ThreadID]int{}}
	if m, ok := proc.(CodeMasker); ok {
		w.codeMask = m.CodeMask()
	}
	for _, o := range opts {
		if err := o(w); err != nil {
			return nil, err
		}
	}
	if w.group == nil {
		w.group = NewAddrRangeGroup()
	}
	if libs := proc.LibraryTracker(); libs != nil {
		w.cancel = libs.Subscribe(func(l *libstate.Library, c libstate.Change) { w.group.NewLibraryNotification(l, c) })
	}
	return w, nil
}

// Close ends the walker's subscription to library changes. Frames stay usable.
func (w *Walker) Close() error {
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
	return nil
}

// ProcessState is the process that the walker walks.
func (w *Walker) ProcessState() ProcessState { return w.proc }

// StepperGroup is the group that decides which stepper is asked.
func (w *Walker) StepperGroup() StepperGroup { return w.group }

// SymbolLookup is what names frames, or nil.
func (w *Walker) SymbolLookup() SymbolLookup { return w.lookup }

// SymbolReader is what steppers find functions with, or nil.
func (w *Walker) SymbolReader() SymbolReader { return w.reader }

// CodeAddress strips from a code pointer of the process what is no part of the
// address: signature bits, the bit for the instruction set.
func (w *Walker) CodeAddress(raw uint64) Address {
	if w.codeMask == 0 {
		return w.arch.CodeAddress(raw)
	}
	return w.arch.Truncate(raw) &^ w.codeMask
}

// AddStepper adds a stepper to the walker's group.
func (w *Walker) AddStepper(s FrameStepper) error { return w.group.RegisterStepper(s) }

// AvailableThreads lists the threads that can be walked.
func (w *Walker) AvailableThreads() ([]ThreadID, error) { return w.proc.ThreadIDs() }

// thread resolves NullThread.
func (w *Walker) thread(t ThreadID) (ThreadID, error) {
	if t != NullThread {
		return t, nil
	}
	return w.proc.DefaultThread()
}

// hooked runs f between PreStackwalk and PostStackwalk of thread t. Walks of one
// thread that nest or overlap call the hooks once.
func (w *Walker) hooked(t ThreadID, f func() error) (err error) {
	w.hookMu.Lock()
	if w.walks[t] == 0 {
		if err := w.proc.PreStackwalk(t); err != nil {
			w.hookMu.Unlock()
			return fmt.Errorf("prepare thread %d: %w", t, err)
		}
	}
	w.walks[t]++
	w.hookMu.Unlock()
	defer func() {
		w.hookMu.Lock()
		defer w.hookMu.Unlock()
		if w.walks[t]--; w.walks[t] > 0 {
			return
		}
		delete(w.walks, t)
		if perr := w.proc.PostStackwalk(t); perr != nil && err == nil {
			err = fmt.Errorf("release thread %d: %w", t, perr)
		}
	}()
	return f()
}

// InitialFrame returns the youngest frame of a thread, made from its registers.
func (w *Walker) InitialFrame(thread ThreadID) (*Frame, error) {
	t, err := w.thread(thread)
	if err != nil {
		return nil, err
	}
	var f *Frame
	err = w.hooked(t, func() error {
		f, err = w.initialFrame(t)
		return err
	})
	return f, err
}

func (w *Walker) initialFrame(t ThreadID) (*Frame, error) {
	regs, err := w.proc.Registers(t)
	if err != nil {
		return nil, fmt.Errorf("registers of thread %d: %w", t, err)
	}
	f := &Frame{walker: w, thread: t, trust: TrustContext}
	for r := range arch.Reg(w.arch.NumRegs()) {
		if v, ok := regs.Get(r); ok {
			f.SetReg(r, v, InRegister(r))
		}
	}
	if !f.has(flagHasRA) || !f.has(flagHasSP) {
		return nil, fmt.Errorf("thread %d has no program counter or stack pointer", t)
	}
	f.checkpoint()
	f.flags |= flagTop | flagAccepted
	if w.proc.IsFirstParty() {
		f.flags |= flagCalled
	}
	if p, ok := w.proc.(TrapState); ok && p.BehindTrap(t) {
		f.flags |= flagCalled
	}
	if w.explain {
		f.trace = &trace{explain: true}
	}
	return f, nil
}

// WalkStack walks the stack of a thread, or of the default thread for
// NullThread. The Stack is never nil: frames found before an error stay in it.
// The error is the Stack's Err: nil when the bottom was reached.
func (w *Walker) WalkStack(thread ThreadID) (*Stack, error) {
	return w.WalkStackContext(context.Background(), thread)
}

// WalkStackContext is WalkStack that ends early, with EndCancelled, when ctx is
// done.
func (w *Walker) WalkStackContext(ctx context.Context, thread ThreadID) (*Stack, error) {
	t, err := w.thread(thread)
	if err != nil {
		return &Stack{Thread: thread, End: EndNoRegister, Err: err}, err
	}
	s := &Stack{Thread: t}
	err = w.hooked(t, func() error {
		top, err := w.initialFrame(t)
		if err != nil {
			s.End, s.Err = EndNoRegister, err
			return err
		}
		w.walkFrom(ctx, s, top)
		return s.Err
	})
	if err != nil && s.Err == nil {
		s.Err = err
	}
	return s, s.Err
}

// WalkStackFromFrame walks on from a frame, which becomes the stack's first as
// it is.
func (w *Walker) WalkStackFromFrame(f *Frame) (*Stack, error) {
	s := &Stack{}
	t, err := w.adopt(f)
	if err != nil {
		s.End, s.Err = EndError, err
		return s, err
	}
	s.Thread = t
	err = w.hooked(t, func() error {
		w.walkFrom(context.Background(), s, f)
		return s.Err
	})
	if err != nil && s.Err == nil {
		s.Err = err
	}
	return s, s.Err
}

// WalkSingleFrame returns the frame that called f. At the bottom of the stack the
// error is ErrStackBottom. One frame must not be walked from by two goroutines at
// a time.
func (w *Walker) WalkSingleFrame(f *Frame) (*Frame, error) {
	t, err := w.adopt(f)
	if err != nil {
		return nil, err
	}
	var out *Frame
	err = w.hooked(t, func() error {
		st := stepState{one: true}
		var end EndReason
		if out, end, err = w.step(&st, f); err == nil && end == EndBottom && out == nil {
			err = ErrStackBottom
		}
		return err
	})
	return out, err
}

// adopt readies a frame that a walk may start from, and returns its thread.
func (w *Walker) adopt(f *Frame) (ThreadID, error) {
	if f == nil {
		return NullThread, fmt.Errorf("nil frame: %w", ErrBadParam)
	}
	if f.walker != w {
		return NullThread, fmt.Errorf("frame of another walker: %w", ErrBadParam)
	}
	f.flags |= flagAccepted
	if w.explain && !f.Tracing() {
		f.trace = &trace{explain: true}
	}
	return w.thread(f.thread)
}
