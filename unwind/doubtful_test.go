package unwind_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestDoubtOfFrames: what a stepper says is in doubt makes what it found doubtful, and what lies beyond; what it says is not in doubt does not.
func TestDoubtOfFrames(t *testing.T) {
	for name, c := range map[string]struct {
		say      func(*unwind.Frame)
		doubtful bool
	}{
		"nothing said":  {func(*unwind.Frame) {}, false},
		"in doubt":      {func(f *unwind.Frame) { f.SetDoubtful(true) }, true},
		"not in doubt":  {func(f *unwind.Frame) { f.SetDoubtful(false) }, false},
		"scanned":       {func(f *unwind.Frame) { f.SetTrust(unwind.TrustScan) }, true},
		"scanned, sure": {func(f *unwind.Frame) { f.SetTrust(unwind.TrustScan); f.SetDoubtful(false) }, false},
		"first doubt":   {func(f *unwind.Frame) { f.SetDoubtful(false); f.SetDoubtful(true) }, true},
	} {
		for _, always := range []bool{false, true} {
			w := mustWalker(newProc(0x400000, stackBase, 0), nil, stepper("steps", 1, func(in, out *unwind.Frame) unwind.Status {
				if in.RA() >= 0x400003 {
					return unwind.StatusStackBottom
				}
				out.SetRA(in.RA() + 1)
				out.SetRALocation(unwind.Location{Kind: unwind.LocAddress, Addr: in.SP()})
				out.SetSP(in.SP() + 16)
				out.SetReg(arch.RBX, 7, unwind.Location{Kind: unwind.LocRegister, Reg: arch.RBX})
				out.SetReg(arch.R12, 8, unwind.Location{Kind: unwind.LocAddress, Addr: in.SP() + 8})
				out.SetCalleeCFA(in.SP() + 16)
				if in.IsTopFrame() || always {
					c.say(out)
				} else {
					out.SetDoubtful(false)
				}
				return unwind.StatusSuccess
			}))
			s, err := w.WalkStack(1)
			if err != nil || len(s.Frames) != 4 {
				t.Fatalf("%s: %d frames, %v", name, len(s.Frames), err)
			}
			for i, f := range s.Frames[:3] {
				if want := c.doubtful && (i == 0 || always || f.CFADoubtful()); f.CFADoubtful() != want {
					t.Errorf("%s: the CFA of frame %d is doubtful: %v", name, i, !want)
				}
			}
			for i, f := range s.Frames[1:] {
				_, sp, ok := f.Reg(arch.RSP)
				_, kept, _ := f.Reg(arch.RBX)
				_, stored, _ := f.Reg(arch.R12)
				// Once a return address is doubtful, so is all that comes after it.
				if f.IsTopFrame() || f.IsTrampoline() {
					t.Errorf("%s: frame %d is the youngest one", name, i+1)
				}
				if !ok || sp.Doubtful != c.doubtful || stored.Doubtful != c.doubtful || f.RALocation().Doubtful != c.doubtful || kept.Doubtful != c.doubtful {
					t.Errorf("%s, frame %d: sp %v, rbx %v, r12 %v, return address %v; want %v", name, i+1, sp.Doubtful, kept.Doubtful, stored.Doubtful, f.RALocation().Doubtful, c.doubtful)
				}
			}
			if _, l, ok := s.Frames[1].Reg(arch.R13); ok || l.Doubtful {
				t.Errorf("%s: a register that nobody knows is doubtful: %v", name, l)
			}
		}
	}
}

// TestStackPointerInDoubt: a stack pointer that a stepper sets without saying where it was is as doubtful as the stepper says, and the next one as it says then.
func TestStackPointerInDoubt(t *testing.T) {
	w := mustWalker(newProc(0x400000, stackBase, 0), nil, stepper("steps", 1, func(in, out *unwind.Frame) unwind.Status {
		if !in.IsTopFrame() {
			return unwind.StatusStackBottom
		}
		out.SetRA(in.RA() + 1)
		out.SetReg(arch.RSP, in.SP()+8, unwind.Location{Doubtful: true})
		if _, l, ok := out.Reg(arch.RSP); !ok || !l.Doubtful || out.IsTopFrame() {
			t.Errorf("it is set in doubt, and is %v, %v", l, ok)
		}
		out.SetReg(arch.RSP, in.SP()+16, unwind.Location{})
		if _, l, ok := out.Reg(arch.RSP); !ok || l.Doubtful || out.IsTopFrame() {
			t.Errorf("it is set, and is %v, %v", l, ok)
		}
		return unwind.StatusSuccess
	}))
	s, err := w.WalkStack(1)
	if err != nil || len(s.Frames) != 2 || s.Frames[1].SP() != stackBase+16 {
		t.Errorf("%v, %v", s.Frames, err)
	}
}

// TestDeepWalkKeepsNothing: what a Walker keeps for its next walk does not keep the frames of a deep one.
func TestDeepWalkKeepsNothing(t *testing.T) {
	w := mustWalker(deepStack(5000, 16, 0x400500), nil, stepper("fp", 1, byFP))
	s, err := w.WalkStack(1)
	if err != nil || len(s.Frames) < 5000 {
		t.Fatal(len(s.Frames), err)
	}
	first := weak.Make(s.Frames[0])
	s = nil
	runtime.GC()
	if first.Value() != nil {
		t.Error("the youngest frame is kept")
	}
	runtime.KeepAlive(w)
}
