package unwind

import (
	"context"
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A Stack is the result of a walk: physical frames, youngest first. Inlined and tail-called
// functions are not included.
type Stack struct {
	Thread ThreadID
	Frames []*Frame
	// End says why the walk ended, and Err gives details; Err is nil if the walk reached
	// the bottom of the stack.
	End EndReason
	Err error
}

// Cut leaves the stack its first n frames, if it has more: as a walk with that limit, which WalkMore goes on with.
func (s *Stack) Cut(n int) {
	if len(s.Frames) > n {
		s.Frames, s.End, s.Err = s.Frames[:n:n], EndMaxFrames, fmt.Errorf("%w (%d)", ErrMaxFrames, n)
	}
}

// frameCost is what a frame costs of a Budget: the work of finding it, and its memory.
const frameCost = 128

// frameBlock is the largest number of frames allocated at a time. The first block is of firstBlock frames. What a walk leaves of
// a block is for the next walk.
const (
	frameBlock = 64
	firstBlock = 8
)

// stepState is the working space of one walk, or of one step. The next walk goes on with that of the last (Walker.spare).
type stepState struct {
	one     bool        // a single step: allocate only what it needs
	blocks  int         // allocated so far
	block   []Frame     // unused frames
	changes []regChange // unused register changes
	scratch []regChange // register changes of the frame that a stepper is filling in

	refusals [1 << refusalBits]refusals // by address; see refusals.go

	second        *Frame // the frame passed to steppers asked for a second opinion
	secondChanges []regChange
}

func (w *Walker) walkFrom(ctx context.Context, s *Stack, top *Frame, limit int) {
	before := max(len(s.Frames)-1, 0) // of the frames that were walked before, top is the last one
	loop := new(loopGuard)
	for i, f := range s.Frames[:before] {
		loop.seen(f, i)
	}
	f, n := w.follow(ctx, s, top, loop, before, limit)
	s.Frames = append(s.Frames[:before:before], make([]*Frame, n)...)
	for n--; n >= 0; n-- {
		s.Frames[before+n], f = f, f.prev
	}
	if s.End == EndLoop {
		start, n := loop.find(s.Frames)
		s.Err = fmt.Errorf("frame %d (%v) repeats frame %d: %w", start+n, s.Frames[start], start, ErrLoop)
		s.Frames = s.Frames[:start+n]
	}
}

// follow walks from top, which is frame number before, up to limit frames, and returns the last frame and the number of frames. It sets
// s.End and, but for loops, s.Err.
func (w *Walker) follow(ctx context.Context, s *Stack, top *Frame, loop *loopGuard, before, limit int) (f *Frame, n int) {
	st := w.spare.Swap(nil)
	if st == nil {
		st = &stepState{}
	}
	defer func() {
		st.forget(n, w.unchanging)
		w.spare.Store(st)
	}()
	f = top
	for n = 1; ; n++ {
		if n >= limit {
			s.End, s.Err = EndMaxFrames, fmt.Errorf("%w (%d)", ErrMaxFrames, before+n)
			return f, n
		} else if n%256 == 0 && ctx.Err() != nil {
			s.End, s.Err = EndCancelled, context.Cause(ctx)
			return f, n
		}
		if err := f.Spend(frameCost); err != nil {
			if s.End, s.Err = EndLimit, err; ctx.Err() != nil {
				s.End = EndCancelled
			}
			return f, n
		}
		if loop.seen(f, before+n-1) {
			s.End = EndLoop
			return f, n
		}
		next, end, err := w.step(st, f)
		if next == nil {
			s.End, s.Err = end, err
			return f, n
		}
		f = next
	}
}

// sparedFrames is the longest walk whose unused memory the next one goes on with: that lies beside the walk's last frames, and keeps all.
const sparedFrames = 1 << 10

// forget leaves nothing of a walk of n frames but unused memory. What steppers refused is forgotten, too, unless the process is of one moment:
// else it may go on between walks.
func (st *stepState) forget(n int, unchanging bool) {
	if n > sparedFrames {
		st.block, st.changes = nil, nil
	}
	for i := range st.refusals {
		if r := &st.refusals[i]; !unchanging && len(r.steppers) > 0 {
			clear(r.steppers)
			*r = refusals{steppers: r.steppers[:0]}
		}
	}
	st.second, st.secondChanges = nil, nil
}

// ahead is how many elements to allocate: many for a walk, few for a single step.
func (st *stepState) ahead(many, few int) int {
	if st.one {
		return few
	}
	return many
}

// step finds the caller of in. If there is none, the reason says why; at the bottom err is
// nil.
func (w *Walker) step(st *stepState, in *Frame) (*Frame, EndReason, error) {
	if len(st.block) == 0 {
		st.block = make([]Frame, st.ahead(min(firstBlock<<min(st.blocks, 8), frameBlock), 1))
		st.blocks++
	}
	out := &st.block[0]
	var rejected string // why the last success was rejected
	refused := st.refusalsAt(in)
	s, err := w.firstStepper(in, refused)
	for ; ; s, err = w.nextStepper(in, s, refused) {
		if err != nil {
			*out = Frame{}
			return nil, EndNoStepper, noStepper(in, rejected, err)
		}
		w.prepare(out, st.scratch, in)
		status := s.CallerFrame(in, out)
		var why string
		if status == StatusSuccess {
			why = w.refuse(in, out)
			rejected = why
		}
		in.attempt(s, status, out, why)
		st.scratch = out.changes[:0]
		switch {
		case status == StatusSuccess && why == "":
			if w.verify && w.extra(verifyCost) {
				out.flags |= flagVerified
				out.setVerdicts(w.secondOpinions(st, s, in, out))
			}
			w.accept(st, s, in, out)
			return out, EndBottom, nil
		case status == StatusStackBottom:
			if above := w.pastBottom(st, s, in, out); above != nil {
				w.accept(st, above, in, out)
				return out, EndBottom, nil
			}
			in.flags |= flagBottom
			*out = Frame{}
			return nil, EndBottom, nil
		case status == StatusError:
			*out = Frame{}
			return nil, EndError, fmt.Errorf("stepper %s at %#x: %w", s.Name(), in.ra, ErrStepper)
		}
		if refused != nil && status == StatusNotMe {
			refused.add(s, in)
		}
	}
}

// pastBottom asks the steppers after s, which sees the bottom at in, whether one knows better, and returns it; nil if none does.
func (w *Walker) pastBottom(st *stepState, s FrameStepper, in, out *Frame) FrameStepper {
	if s.Priority() <= PriorityStackBottom {
		return nil
	}
	for last := s; ; {
		next, err := w.group.FindStepperForAddr(in.ra, last)
		if err != nil {
			return nil
		}
		last = next
		b, ok := next.(BottomStepper)
		if !ok {
			continue
		}
		w.prepare(out, st.scratch, in)
		status := b.PastBottom(in, out)
		st.scratch = out.changes[:0]
		if status == StatusSuccess && w.refuse(in, out) == "" {
			in.attempt(next, status, out, "")
			return next
		}
	}
}

func noStepper(in *Frame, refused string, err error) error {
	if !errors.Is(err, ErrNoStepper) {
		return err
	}
	if refused != "" {
		return fmt.Errorf("at %#x: %s: %w", in.ra, refused, ErrNoStepper)
	}
	return fmt.Errorf("at %#x: %w", in.ra, ErrNoStepper)
}

// prepare makes out a fresh candidate for the caller of in; out may use scratch.
func (w *Walker) prepare(out *Frame, scratch []regChange, in *Frame) {
	*out = Frame{
		walker: w, thread: in.thread, prev: in, fp: in.fp,
		inherit: w.arch.CalleeSaved, changes: scratch[:0], sinceFull: in.sinceFull,
	}
	if in.Tracing() {
		out.trace = &trace{explain: true}
	}
}

// refuse says why a stepper's answer cannot be right, or "" if it can.
func (w *Walker) refuse(in, out *Frame) string {
	switch {
	case !out.has(flagHasRA) || !out.has(flagHasSP):
		return "the stepper did not set both return address and stack pointer"
	case sameRegs(in, out):
		return fmt.Sprintf("no progress: the caller would be the same frame (%v)", out)
	}
	return ""
}

// usualAttempts is how many steppers are asked of most frames.
const usualAttempts = 6

// attempt records a stepper's answer if the walk explains itself.
func (f *Frame) attempt(s FrameStepper, status Status, out *Frame, refused string) {
	if f.Tracing() {
		if f.trace.attempts == nil {
			f.trace.attempts = make([]Attempt, 0, usualAttempts)
		}
		f.trace.attempts = append(f.trace.attempts, Attempt{Stepper: s, Status: status, Notes: out.trace.notes, Refused: refused})
	}
}

// accept makes out a frame of the stack. From here on it does not change, except for what
// is known only once the walk has stepped from it.
func (w *Walker) accept(st *stepState, s FrameStepper, in, out *Frame) {
	st.block = st.block[1:]
	out.doubt(in)
	n := len(out.changes)
	if cap(st.changes)-len(st.changes) < n {
		st.changes = make([]regChange, 0, st.ahead(max(4*len(st.block), n), n))
	}
	k := len(st.changes)
	st.changes = append(st.changes, out.changes...)
	out.changes = st.changes[k : k+n : k+n]
	out.stepper = s
	if out.sinceFull++; out.sinceFull >= checkpointEvery {
		out.checkpoint()
		out.sinceFull = 0
	}
	in.next = s
	if out.has(flagHasCFA) {
		in.cfa = out.cfa
		in.flags |= flagHasCFA
		if out.has(flagDoubt) {
			in.flags |= flagDoubtfulCFA
		}
		out.cfa = 0
		out.flags &^= flagHasCFA
	}
	if out.trust == TrustSignal {
		in.flags |= flagTrampoline
	}
	if out.trace != nil {
		out.trace.notes = nil
		out.trace.explain = w.traces()
	}
	out.flags |= flagAccepted
}

// doubt marks what is doubtful of the caller of in: what lies where a guess, or a doubtful register, leads. If that is true of
// its return address, it is perhaps not on the stack, and all of its registers, and of its callers, are doubtful.
func (f *Frame) doubt(in *Frame) {
	doubtful := func(r arch.Reg) bool {
		_, l, ok := in.Reg(r)
		return ok && l.Doubtful
	}
	switch {
	case in.has(flagAllDoubtful):
		f.flags |= flagAllDoubtful | flagDoubt
	case f.has(flagNoDoubt):
	case f.has(flagDoubt), f.trust == TrustScan, doubtful(f.arch().SP), doubtful(f.arch().FP):
		f.flags |= flagDoubt | flagDoubtfulSP
		for i := range f.changes {
			c := &f.changes[i]
			c.doubt = c.doubt || c.kind != LocRegister
			if c.doubt && c.reg == f.arch().PC {
				f.flags |= flagAllDoubtful
			}
		}
	}
}

// maxStanding is how often a walk may come back to one pc and stack pointer with other
// registers. No call stack does, but steppers that do not know all registers might.
const maxStanding = 16

// A loopGuard detects that a walk loops (Brent's algorithm). It compares each frame with
// one remembered frame, which it replaces at every power of two. A loop is found within
// three times its length; one in which a register changes, within maxStanding times that.
type loopGuard struct {
	frame    *Frame // the remembered one
	mark     int    // its index
	last     int    // index of the newest frame
	limit    int
	standing int // how many frames had the pc and stack pointer of the remembered one
}

// seen reports whether the newest frame, which has index i, repeats an earlier one: same pc, stack pointer and registers.
func (g *loopGuard) seen(f *Frame, i int) bool {
	g.last = i
	if i > 0 && samePlace(f, g.frame) {
		g.standing++
		if g.same()(f, g.frame) {
			return true
		}
	}
	if i >= g.limit {
		g.frame, g.mark, g.limit, g.standing = f, i, 2*i+1, 0
	}
	return false
}

// same returns what compares two frames.
func (g *loopGuard) same() func(a, b *Frame) bool {
	if g.standing > maxStanding {
		return samePlace
	}
	return sameRegs
}

// find returns the first frame of the loop that was seen, and its length.
func (g *loopGuard) find(frames []*Frame) (start, n int) {
	same := g.same()
	start, n = g.mark, g.last-g.mark
	if g.standing > maxStanding {
		n /= g.standing
	}
	for start > 0 && same(frames[start-1], frames[start-1+n]) {
		start--
	}
	return start, n
}

// samePlace reports whether two frames have one pc and stack pointer.
func samePlace(a, b *Frame) bool { return a.ra == b.ra && a.sp == b.sp }
