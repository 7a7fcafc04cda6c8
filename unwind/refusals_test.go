package unwind_test

import (
	"testing"

	"github.com/corewalk/corewalk/unwind"
)

// A byCode is a stepper whose refusals hold for all frames at a place if it says so.
type byCode struct {
	*stepFunc
	code bool
}

func (s *byCode) RefusesCode(*unwind.Frame) bool { return s.code }

// TestRefusals: in a recursion, a stepper that refuses code is asked twice, unless the walk explains itself; one that
// refuses for other reasons is asked about each frame.
func TestRefusals(t *testing.T) {
	const frames = 100
	for _, c := range []struct {
		name    string
		code    bool
		answer  unwind.Status
		options []unwind.Option
		want    int
	}{
		{"by code", true, unwind.StatusNotMe, nil, 3}, // also about the youngest frame
		{"by registers", false, unwind.StatusNotMe, nil, frames},
		{"explained", true, unwind.StatusNotMe, []unwind.Option{unwind.WithExplain()}, frames},
		{"an answer that cannot be right", true, unwind.StatusSuccess, nil, frames}, // without registers
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			first := &byCode{stepper("first", 1, func(in, out *unwind.Frame) unwind.Status {
				asked++
				return c.answer
			}), c.code}
			s, err := mustWalker(deepStack(frames, 16, 0x400500), c.options, first, stepper("fp", 2, byFP)).WalkStack(1)
			if err != nil || len(s.Frames) != frames || asked != c.want {
				t.Errorf("%d frames, %v; asked %d times, want %d", len(s.Frames), err, asked, c.want)
			}
		})
	}
}

// TestRefusalsOfAGroupThatChanges: a stepper that is added in a recursion, before those that answered so far, is asked from
// the next frame on.
func TestRefusalsOfAGroupThatChanges(t *testing.T) {
	const frames, added = 100, 50
	asked := 0
	late := stepper("late", 1, func(in, out *unwind.Frame) unwind.Status {
		asked++
		return unwind.StatusNotMe
	})
	var w *unwind.Walker
	n := 0
	w = mustWalker(deepStack(frames, 16, 0x400500), nil, &byCode{stepper("never", 2, func(in, out *unwind.Frame) unwind.Status {
		return unwind.StatusNotMe
	}), true}, stepper("fp", 3, func(in, out *unwind.Frame) unwind.Status {
		if n++; n == added {
			if err := w.AddStepper(late); err != nil {
				t.Error(err)
			}
		}
		return byFP(in, out)
	}))
	s, err := w.WalkStack(1)
	if err != nil || len(s.Frames) != frames || asked != frames-added {
		t.Errorf("%d frames, %v; asked %d times, want %d", len(s.Frames), err, asked, frames-added)
	}
}

// A stillProc is a process of one moment, or one that may go on.
type stillProc struct {
	*fakeProc
	still bool
}

func (p stillProc) Unchanging() bool { return p.still }

// TestRefusalsAreKept: walks of a process of one moment ask a stepper that refuses the code no more than the first one did, but
// about the youngest frame; what happens in a process that goes on is asked again.
func TestRefusalsAreKept(t *testing.T) {
	const frames, walks = 100, 10
	for still, want := range map[bool]int{true: 3 + walks - 1, false: 3 * walks} {
		asked := 0
		first := &byCode{stepper("first", 1, func(in, out *unwind.Frame) unwind.Status {
			asked++
			return unwind.StatusNotMe
		}), true}
		w := mustWalker(stillProc{deepStack(frames, 16, 0x400500), still}, nil, first, stepper("fp", 2, byFP))
		for range walks {
			if s, err := w.WalkStack(1); err != nil || len(s.Frames) != frames {
				t.Fatalf("%d frames, %v", len(s.Frames), err)
			}
		}
		if asked != want {
			t.Errorf("of one moment %v: asked %d times, want %d", still, asked, want)
		}
	}
}
