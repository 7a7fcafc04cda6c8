package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/unwind"
)

// TestForgottenCalls: what could not be traced of one stack is tried again for the next question.
func TestForgottenCalls(t *testing.T) {
	e := NewEngine(newParts(t, 1, 2))
	stack := e.stacks.walk(t.Context(), 1, 0)
	for name, ask := range map[string]func(){
		"report": func() { e.Report(t.Context(), Options{Threads: []unwind.ThreadID{2}}) },
		"stack":  func() { e.Thread(t.Context(), stack) },
	} {
		e.witnesses = maxCalled + 1
		e.targets = map[*unwind.Frame]unwind.Address{stack.Frames[0]: 0}
		e.untraced = map[unwind.Address]bool{1: true}
		ask()
		if len(e.targets) > 0 || len(e.untraced) > 0 || e.witnesses > 0 {
			t.Errorf("%s: %v, %v, %d", name, e.targets, e.untraced, e.witnesses)
		}
	}
	e.witnesses = 5
	if e.Begin(); e.witnesses != 0 {
		t.Errorf("%d", e.witnesses)
	}
}

// tailLookup knows no function.
type tailLookup struct{}

func (tailLookup) LookupAtAddr(unwind.Address) (string, any, error) {
	return "", nil, unwind.ErrNoSymbol
}
func (tailLookup) LookupTailCalls(_, _, _ unwind.Address, buf []unwind.Call) []unwind.Call {
	return buf
}

// TestUntracedForNow: what a question may not trace any more is not kept for the next one.
func TestUntracedForNow(t *testing.T) {
	s, _ := newStacks(t, 0, unwind.WithSymbolLookup(tailLookup{}))
	e := NewEngine(Parts{Proc: newParts(t, 1).Proc, Walker: s.walker})
	frames := s.walk(t.Context(), 1, 0).Frames
	for spent, kept := range map[int]int{0: 1, maxCalled: 1, maxCalled + 1: 0} {
		in := e.question(Options{})
		in.targets, in.witnesses = nil, spent
		if got := in.calledAs(frames, 1); got != 0 || len(e.targets) != kept {
			t.Errorf("after %d: %#x, %d kept, want %d", spent, got, len(e.targets), kept)
		}
	}
}
