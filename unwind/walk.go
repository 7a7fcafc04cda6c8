package unwind

import (
	"context"
	"errors"
	"fmt"
)

// A Stack is the result of a walk: physical frames, youngest first. Inlined and
// tail-called functions are not among them.
type Stack struct {
	Thread ThreadID
	Frames []*Frame
	// End says why the walk ended, and Err in more words; Err is nil when the
	// bottom of the stack was reached.
	End EndReason
	Err error
}

// frameBlock is how many frames are allocated at a time.
const frameBlock = 64

// stepState is the working space of one walk, or of one step.
type stepState struct {
	one     bool        // a single step: allocate no more than it needs
	block   []Frame     // frames not handed out yet
	changes []regChange // register changes not handed out yet
	scratch []regChange // of the frame that a stepper is filling in

	second        *Frame // what another stepper is asked to fill in
	secondChanges []regChange
}

func (w *Walker) walkFrom(ctx context.Context, s *Stack, top *Frame) {
	var st stepState
	var loop loopGuard
	f := top
	for {
		s.Frames = append(s.Frames, f)
		if n := len(s.Frames); n >= w.maxFrames {
			s.End, s.Err = EndMaxFrames, fmt.Errorf("%w (%d)", ErrMaxFrames, n)
			return
		} else if n%256 == 0 && ctx.Err() != nil {
			s.End, s.Err = EndCancelled, ctx.Err()
			return
		}
		if start, n, ok := loop.seen(s.Frames); ok {
			s.End = EndLoop
			s.Err = fmt.Errorf("frame %d (%v) would be frame %d again: %w", start+n, s.Frames[start], start, ErrLoop)
			s.Frames = s.Frames[:start+n]
			return
		}
		next, end, err := w.step(&st, f)
		if next == nil {
			s.End, s.Err = end, err
			return
		}
		f = next
	}
}

// ahead is how many of something to allocate: many for a walk, few for a step.
func (st *stepState) ahead(many, few int) int {
	if st.one {
		return few
	}
	return many
}

// step finds the caller of in. Without one it says why; at the bottom err is nil.
func (w *Walker) step(st *stepState, in *Frame) (*Frame, EndReason, error) {
	if len(st.block) == 0 {
		st.block = make([]Frame, st.ahead(frameBlock, 1))
	}
	out := &st.block[0]
	var last FrameStepper
	var refused string // of the last success that was not taken
	for {
		s, err := w.group.FindStepperForAddr(in.ra, last)
		if err != nil {
			*out = Frame{}
			return nil, EndNoStepper, noStepper(in, refused, err)
		}
		w.prepare(out, st.scratch, in)
		status := s.CallerFrame(in, out)
		var why string
		if status == StatusSuccess {
			if why = w.refuse(in, out); why != "" {
				refused = why
			}
		}
		in.attempt(s, status, out, why)
		st.scratch = out.changes[:0]
		switch {
		case status == StatusSuccess && why == "":
			if w.verify {
				out.setVerdicts(w.secondOpinions(st, s, in, out))
			}
			w.accept(st, s, in, out)
			return out, EndBottom, nil
		case status == StatusStackBottom:
			in.flags |= flagBottom
			*out = Frame{}
			return nil, EndBottom, nil
		case status == StatusError:
			*out = Frame{}
			return nil, EndError, fmt.Errorf("stepper %s at %#x: %w", s.Name(), in.ra, ErrStepper)
		}
		last = s
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

// prepare makes out a fresh candidate for in's caller, which may use scratch.
func (w *Walker) prepare(out *Frame, scratch []regChange, in *Frame) {
	*out = Frame{
		walker: w, thread: in.thread, prev: in, fp: in.fp,
		inherit: w.arch.CalleeSaved, changes: scratch[:0], sinceFull: in.sinceFull,
	}
	if w.explain {
		out.trace = &trace{explain: true}
	}
}

// refuse says why a stepper's answer cannot be right; "" when it can.
func (w *Walker) refuse(in, out *Frame) string {
	switch {
	case !out.has(flagHasRA) || !out.has(flagHasSP):
		return "the stepper set no return address or no stack pointer"
	case out.ra == in.ra && out.sp == in.sp && sameRegs(in, out):
		return fmt.Sprintf("no progress: the caller would be the same frame (%v)", out)
	}
	return ""
}

// attempt remembers a stepper's answer where the walk explains itself.
func (f *Frame) attempt(s FrameStepper, status Status, out *Frame, refused string) {
	if f.Tracing() && out.Tracing() {
		f.trace.attempts = append(f.trace.attempts, Attempt{Stepper: s, Status: status, Notes: out.trace.notes, Refused: refused})
	}
}

// accept makes out a frame of the stack: from here on it does not change, except
// for what is only known once the walk goes on from it.
func (w *Walker) accept(st *stepState, s FrameStepper, in, out *Frame) {
	st.block = st.block[1:]
	n := len(out.changes)
	if cap(st.changes)-len(st.changes) < n {
		st.changes = make([]regChange, 0, st.ahead(max(4*frameBlock, n), n))
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
		out.cfa = 0
		out.flags &^= flagHasCFA
	}
	if out.trust == TrustSignal {
		in.flags |= flagTrampoline
	}
	if out.trace != nil {
		out.trace.notes = nil
	}
	out.flags |= flagAccepted
}

// A loopGuard notices that a walk runs in a circle (Brent's algorithm): it
// compares each frame with one remembered frame, which it replaces at every
// power of two. A circle is found within three times its length.
type loopGuard struct {
	mark  int // index of the remembered frame
	limit int
}

// seen reports whether the newest of frames is an earlier one again, by pc, stack
// pointer and all registers; and if so the circle's first frame and its length.
func (g *loopGuard) seen(frames []*Frame) (start, n int, ok bool) {
	last := len(frames) - 1
	if last > 0 && sameRegs(frames[last], frames[g.mark]) {
		start, n = g.mark, last-g.mark
		for start > 0 && sameRegs(frames[start-1], frames[start-1+n]) {
			start--
		}
		return start, n, true
	}
	if last >= g.limit {
		g.mark, g.limit = last, 2*last+1
	}
	return 0, 0, false
}
