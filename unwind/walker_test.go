package unwind_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

func stepper(name string, priority uint32, f func(in, out *unwind.Frame) unwind.Status) *stepFunc {
	return &stepFunc{name: name, priority: priority, step: f}
}

func TestWalkStack(t *testing.T) {
	p := deepStack(5, 32, 0x400500)
	w := mustWalker(p, nil, stepper("fp", 1, byFP))
	s, err := w.WalkStack(unwind.NullThread)
	if err != nil || s.Err != nil || s.End != unwind.EndBottom || s.Thread != 1 {
		t.Fatalf("end %v, %v, %v; thread %d", s.End, err, s.Err, s.Thread)
	}
	if len(s.Frames) != 5 {
		t.Fatalf("%d frames; want 5", len(s.Frames))
	}
	for i, f := range s.Frames {
		top, bottom := i == 0, i == len(s.Frames)-1
		if f.IsTopFrame() != top || f.IsBottomFrame() != bottom || f.Thread() != 1 || f.Walker() != w {
			t.Errorf("frame %d: top %v, bottom %v, thread %d", i, f.IsTopFrame(), f.IsBottomFrame(), f.Thread())
		}
		if top != (f.Stepper() == nil) || bottom != (f.NextStepper() == nil) || top != (f.PrevFrame() == nil) {
			t.Errorf("frame %d: stepper %v, next %v, previous %v", i, f.Stepper(), f.NextStepper(), f.PrevFrame())
		}
		if cfa, ok := f.CFA(); ok == bottom || ok && cfa != f.FP()+16 {
			t.Errorf("frame %d: CFA %#x, %v", i, cfa, ok)
		}
		want := f.RA() - 1
		if top {
			want = f.RA()
		}
		if f.LookupAddr() != want {
			t.Errorf("frame %d is looked up at %#x; want %#x", i, f.LookupAddr(), want)
		}
	}
	if tr := s.Frames[0].Trust(); tr != unwind.TrustContext {
		t.Errorf("trust of the top frame is %v", tr)
	}
}

func TestStepperAnswers(t *testing.T) {
	good := func(in, out *unwind.Frame) unwind.Status {
		if in.SP() >= stackBase+0x100 {
			return unwind.StatusStackBottom
		}
		out.SetRA(in.RA())
		out.SetSP(in.SP() + 0x80)
		return unwind.StatusSuccess
	}
	say := func(st unwind.Status) func(in, out *unwind.Frame) unwind.Status {
		return func(in, out *unwind.Frame) unwind.Status { // leaves everything it can behind
			out.SetRA(0xbad)
			out.SetReg(arch.RBX, 0xbad, unwind.AtAddress(0xbad))
			out.SetNonCall(true)
			out.SetTrust(unwind.TrustScan)
			out.SetCalleeCFA(0xbad)
			out.ForgetReg(arch.R12)
			return st
		}
	}
	noSP := func(in, out *unwind.Frame) unwind.Status { out.SetRA(1); return unwind.StatusSuccess }
	noRA := func(in, out *unwind.Frame) unwind.Status {
		out.SetSP(1)
		out.SetRALocation(unwind.AtAddress(8))
		return unwind.StatusSuccess
	}
	same := func(in, out *unwind.Frame) unwind.Status {
		out.SetRA(in.RA())
		out.SetSP(in.SP())
		for r := range arch.Reg(arch.AMD64.NumRegs()) {
			if v, l, ok := in.Reg(r); ok {
				out.SetReg(r, v, l)
			}
		}
		return unwind.StatusSuccess
	}
	tests := []struct {
		name  string
		first func(in, out *unwind.Frame) unwind.Status
		n     int // frames with good to be asked after first
		end   unwind.EndReason
		err   error
		text  string
		alone error // without good
	}{
		{"not_me leaves no trace", say(unwind.StatusNotMe), 3, unwind.EndBottom, nil, "", unwind.ErrNoStepper},
		{"no stack pointer", noSP, 3, unwind.EndBottom, nil, "", unwind.ErrNoStepper},
		{"a location is no return address", noRA, 3, unwind.EndBottom, nil, "", unwind.ErrNoStepper},
		{"the same frame again", same, 3, unwind.EndBottom, nil, "no progress", unwind.ErrNoStepper},
		{"error", say(unwind.StatusError), 1, unwind.EndError, unwind.ErrStepper, "", unwind.ErrStepper},
		{"unknown status", say(unwind.Status(77)), 3, unwind.EndBottom, nil, "", unwind.ErrNoStepper},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := newProc(0x400500, stackBase, 0)
			p.setRegs(arch.R12, 12)
			w := mustWalker(p, []unwind.Option{unwind.WithExplain()}, stepper("first", 1, tc.first), stepper("good", 2, good))
			s, err := w.WalkStack(1)
			if !errors.Is(err, tc.err) || s.End != tc.end || len(s.Frames) != tc.n {
				t.Errorf("%d frames, end %v, %v; want %d, %v, %v", len(s.Frames), s.End, err, tc.n, tc.end, tc.err)
			}
			for i, f := range s.Frames[1:] {
				_, _, rbx := f.Reg(arch.RBX)
				r12, _, ok := f.Reg(arch.R12)
				if f.RA() != 0x400500 || rbx || f.NonCall() || f.Trust() != unwind.TrustUser || !ok || r12 != 12 {
					t.Errorf("frame %d: %v, rbx %v, non-call %v, trust %v, r12 %d %v", i+1, f, rbx, f.NonCall(), f.Trust(), r12, ok)
				}
				if _, ok := s.Frames[i].CFA(); ok {
					t.Errorf("frame %d has the CFA of a stepper that declined", i)
				}
			}
			at := s.Frames[0].Attempts()
			if tc.n > 1 && (len(at) != 2 || at[1].Stepper.Name() != "good" || at[1].Refused != "" || !strings.Contains(at[0].Refused, tc.text)) {
				t.Errorf("attempts %+v", at)
			}
			alone := mustWalker(p, nil, stepper("first", 1, tc.first))
			s, err = alone.WalkStack(1)
			if !errors.Is(err, tc.alone) || len(s.Frames) != 1 {
				t.Errorf("alone: %d frames, %v; want %v", len(s.Frames), err, tc.alone)
			}
			if tc.text != "" && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("alone: %q does not say %q", err, tc.text)
			}
		})
	}
}

