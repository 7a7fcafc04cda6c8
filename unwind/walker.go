package unwind

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Walker walks the call stacks of one process.
//
// It is safe for concurrent use, also for different threads of the process at once, as far
// as its parts are. Close ends its subscription to library changes; it holds no other
// resource.
type Walker struct {
	proc   ProcessState
	group  StepperGroup
	lookup SymbolLookup
	reader SymbolReader
	arch   *arch.Arch
	// numRegs is arch.NumRegs().
	numRegs    int
	unchanging bool // proc is of one moment
	// codeMask is the process's own mask; 0 means use the architecture's.
	codeMask Address

	maxFrames int
	budget    Budget
	explain   bool
	verify    bool
	cancel    func()

	spare atomic.Pointer[stepState] // what the last walk left

	hookMu sync.Mutex
	walks  map[ThreadID]int // number of walks in progress, by thread
	nameMu sync.Mutex
}

// DefaultMaxFrames is the frame limit of a walk unless WithMaxFrames sets another. It is
// enough for the deepest possible stack of 8 MB with the smallest frames (16 bytes).
const DefaultMaxFrames = 1 << 20

// An Option configures a Walker.
type Option func(*Walker) error

// WithGroup uses the given group instead of an empty AddrRangeGroup.
func WithGroup(g StepperGroup) Option {
	return func(w *Walker) error { w.group = g; return nil }
}

// WithSymbolLookup sets the lookup that names frames.
func WithSymbolLookup(l SymbolLookup) Option {
	return func(w *Walker) error { w.lookup = l; return nil }
}

// WithSymbolReader sets the reader that steppers use to locate functions.
func WithSymbolReader(r SymbolReader) Option {
	return func(w *Walker) error { w.reader = r; return nil }
}

// WithMaxFrames limits the number of frames of one stack; n must be positive.
func WithMaxFrames(n int) Option {
	return func(w *Walker) error {
		if n <= 0 {
			return fmt.Errorf("frame limit %d is not positive: %w", n, ErrBadParam)
		}
		w.maxFrames = n
		return nil
	}
}

// A Budget limits the work of all walks of a Walker together. It must allow concurrent use.
type Budget interface {
	// Spend takes units from the budget, each about the work of a simple look-up. After an
	// error, the work must end with what it has.
	Spend(units int) error
}

// WithBudget charges walks, and what is done with their frames, to a budget. When that is
// spent, a walk ends with EndLimit.
func WithBudget(b Budget) Option {
	return func(w *Walker) error { w.budget = b; return nil }
}

// Spend charges work to the walker's Budget. Frame.Spend does where the work is done for a frame.
func (w *Walker) Spend(units int) error {
	if w.budget == nil {
		return nil
	}
	return w.budget.Spend(units)
}

// WithExplain makes frames record which steppers were asked for their callers and what the
// steppers said (Frame.Attempts). It costs memory and time. A Budget that also has the method Extra, which
// takes units from what is left for extras and returns false if that is not enough, ends it: later frames
// record nothing, and walks go on.
func WithExplain() Option {
	return func(w *Walker) error { w.explain = true; return nil }
}

// What extras cost for a frame: to record how its caller was found, and to write it down; to ask all other steppers, one of which scans the stack.
const (
	explainCost = 2048
	verifyCost  = 4096
)

// extra reports whether a frame may have something that costs so many units, and which a walk can do without.
func (w *Walker) extra(units int) bool {
	b, limited := w.budget.(interface{ Extra(units int) bool })
	return !limited || b.Extra(units)
}

// traces reports whether one more frame may record how its caller is found.
func (w *Walker) traces() bool { return w.explain && w.extra(explainCost) }

