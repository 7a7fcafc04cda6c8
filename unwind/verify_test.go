package unwind_test

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// answering makes a stepper that always finds one frame: ra, sp and, unless it is 0, fp.
func answering(name string, priority uint32, at, ra, sp, fp uint64, trust unwind.Trust) *stepFunc {
	s := named(name, priority)
	s.step = func(in, out *unwind.Frame) unwind.Status {
		if in.RA() != at {
			return unwind.StatusNotMe
		}
		out.ForgetRegs()
		out.SetRA(ra)
		out.SetSP(sp)
		if fp != 0 {
			out.SetFP(fp)
		}
		out.SetTrust(trust)
		out.SetNonCall(true) // of no other frame
		return unwind.StatusSuccess
	}
	return s
}

func ending(name string, priority uint32, at uint64) *stepFunc {
	s := named(name, priority)
	s.step = func(in, out *unwind.Frame) unwind.Status {
		if in.RA() == at {
			return unwind.StatusStackBottom
		}
		return unwind.StatusNotMe
	}
	return s
}

// TestVerify: steppers after the successful one are asked, those before are not asked
// again, and none of them changes the walk.
func TestVerify(t *testing.T) {
	const top, caller = 0x1000, 0x2000
	steppers := []unwind.FrameStepper{
		named("declines-first", 1),
		answering("believed", 2, top, caller, 0x110, 0x500, unwind.TrustCFI),
		named("declines", 3),
		answering("same", 4, top, caller, 0x110, 0x500, unwind.TrustFramePointer),
		answering("same-without-fp", 5, top, caller, 0x110, 0, unwind.TrustFramePointer),
		answering("other-ra", 6, top, 0x3000, 0x110, 0x500, unwind.TrustFramePointer),
		answering("other-sp", 7, top, caller, 0x118, 0x500, unwind.TrustFramePointer),
		answering("other-fp", 8, top, caller, 0x110, 0x508, unwind.TrustFramePointer),
		answering("no-progress", 9, top, top, 0x100, 0x400, unwind.TrustUser),
		ending("bottom", 10, top),
		answering("scan", 11, top, caller, 0x110, 0x666, unwind.TrustScan),
		ending("end", 12, caller),
	}
	want := []string{"same", "same-without-fp", "-other-ra", "-other-sp", "-other-fp", "-bottom", "scan"}
	walk := func(opts ...unwind.Option) *unwind.Stack {
		g := unwind.NewAddrRangeGroup()
		for _, s := range steppers {
			if err := g.RegisterStepper(s); err != nil {
				t.Fatal(err)
			}
		}
		w, err := unwind.NewWalker(newProc(top, 0x100, 0x400), append(opts, unwind.WithGroup(g))...)
		if err != nil {
			t.Fatal(err)
		}
		s, err := w.WalkStack(unwind.NullThread)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	plain, verified, explained := walk(), walk(unwind.WithVerify()), walk(unwind.WithVerify(), unwind.WithExplain())
	for _, s := range []*unwind.Stack{plain, verified, explained} {
		if len(s.Frames) != 2 || s.End != unwind.EndBottom {
			t.Fatalf("%d frames, end %v", len(s.Frames), s.End)
		}
		f := s.Frames[1]
		if f.RA() != caller || f.SP() != 0x110 || f.FP() != 0x500 || f.Trust() != unwind.TrustCFI || f.Stepper().Name() != "believed" {
			t.Errorf("frame 1: %v %v by %s", f, f.Trust(), f.Stepper().Name())
		}
		if v, _, ok := f.Reg(arch.RBP); !ok || v != 0x500 {
			t.Errorf("rbp %#x %v", v, ok)
		}
	}
	if plain.Frames[1].Verdicts() != nil || verified.Frames[0].Verdicts() != nil {
		t.Error("unrequested verdicts")
	}
	if n := len(explained.Frames[0].Attempts()); n != 2 || verified.Frames[0].Attempts() != nil {
		t.Errorf("second opinions among the attempts (%d)", n)
	}
	for _, s := range []*unwind.Stack{verified, explained} {
		var got []string
		for _, v := range s.Frames[1].Verdicts() {
			name := v.Stepper.Name()
			if !v.Agrees {
				name = "-" + name
			}
			if v.Bottom != (v.Stepper.Name() == "bottom") {
				t.Errorf("%s: bottom %v", name, v.Bottom)
			}
			got = append(got, name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("verdicts %q, want %q", got, want)
		}
	}
}

// TestVerifySingleSteps: single steps and walks from a given frame also verify.
func TestVerifySingleSteps(t *testing.T) {
	g := unwind.NewAddrRangeGroup()
	for _, s := range []unwind.FrameStepper{
		answering("believed", 1, 0x1000, 0x2000, 0x110, 0x500, unwind.TrustCFI),
		answering("other", 2, 0x1000, 0x2008, 0x110, 0x500, unwind.TrustFramePointer),
	} {
		if err := g.RegisterStepper(s); err != nil {
			t.Fatal(err)
		}
	}
	w, err := unwind.NewWalker(newProc(0x1000, 0x100, 0x400), unwind.WithGroup(g), unwind.WithVerify())
	if err != nil {
		t.Fatal(err)
	}
	top, err := w.InitialFrame(unwind.NullThread)
	if err != nil {
		t.Fatal(err)
	}
	f, err := w.WalkSingleFrame(top)
	if err != nil || len(f.Verdicts()) != 1 || f.Verdicts()[0].RA != 0x2008 {
		t.Fatalf("%v, %+v", err, f)
	}
}

// An extraBudget has room for the extras of some frames, and for all walks.
type extraBudget struct{ extras int }

func (b *extraBudget) Spend(int) error { return nil }
func (b *extraBudget) Extra(units int) bool {
	b.extras -= units
	return b.extras >= 0
}

// Walks whose budget for extras is spent go on, without saying how frames were found and what other steppers say.
func TestExtrasAreLimited(t *testing.T) {
	const deep = 10
	step := stepper("up", 1, func(in, out *unwind.Frame) unwind.Status {
		if in.SP() >= stackBase+16*(deep-1) {
			return unwind.StatusStackBottom
		}
		out.SetRA(in.RA() + 1)
		out.SetSP(in.SP() + 16)
		out.SetTrust(unwind.TrustCFI)
		return unwind.StatusSuccess
	})
	for _, c := range []struct {
		opt    unwind.Option
		extras int
		had    func(*unwind.Frame) bool
		min    int
	}{
		{unwind.WithExplain(), 5000, (*unwind.Frame).Tracing, 2},
		{unwind.WithVerify(), 10_000, (*unwind.Frame).Verified, 1},
		{unwind.WithExplain(), 1 << 30, (*unwind.Frame).Tracing, deep},
		{unwind.WithVerify(), 1 << 30, (*unwind.Frame).Verified, deep - 1}, // not the top frame
		{unwind.WithExplain(), 0, (*unwind.Frame).Tracing, 0},
		{unwind.WithVerify(), 0, (*unwind.Frame).Verified, 0},
	} {
		w := mustWalker(newProc(0x1000, stackBase, 5), []unwind.Option{c.opt, unwind.WithBudget(&extraBudget{c.extras})}, step)
		s, err := w.WalkStack(unwind.NullThread)
		if err != nil || len(s.Frames) != deep {
			t.Fatalf("%d frames, %v", len(s.Frames), err)
		}
		n := 0
		for _, f := range s.Frames {
			if c.had(f) {
				n++
			}
			if f.Tracing() != (len(f.Attempts()) > 0) {
				t.Errorf("%v: tracing %t, %d attempts", f, f.Tracing(), len(f.Attempts()))
			}
		}
		if n < c.min || c.min < deep-1 && n > c.min+2 {
			t.Errorf("%d of %d frames have the extras of a budget of %d", n, deep, c.extras)
		}
	}
}