func TestErrorKeepsFrames(t *testing.T) {
	p := deepStack(100, 32, 0x400500)
	n := 0
	w := mustWalker(p, nil, stepper("fp", 1, func(in, out *unwind.Frame) unwind.Status {
		if n++; n == 50 {
			return unwind.StatusError
		}
		return byFP(in, out)
	}))
	s, err := w.WalkStack(1)
	if !errors.Is(err, unwind.ErrStepper) || s.End != unwind.EndError || len(s.Frames) != 50 {
		t.Errorf("%d frames, end %v, %v; want 50 and the stepper's error", len(s.Frames), s.End, err)
	}
}

func TestWalkSingleFrame(t *testing.T) {
	p := deepStack(2, 32, 0x400500)
	w := mustWalker(p, nil, stepper("fp", 1, byFP))
	top, err := w.InitialFrame(unwind.NullThread)
	if err != nil {
		t.Fatal(err)
	}
	next, err := w.WalkSingleFrame(top)
	if err != nil || next.SP() != stackBase+16 {
		t.Fatalf("%v, %v", next, err)
	}
	for range 2 {
		if f, err := w.WalkSingleFrame(next); f != nil || !errors.Is(err, unwind.ErrStackBottom) {
			t.Errorf("at the bottom: %v, %v; want ErrStackBottom", f, err)
		}
	}
	if _, err := w.WalkSingleFrame(nil); !errors.Is(err, unwind.ErrBadParam) {
		t.Errorf("from nil: %v", err)
	}
	if _, err := mustWalker(p, nil).WalkSingleFrame(top); !errors.Is(err, unwind.ErrBadParam) {
		t.Errorf("from another walker's frame: %v", err)
	}
	if _, err := mustWalker(p, nil).WalkStack(1); !errors.Is(err, unwind.ErrNoStepper) {
		t.Errorf("with an empty group: %v", err)
	}
}