// NewWalker returns a walker over proc. Without options its group is empty, so that every
// walk ends at its first frame, and frames have no names. Target.NewWalker of the corewalk
// package uses the default group, lookup and symbol reader. The error is ErrBadParam if
// proc is nil.
func NewWalker(proc ProcessState, opts ...Option) (*Walker, error) {
	if proc == nil {
		return nil, fmt.Errorf("new walker without a process: %w", ErrBadParam)
	}
	w := &Walker{proc: proc, arch: proc.Arch(), numRegs: proc.Arch().NumRegs(), maxFrames: DefaultMaxFrames, walks: map[ThreadID]int{}}
	if m, ok := proc.(CodeMasker); ok {
		w.codeMask = m.CodeMask()
	}
	if u, ok := proc.(unchanging); ok {
		w.unchanging = u.Unchanging()
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

// ProcessState returns the process that the walker walks.
func (w *Walker) ProcessState() ProcessState { return w.proc }

// StepperGroup returns the walker's group of steppers.
func (w *Walker) StepperGroup() StepperGroup { return w.group }

// SymbolLookup returns the lookup that names frames, or nil.
func (w *Walker) SymbolLookup() SymbolLookup { return w.lookup }

// SymbolReader returns the reader that steppers use to locate functions, or nil.
func (w *Walker) SymbolReader() SymbolReader { return w.reader }

// MaxFrames returns how many frames of a stack are walked at most.
func (w *Walker) MaxFrames() int { return w.maxFrames }

// CodeAddress strips from a code pointer of the process the bits that are not part of the
// address: signature bits, and the bit that selects the instruction set.
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

// thread replaces NullThread by the default thread.
func (w *Walker) thread(t ThreadID) (ThreadID, error) {
	if t != NullThread {
		return t, nil
	}
	return w.proc.DefaultThread()
}

// hooked calls f between PreStackwalk and PostStackwalk of thread t. Nested or overlapping
// walks of one thread call the hooks once.
func (w *Walker) hooked(t ThreadID, f func() error) (err error) {
	w.hookMu.Lock()
	if w.walks[t] == 0 {
		if err := w.proc.PreStackwalk(t); err != nil {
			w.hookMu.Unlock()
			return fmt.Errorf("prepare walk of thread %d: %w", t, err)
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
			err = fmt.Errorf("end walk of thread %d: %w", t, perr)
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
	f.setAll(&regs)
	if !f.has(flagHasRA) || !f.has(flagHasSP) {
		return nil, fmt.Errorf("thread %d has no program counter or stack pointer", t)
	}
	f.flags |= flagTop | flagAccepted
	if w.proc.IsFirstParty() {
		f.flags |= flagCalled
	}
	if p, ok := w.proc.(TrapState); ok && p.BehindTrap(t) {
		f.flags |= flagCalled
	}
	if w.traces() {
		f.trace = &trace{explain: true}
	}
	return f, nil
}

// WalkStack walks the stack of a thread; NullThread means the default thread. The Stack is
// never nil: it keeps the frames found before an error. The error is the Stack's Err, nil
// if the walk reached the bottom.
func (w *Walker) WalkStack(thread ThreadID) (*Stack, error) {
	return w.WalkStackContext(context.Background(), thread)
}

// WalkStackContext is WalkStack, but ends early, with EndCancelled, when ctx is done.
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
		w.walkFrom(ctx, s, top, w.maxFrames)
		return s.Err
	})
	s.Err = err
	return s, err
}

// WalkStackFromFrame walks the stack that begins with f; f itself is the Stack's first
// frame.
func (w *Walker) WalkStackFromFrame(f *Frame) (*Stack, error) {
	s := &Stack{}
	t, err := w.adopt(f)
	if err != nil {
		s.End, s.Err = EndError, err
		return s, err
	}
	s.Thread = t
	err = w.hooked(t, func() error {
		w.walkFrom(context.Background(), s, f, w.maxFrames)
		return s.Err
	})
	s.Err = err
	return s, err
}

// WalkMore walks n more frames of a stack. One without frames begins with its thread's youngest frame. If the stack ends before, its
// End says why, as after WalkStack; else that is EndMaxFrames, and WalkMore goes on from there. Stacks that ended otherwise stay as they
// are. The frames that it has stay the same.
func (w *Walker) WalkMore(ctx context.Context, s *Stack, n int) error {
	if n <= 0 || len(s.Frames) > 0 && s.End != EndMaxFrames {
		return s.Err
	}
	var top *Frame
	var t ThreadID
	var err error
	if k := len(s.Frames); k > 0 {
		top = s.Frames[k-1]
		n++ // with top, which is there
		t, err = w.adopt(top)
	} else {
		t, err = w.thread(s.Thread)
	}
	if err != nil {
		s.End, s.Err = EndNoRegister, err
		return err
	}
	s.Thread = t
	s.Err = w.hooked(t, func() error {
		if top == nil {
			if top, err = w.initialFrame(t); err != nil {
				s.End = EndNoRegister
				return err
			}
		}
		w.walkFrom(ctx, s, top, n)
		return s.Err
	})
	return s.Err
}

// WalkSingleFrame returns the frame that called f. At the bottom of the stack the error is
// ErrStackBottom. Two goroutines must not step from the same frame at once.
func (w *Walker) WalkSingleFrame(f *Frame) (*Frame, error) {
	t, err := w.adopt(f)
	if err != nil {
		return nil, err
	}
	var out *Frame
	err = w.hooked(t, func() error {
		st := stepState{one: true}
		if out, _, err = w.step(&st, f); err == nil && out == nil {
			err = ErrStackBottom
		}
		return err
	})
	return out, err
}

// adopt prepares a frame to be the start of a walk, and returns its thread.
func (w *Walker) adopt(f *Frame) (ThreadID, error) {
	if f == nil {
		return NullThread, fmt.Errorf("nil frame: %w", ErrBadParam)
	}
	if f.walker != w {
		return NullThread, fmt.Errorf("frame of another walker: %w", ErrBadParam)
	}
	f.flags |= flagAccepted
	if !f.Tracing() && w.traces() {
		f.trace = &trace{explain: true}
	}
	return w.thread(f.thread)
}
