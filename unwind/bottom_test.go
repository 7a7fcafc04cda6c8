package unwind_test

import (
	"testing"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// knowing is a stepper that knows the caller of frames that others take for the last ones.
type knowing struct {
	*stepFunc
	asked int
}

func (k *knowing) CallerFrame(in, out *unwind.Frame) unwind.Status { return unwind.StatusNotMe }

func (k *knowing) PastBottom(in, out *unwind.Frame) unwind.Status {
	k.asked++
	return k.step(in, out)
}

// TestPastBottom: where tables see the bottom, who knows the caller is asked; not where the bottom is known.
func TestPastBottom(t *testing.T) {
	const top, caller = 0x1000, 0x2000
	for name, c := range map[string]struct {
		bottom        uint32 // the priority of the stepper that sees the bottom at top
		at, ra        uint64 // what the other one knows
		frames, asked int
	}{
		"known":                    {unwind.PriorityDebugStepper, top, caller, 2, 1},
		"of another frame":         {unwind.PriorityDebugStepper, caller, top, 1, 1},
		"the same frame":           {unwind.PriorityDebugStepper, top, top, 1, 1},
		"just where threads begin": {unwind.PriorityStackBottom + 1, top, caller, 2, 1},
		"where threads begin":      {unwind.PriorityStackBottom, top, caller, 1, 0},
	} {
		k := &knowing{stepFunc: answering("knows", unwind.PriorityDebugStepper+8, c.at, c.ra, 0x110, 0, unwind.TrustCFI)}
		if c.ra == top {
			k.step = func(_, out *unwind.Frame) unwind.Status {
				out.SetRA(top)
				out.SetSP(0x100)
				return unwind.StatusSuccess
			}
		}
		g := unwind.NewAddrRangeGroup()
		for _, s := range []unwind.FrameStepper{ending("tables", c.bottom, top), named("declines", unwind.PriorityDebugStepper+1), k, ending("end", unwind.PriorityStackBottom, caller)} {
			if err := g.RegisterStepper(s); err != nil {
				t.Fatal(err)
			}
		}
		w := mustWalker(newProc(top, 0x100, 0x400), []unwind.Option{unwind.WithGroup(g)})
		s, err := w.WalkStack(unwind.NullThread)
		if err != nil || len(s.Frames) != c.frames || s.End != unwind.EndBottom || k.asked != c.asked {
			t.Errorf("%s: %d frames, asked %d times, %v, %v", name, len(s.Frames), k.asked, s.End, err)
		} else if c.frames == 2 && (s.Frames[1].RA() != caller || s.Frames[1].Stepper() != unwind.FrameStepper(k)) {
			t.Errorf("%s: %v", name, s.Frames[1])
		}
	}
}

// TestPastBottomAlone: who is asked past the bottom sees nothing of what those before it found, and what it found counts only if it says so.
func TestPastBottomAlone(t *testing.T) {
	const top, caller = 0x1000, 0x2000
	for name, c := range map[string]struct {
		answer unwind.Status
		frames int
	}{"knows": {unwind.StatusSuccess, 2}, "declines": {unwind.StatusNotMe, 1}} {
		k := &knowing{stepFunc: stepper("knows", unwind.PriorityDebugStepper+8, func(in, out *unwind.Frame) unwind.Status {
			out.SetRA(caller)
			out.SetSP(0x110)
			return c.answer
		})}
		tables := stepper("tables", unwind.PriorityDebugStepper, func(in, out *unwind.Frame) unwind.Status {
			out.SetReg(arch.RBX, 99, unwind.Location{Kind: unwind.LocAddress, Addr: 0x100})
			if in.RA() == top {
				return unwind.StatusStackBottom
			}
			return unwind.StatusNotMe
		})
		w := mustWalker(newProc(top, 0x100, 0x400), []unwind.Option{unwind.WithExplain()}, tables, k, ending("end", unwind.PriorityStackBottom, caller))
		s, err := w.WalkStack(unwind.NullThread)
		if err != nil || len(s.Frames) != c.frames {
			t.Errorf("%s: %d frames, %v", name, len(s.Frames), err)
			continue
		}
		list := s.Frames[0].Attempts()
		if last := list[len(list)-1]; c.frames == 2 && (last.Stepper != unwind.FrameStepper(k) || last.Status != unwind.StatusSuccess) {
			t.Errorf("%s: the last one asked is %s, which says %v", name, last.Stepper.Name(), last.Status)
		}
		if v, _, ok := s.Frames[len(s.Frames)-1].Reg(arch.RBX); ok && v == 99 {
			t.Errorf("%s: rbx is of who saw the bottom", name)
		}
	}
}