func TestWalkFromFrame(t *testing.T) {
	p := deepStack(10, 32, 0x400500)
	w := mustWalker(p, nil, stepper("fp", 1, byFP))
	f, err := unwind.NewFrame(0x400777, stackBase+40, stackBase+64, w)
	if err != nil {
		t.Fatal(err)
	}
	f.SetReg(arch.RBX, 7, unwind.Location{})
	s, err := w.WalkStackFromFrame(f)
	if err != nil || len(s.Frames) != 8 || s.Frames[0] != f || s.Thread != 1 {
		t.Fatalf("%d frames of thread %d, %v; want 8 of the default thread", len(s.Frames), s.Thread, err)
	}
	if f.IsTopFrame() || f.LookupAddr() != 0x400776 {
		t.Errorf("a made frame: top %v, looked up at %#x", f.IsTopFrame(), f.LookupAddr())
	}
	if v, _, ok := s.Frames[7].Reg(arch.RBX); !ok || v != 7 {
		t.Errorf("rbx of the last frame is %d, %v; nobody saved it", v, ok)
	}
	if f.SetRA(1) || f.RA() != 0x400777 {
		t.Error("a frame that was walked from still changes")
	}
	if s, err := w.WalkStackFromFrame(nil); err == nil || s == nil {
		t.Errorf("from nil: %v, %v; want an error and an empty stack", s, err)
	}
}

func TestHooks(t *testing.T) {
	count := func(p *fakeProc, pre, post int) {
		t.Helper()
		if p.pre != pre || p.post != post {
			t.Errorf("%d pre and %d post hooks; want %d and %d", p.pre, p.post, pre, post)
		}
	}
	p := deepStack(3, 32, 0x400500)
	var w *unwind.Walker
	nested := stepper("nested", 1, func(in, out *unwind.Frame) unwind.Status {
		if in.IsTopFrame() && p.pre == 1 {
			if _, err := w.InitialFrame(1); err != nil {
				t.Error(err)
			}
			count(p, 1, 0)
		}
		return byFP(in, out)
	})
	w = mustWalker(p, nil, nested)
	if _, err := w.WalkStack(1); err != nil {
		t.Error(err)
	}
	count(p, 1, 1)
	if _, err := w.InitialFrame(1); err != nil {
		t.Error(err)
	}
	count(p, 2, 2)

	p.preErr = errFake
	for range 2 { // the second time too: a failure leaves nothing behind
		if s, err := w.WalkStack(1); !errors.Is(err, errFake) || !errors.Is(s.Err, errFake) || len(s.Frames) != 0 {
			t.Errorf("failing pre hook: %v, %v", s, err)
		}
	}
	count(p, 4, 2)
	p.preErr = nil
	p.postErr = errFake
	if s, err := w.WalkStack(1); !errors.Is(err, errFake) || len(s.Frames) != 3 {
		t.Errorf("failing post hook: %d frames, %v; want all frames and the error", len(s.Frames), err)
	}
	count(p, 5, 3)
	p.postErr = nil
	if _, err := w.WalkStack(42); !errors.Is(err, unwind.ErrNoThread) {
		t.Errorf("unknown thread: %v", err)
	}
	count(p, 6, 4)
}

