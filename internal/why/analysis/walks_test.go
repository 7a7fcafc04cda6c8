package analysis

import (
	"context"
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/unwind"
)

// A ladder is a stepper for stacks of so many frames, which counts the steps.
type ladder struct{ frames, steps int }

const ladderBottom = 0x7000

func (*ladder) Name() string     { return "ladder" }
func (*ladder) Priority() uint32 { return 0 }

func (l *ladder) CallerFrame(in, out *unwind.Frame) unwind.Status {
	l.steps++
	if int(in.SP()-ladderBottom)/16 == l.frames-1 {
		return unwind.StatusStackBottom
	}
	out.SetRA(in.RA() + 16)
	out.SetSP(in.SP() + 16)
	out.SetCalleeCFA(in.SP() + 16)
	return unwind.StatusSuccess
}

// newStacks are those of two threads with 10 frames each, of which so many are kept.
func newStacks(t *testing.T, keep int, opts ...unwind.Option) (*stacks, *ladder) {
	t.Helper()
	p, l := newParts(t, 1, 2), &ladder{frames: 10}
	w, err := unwind.NewWalker(p.Proc, append(opts, unwind.WithGroup(unwind.NewAddrRangeGroup()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := w.AddStepper(l); err != nil {
		t.Fatal(err)
	}
	return &stacks{walker: w, keep: keep, kept: map[unwind.ThreadID]*unwind.Stack{}}, l
}

func TestKeptStacks(t *testing.T) {
	ctx := context.Background()
	for _, keep := range []int{0, 9, 10, 19, 20} {
		s, l := newStacks(t, keep)
		first, second := s.walk(ctx, 1, 0), s.walk(ctx, 2, 0)
		if len(first.Frames) != 10 || first.End != unwind.EndBottom || len(second.Frames) != 10 || l.steps != 20 {
			t.Fatalf("keep %d: %d frames, %v, %d steps", keep, len(first.Frames), first.End, l.steps)
		}
		l.steps = 0
		again, other := s.walk(ctx, 1, 0), s.walk(ctx, 2, 0)
		if same := again.Frames[9] == first.Frames[9]; same != (keep >= 10) || (other.Frames[9] == second.Frames[9]) != (keep >= 20) {
			t.Errorf("keep %d: the stack is the same: %v", keep, same)
		}
		if n := min(keep/10, 2); len(s.kept) != n || s.used != 10*n {
			t.Errorf("keep %d: %d stacks with %d frames are kept", keep, len(s.kept), s.used)
		}
		if want := 20 - 10*min(keep/10, 2); l.steps != want {
			t.Errorf("keep %d: %d steps, want %d", keep, l.steps, want)
		}
	}
}

// TestPartsOfStacks: a part of a stack is the same, however far it was walked before.
func TestPartsOfStacks(t *testing.T) {
	ctx := context.Background()
	for _, before := range []int{-1, 0, 3, 4, 9, 10} {
		s, l := newStacks(t, 100)
		var known *unwind.Stack
		if before >= 0 {
			known = s.walk(ctx, 1, before)
		}
		l.steps = 0
		part := s.walk(ctx, 1, 4)
		if len(part.Frames) != 4 || part.End != unwind.EndMaxFrames || !errors.Is(part.Err, unwind.ErrMaxFrames) || part.Thread != 1 {
			t.Errorf("after %d: %d frames, %v, %v", before, len(part.Frames), part.End, part.Err)
		}
		if cfa, known := part.Frames[3].CFA(); !known || cfa != ladderBottom+64 {
			t.Errorf("after %d: the last frame's CFA is %#x, %v", before, cfa, known)
		}
		if known != nil && before > 0 && known.Frames[2] != part.Frames[2] {
			t.Errorf("after %d: other frames", before)
		}
		steps := l.steps
		s.more(ctx, part, 7)
		if len(part.Frames) != 7 || part.End != unwind.EndMaxFrames {
			t.Errorf("after %d: %d frames, %v", before, len(part.Frames), part.End)
		}
		s.more(ctx, part, 10)
		if len(part.Frames) != 10 || part.End != unwind.EndBottom || part.Err != nil {
			t.Errorf("after %d: %d frames, %v, %v", before, len(part.Frames), part.End, part.Err)
		}
		if l.steps > steps+10 {
			t.Errorf("after %d: %d steps, then %d", before, steps, l.steps)
		}
	}
	s, _ := newStacks(t, 100) // what the caller has is longer than what is kept
	long, short := s.walk(ctx, 1, 6), &unwind.Stack{Thread: 1}
	s.take(1)
	s.more(ctx, short, 3)
	first := long.Frames[4]
	if s.more(ctx, long, 8); len(long.Frames) != 8 || long.Frames[4] != first {
		t.Errorf("%d frames, %v", len(long.Frames), long.Frames[4])
	}
	if s.more(ctx, long, 9); long.Frames[4] != first {
		t.Error("frames that were there are others")
	}
	s, _ = newStacks(t, 0, unwind.WithMaxFrames(5))
	if stack := s.walk(ctx, 1, 0); len(stack.Frames) != 5 || stack.End != unwind.EndMaxFrames {
		t.Errorf("%d frames, %v", len(stack.Frames), stack.End)
	}
	if stack := s.walk(ctx, 1, 1); len(stack.Frames) != 1 {
		t.Errorf("%d frames", len(stack.Frames))
	}
	if stack := s.walk(ctx, 1, 7); len(stack.Frames) != 5 {
		t.Errorf("%d frames", len(stack.Frames))
	}
	stack := s.walk(ctx, 1, 2)
	if s.more(ctx, stack, 4); len(stack.Frames) != 4 { // nothing is kept but what the caller has
		t.Errorf("%d frames", len(stack.Frames))
	}
}

// TestUnkeptStacks: a stack that a limit ended is not kept.
func TestUnkeptStacks(t *testing.T) {
	b := budget.Of(1)
	s, _ := newStacks(t, 100, unwind.WithBudget(b))
	if stack := s.walk(context.Background(), 1, 0); stack.End != unwind.EndLimit || len(s.kept) != 0 || s.used != 0 {
		t.Errorf("%v, %d kept, %d frames", stack.End, len(s.kept), s.used)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, l := newStacks(t, 10000)
	l.frames = 1000
	cancel()
	if stack := s.walk(ctx, 1, 0); stack.End != unwind.EndCancelled || len(s.kept) != 0 {
		t.Errorf("%v, %d kept", stack.End, len(s.kept))
	}
}