func TestLimits(t *testing.T) {
	p := deepStack(1000, 32, 0x400500)
	fp := stepper("fp", 1, byFP)
	s, err := mustWalker(p, []unwind.Option{unwind.WithMaxFrames(10)}, fp).WalkStack(1)
	if !errors.Is(err, unwind.ErrMaxFrames) || s.End != unwind.EndMaxFrames || len(s.Frames) != 10 {
		t.Errorf("limit of 10: %d frames, %v, %v", len(s.Frames), s.End, err)
	}
	s, err = mustWalker(p, []unwind.Option{unwind.WithMaxFrames(1000)}, fp).WalkStack(1)
	if len(s.Frames) != 1000 {
		t.Errorf("limit of as many as there are: %d frames, %v", len(s.Frames), err)
	}
	for _, n := range []int{0, -1} {
		if _, err := unwind.NewWalker(p, unwind.WithMaxFrames(n)); !errors.Is(err, unwind.ErrBadParam) {
			t.Errorf("limit of %d: %v", n, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, err = mustWalker(p, nil, fp).WalkStackContext(ctx, 1)
	if !errors.Is(err, context.Canceled) || s.End != unwind.EndCancelled || len(s.Frames) >= 1000 || len(s.Frames) == 0 {
		t.Errorf("cancelled: %d frames, %v, %v", len(s.Frames), s.End, err)
	}
	if _, err := unwind.NewWalker(nil); !errors.Is(err, unwind.ErrBadParam) {
		t.Errorf("without a process: %v", err)
	}
}

// TestSignalMarks: a stepper that finds a frame by a signal marks its callee as the
// trampoline, whose look-up address is then exact.
func TestSignalMarks(t *testing.T) {
	p := newProc(0x400500, stackBase, 0)
	w := mustWalker(p, nil, stepper("s", 1, func(in, out *unwind.Frame) unwind.Status {
		if in.SP() == stackBase+0x30 {
			return unwind.StatusStackBottom
		}
		out.SetRA(in.RA() + 1)
		out.SetSP(in.SP() + 0x10)
		if in.SP() == stackBase+0x10 {
			out.SetTrust(unwind.TrustSignal)
			out.SetNonCall(true)
		}
		return unwind.StatusSuccess
	}))
	s, err := w.WalkStack(1)
	if err != nil || len(s.Frames) != 4 {
		t.Fatal(len(s.Frames), err)
	}
	for i, want := range []struct {
		tramp, nonCall bool
		lookup         uint64
	}{{false, false, 0x400500}, {true, false, 0x400501}, {false, true, 0x400502}, {false, false, 0x400502}} {
		f := s.Frames[i]
		if f.IsTrampoline() != want.tramp || f.NonCall() != want.nonCall || f.LookupAddr() != want.lookup {
			t.Errorf("frame %d: trampoline %v, non-call %v, looked up at %#x; want %+v", i, f.IsTrampoline(), f.NonCall(), f.LookupAddr(), want)
		}
	}
}

func TestCustomStepperInRange(t *testing.T) {
	p := deepStack(4, 32, 0x400500)
	mine := stepper("mine", 0, func(in, out *unwind.Frame) unwind.Status {
		st := byFP(in, out)
		out.SetTrust(unwind.TrustUser)
		return st
	})
	w := mustWalker(p, nil, stepper("fp", 1, byFP))
	if err := w.StepperGroup().AddStepper(mine, 0x400500, 0x400501); err != nil {
		t.Fatal(err)
	}
	s, err := w.WalkStack(1)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range s.Frames[1:] {
		if f.Stepper() != mine || f.Trust() != unwind.TrustUser {
			t.Errorf("frame %d is by %s, %v", i+1, f.Stepper().Name(), f.Trust())
		}
	}
	names := []string{}
	for _, st := range w.StepperGroup().Steppers() {
		names = append(names, st.Name())
	}
	if !slices.Equal(names, []string{"fp", "mine"}) {
		t.Errorf("steppers %q", names)
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		unwind.StatusSuccess.String(): "gcf_success", unwind.StatusStackBottom.String(): "gcf_stackbottom",
		unwind.StatusNotMe.String(): "gcf_not_me", unwind.StatusError.String(): "gcf_error", unwind.Status(9).String(): "Status(9)",
		unwind.TrustCFI.String(): "cfi", unwind.TrustScan.String(): "scan", unwind.Trust(99).String(): "Trust(99)",
		unwind.EndLoop.String(): "loop", unwind.EndReason(99).String(): "EndReason(99)",
		libstate.Load.String(): "library_load", libstate.Unload.String(): "library_unload",
		unwind.AtAddress(16).Describe(arch.AMD64): "saved at 0x10", unwind.InRegister(arch.RBX).Describe(arch.AMD64): "in rbx",
		unwind.Location{}.Describe(arch.AMD64): "computed",
	} {
		if got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
	if a, b, c := unwind.Version(); a != unwind.VersionMajor || b != unwind.VersionMinor || c != unwind.VersionMaintenance {
		t.Errorf("version %d.%d.%d", a, b, c)
	}
}

// ownProc is a process that walks itself.
type ownProc struct{ *fakeProc }

func (ownProc) IsFirstParty() bool { return true }

// The youngest frame of a process that walks itself is in a call, like the others.
func TestFirstPartyTopFrame(t *testing.T) {
	p := deepStack(3, 32, 0x400500)
	group := unwind.NewAddrRangeGroup()
	if err := group.RegisterStepper(stepper("fp", 1, byFP)); err != nil {
		t.Fatal(err)
	}
	w, err := unwind.NewWalker(ownProc{p}, unwind.WithGroup(group))
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.WalkStack(unwind.NullThread)
	if err != nil || len(s.Frames) != 3 {
		t.Fatalf("%d frames, %v", len(s.Frames), err)
	}
	for i, f := range s.Frames {
		if f.IsTopFrame() != (i == 0) || f.LookupAddr() != f.RA()-1 {
			t.Errorf("frame %d: top %v, pc %#x looked up at %#x", i, f.IsTopFrame(), f.RA(), f.LookupAddr())
		}
	}
}
