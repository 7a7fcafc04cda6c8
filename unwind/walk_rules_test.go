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

// TestFirstFrames: a thread's first frame has its registers, and its address is looked up
// as it is, unless the process is behind the instruction that it stands for.
func TestFirstFrames(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*machine)
		lookup uint64
	}{
		"plain":                {func(*machine) {}, 0x8000},
		"behind a breakpoint":  {func(m *machine) { m.trapped = true }, 0x7fff},
		"walks itself":         {func(m *machine) { m.first = true }, 0x7fff},
		"no program counter":   {func(m *machine) { m.regs.Clear(arch.RIP) }, 0},
		"no stack pointer":     {func(m *machine) { m.regs.Clear(arch.RSP) }, 0},
		"no registers at all":  {func(m *machine) { m.regs = arch.RegSet{} }, 0},
		"no thread to be told": {func(m *machine) { m.err = errFake }, 0},
	} {
		m := machineOf(arch.AMD64)
		m.regs.Set(arch.RBX, 7)
		c.change(m)
		w := mustWalker(m, nil)
		f, err := w.InitialFrame(unwind.NullThread)
		if c.lookup == 0 {
			if f != nil || err == nil {
				t.Errorf("%s: %v, %v", name, f, err)
			}
			s, err := w.WalkStack(unwind.NullThread)
			if s == nil || err == nil || s.Err != err || s.End != unwind.EndNoRegister || len(s.Frames) != 0 {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
			s = &unwind.Stack{Thread: unwind.NullThread}
			if err := w.WalkMore(t.Context(), s, 5); err == nil || s.Err != err || s.End != unwind.EndNoRegister || len(s.Frames) != 0 {
				t.Errorf("%s, by pieces: %+v, %v", name, s, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f.LookupAddr() != c.lookup || !f.IsTopFrame() || f.IsTrampoline() || f.IsBottomFrame() || f.NonCall() || f.Attempts() != nil {
			t.Errorf("%s: %+v", name, observe(f))
		}
		if v, l, ok := f.Reg(arch.RBX); !ok || v != 7 || l != unwind.InRegister(arch.RBX) {
			t.Errorf("%s: rbx is %d, %v, %v", name, v, l, ok)
		}
		if f.Tracing() {
			t.Errorf("%s: explains itself", name)
		}
		if _, has := f.CFA(); has {
			t.Errorf("%s: a frame that nobody stepped from has a CFA", name)
		}
	}
}

// TestOptions: what is given is used, and nonsense is refused.
func TestOptions(t *testing.T) {
	r := &countingReader{}
	w := mustWalker(newProc(0x1000, stackBase, 0), []unwind.Option{unwind.WithSymbolReader(r)})
	if w.SymbolReader() != unwind.SymbolReader(r) {
		t.Error("the symbol reader is another one")
	}
	for n, ok := range map[int]bool{-1: false, 0: false, 1: true} {
		if _, err := unwind.NewWalker(newProc(0, 0, 0), unwind.WithMaxFrames(n)); (err == nil) != ok || !ok && !errors.Is(err, unwind.ErrBadParam) {
			t.Errorf("a limit of %d frames: %v", n, err)
		}
	}
	if _, err := unwind.NewWalker(nil); !errors.Is(err, unwind.ErrBadParam) {
		t.Errorf("no process: %v", err)
	}
}

type countingReader struct{ unwind.SymbolReader }

// TestBadStarts: a walk needs a frame of its own walker.
func TestBadStarts(t *testing.T) {
	w, other := mustWalker(newProc(0x1000, stackBase, 0), nil), mustWalker(newProc(0x1000, stackBase, 0), nil)
	for name, f := range map[string]*unwind.Frame{"nil": nil, "another walker's": frameOf(t, other)} {
		if s, err := w.WalkStackFromFrame(f); !errors.Is(err, unwind.ErrBadParam) || s == nil || s.Err != err || s.End != unwind.EndError || len(s.Frames) != 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		if out, err := w.WalkSingleFrame(f); out != nil || !errors.Is(err, unwind.ErrBadParam) {
			t.Errorf("%s: %v, %v", name, out, err)
		}
	}
}

// TestHookErrors: when the end of a walk fails, its frames are kept, and a failure of the
// walk itself is the one that is told.
func TestHookErrors(t *testing.T) {
	p := deepStack(3, 16, 0x1000)
	p.postErr = errFake
	w := mustWalker(p, nil, stepper("fp", 1, byFP))
	s, err := w.WalkStack(1)
	if !errors.Is(err, errFake) || !errors.Is(s.Err, errFake) || len(s.Frames) != 3 || s.End != unwind.EndBottom {
		t.Errorf("%d frames, %v, %v", len(s.Frames), s.End, err)
	}
	top, err := w.InitialFrame(1)
	if !errors.Is(err, errFake) {
		t.Errorf("%v, %v", top, err)
	}
	if s, err := w.WalkStackFromFrame(frameFor(t, w, p)); !errors.Is(err, errFake) || !errors.Is(s.Err, errFake) || len(s.Frames) != 3 {
		t.Errorf("%d frames, %v", len(s.Frames), err)
	}
	// The walk failed before.
	lost := mustWalker(p, nil)
	if s, err := lost.WalkStack(1); !errors.Is(err, unwind.ErrNoStepper) || errors.Is(err, errFake) || s.Err != err {
		t.Errorf("%v", err)
	}
	if s, err := lost.WalkStackFromFrame(frameFor(t, lost, p)); !errors.Is(err, unwind.ErrNoStepper) || s.Err != err {
		t.Errorf("%v", err)
	}
	if out, err := lost.WalkSingleFrame(frameFor(t, lost, p)); out != nil || !errors.Is(err, unwind.ErrNoStepper) {
		t.Errorf("%v", err)
	}
	// The beginning failed: nothing was walked.
	p.preErr, p.postErr = errFake, nil
	if s, err := w.WalkStack(1); !errors.Is(err, errFake) || !errors.Is(s.Err, errFake) || len(s.Frames) != 0 {
		t.Errorf("%d frames, %v", len(s.Frames), err)
	}
	if s, err := w.WalkStackFromFrame(frameFor(t, w, p)); !errors.Is(err, errFake) || !errors.Is(s.Err, errFake) || len(s.Frames) != 0 {
		t.Errorf("%d frames, %v", len(s.Frames), err)
	}
}

// frameFor is a start at the thread's registers.
func frameFor(t *testing.T, w *unwind.Walker, p *fakeProc) *unwind.Frame {
	t.Helper()
	get := func(r arch.Reg) uint64 { v, _ := p.regs.Get(r); return v }
	f, err := unwind.NewFrame(get(arch.RIP), get(arch.RSP), get(arch.RBP), w)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestCancelledWalk: a context that is done ends a long walk, and a short one is not
// worth asking.
func TestCancelledWalk(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for n, want := range map[int]int{255: 255, 256: 256, 257: 256, 600: 256} {
		p := deepStack(n, 16, 0x1000)
		s, err := mustWalker(p, nil, stepper("fp", 1, byFP)).WalkStackContext(ctx, 1)
		if len(s.Frames) != want || (n > 255) != errors.Is(err, context.Canceled) || (n > 255) != (s.End == unwind.EndCancelled) {
			t.Errorf("a stack of %d frames: %d, %v, %v", n, len(s.Frames), s.End, err)
		}
	}
}

// TestDeepRegisters: each frame has its own registers, however far it is from the frames
// that hold all of them.
func TestDeepRegisters(t *testing.T) {
	const depth = 100
	s := stepper("s", 1, func(in, out *unwind.Frame) unwind.Status {
		n := in.SP() - stackBase
		if n == depth {
			return unwind.StatusStackBottom
		}
		out.SetRA(0x1000 + n)
		out.SetSP(in.SP() + 1)
		if n%3 == 0 {
			out.SetReg(arch.RBX, 1000+n, unwind.AtAddress(n))
		}
		if n == 50 {
			out.ForgetReg(arch.R12)
		}
		if n == 70 {
			out.ForgetRegs()
			out.SetRA(0x1000 + n)
			out.SetSP(in.SP() + 1)
		}
		return unwind.StatusSuccess
	})
	p := newProc(0x1000, stackBase, 0)
	p.regs.Set(arch.R12, 12)
	p.regs.Set(arch.R13, 13)
	stack, err := mustWalker(p, nil, s).WalkStack(1)
	if err != nil || len(stack.Frames) != depth+1 {
		t.Fatal(len(stack.Frames), err)
	}
	for i, f := range stack.Frames {
		_, _, r12 := f.Reg(arch.R12)
		_, _, r13 := f.Reg(arch.R13)
		_, _, r11 := f.Reg(arch.R11)
		if r12 != (i <= 50) || r13 != (i <= 70) || r11 {
			t.Errorf("frame %d: r12 %v, r13 %v, r11 %v", i, r12, r13, r11)
		}
		last := (i - 1) / 3 * 3 // the step that set rbx
		v, l, ok := f.Reg(arch.RBX)
		switch {
		case i == 0 || i >= 71 && last < 71:
			if ok {
				t.Errorf("frame %d: rbx is known", i)
			}
		case !ok || v != uint64(1000+last) || l != unwind.AtAddress(uint64(last)):
			t.Errorf("frame %d: rbx is %d, %v, %v; want %d", i, v, l, ok, 1000+last)
		}
		if want := i == depth; f.IsBottomFrame() != want || f.IsTopFrame() != (i == 0) {
			t.Errorf("frame %d: bottom %v, top %v", i, f.IsBottomFrame(), f.IsTopFrame())
		}
		if i > 0 && (f.PrevFrame() != stack.Frames[i-1] || f.Stepper() != unwind.FrameStepper(s)) {
			t.Errorf("frame %d has another callee or stepper", i)
		}
	}
}

// TestNoProgress: a caller that is the same frame is refused, one that differs in anything
// is not.
func TestNoProgress(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(out *unwind.Frame)
		ok     bool
	}{
		"the same":        {func(out *unwind.Frame) {}, false},
		"another address": {func(out *unwind.Frame) { out.SetRA(0x1001) }, true},
		"another stack":   {func(out *unwind.Frame) { out.SetSP(stackBase + 8) }, true},
		"another pointer": {func(out *unwind.Frame) { out.SetFP(9) }, true},
		"another value":   {func(out *unwind.Frame) { out.SetReg(arch.RBX, 8, unwind.Location{}) }, true},
		"less known":      {func(out *unwind.Frame) { out.ForgetReg(arch.R12) }, true},
	} {
		p := newProc(0x1000, stackBase, 5)
		p.regs.Set(arch.RBX, 7)
		p.regs.Set(arch.R12, 0)
		w := mustWalker(p, nil, stepper("s", 1, func(in, out *unwind.Frame) unwind.Status {
			out.SetRA(in.RA())
			out.SetSP(in.SP())
			c.answer(out)
			return unwind.StatusSuccess
		}))
		top, err := w.InitialFrame(1)
		if err != nil {
			t.Fatal(err)
		}
		out, err := w.WalkSingleFrame(top)
		if (err == nil) != c.ok || (out != nil) != c.ok {
			t.Errorf("%s: %v, %v", name, out, err)
		}
		if !c.ok && (!errors.Is(err, unwind.ErrNoStepper) || !strings.Contains(err.Error(), "no progress")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A brokenGroup cannot find steppers.
type brokenGroup struct{ unwind.StepperGroup }

func (brokenGroup) FindStepperForAddr(unwind.Address, unwind.FrameStepper) (unwind.FrameStepper, error) {
	return nil, errFake
}

// TestWhyNoStepper: the error says why nobody could go on.
func TestWhyNoStepper(t *testing.T) {
	p := newProc(0x1000, stackBase, 0)
	if _, err := mustWalker(p, nil).WalkStack(1); err == nil || err.Error() != "at 0x1000: "+unwind.ErrNoStepper.Error() {
		t.Errorf("nobody there: %v", err)
	}
	shy := stepper("s", 1, func(in, out *unwind.Frame) unwind.Status { return unwind.StatusNotMe })
	if _, err := mustWalker(p, nil, shy).WalkStack(1); err == nil || err.Error() != "at 0x1000: "+unwind.ErrNoStepper.Error() {
		t.Errorf("nobody's: %v", err)
	}
	lazy := stepper("s", 1, func(in, out *unwind.Frame) unwind.Status { return unwind.StatusSuccess })
	if _, err := mustWalker(p, nil, lazy).WalkStack(1); err == nil || !strings.HasPrefix(err.Error(), "at 0x1000: the stepper did not set") {
		t.Errorf("a bad answer: %v", err)
	}
	g := brokenGroup{unwind.NewAddrRangeGroup()}
	if s, err := mustWalker(p, []unwind.Option{unwind.WithGroup(g)}).WalkStack(1); err != errFake || s.End != unwind.EndNoStepper {
		t.Errorf("a group that fails: %v, %v", s.End, err)
	}
}

// TestExplained: a walk that explains itself has what each stepper said of a frame, and
// nothing that was said later.
func TestExplained(t *testing.T) {
	var kept *unwind.Frame
	shy := stepper("shy", 1, func(in, out *unwind.Frame) unwind.Status {
		out.Notef("not %s", "mine")
		return unwind.StatusNotMe
	})
	good := stepper("good", 2, func(in, out *unwind.Frame) unwind.Status {
		if out.Notef("mine"); !in.IsTopFrame() && in.RA() == 0x1001 {
			return unwind.StatusStackBottom
		}
		out.SetRA(in.RA() + 1)
		out.SetSP(in.SP() + 8)
		kept = out
		return unwind.StatusSuccess
	})
	p := newProc(0x1000, stackBase, 0)
	said := func(f *unwind.Frame) (list []string) {
		for _, a := range f.Attempts() {
			list = append(list, a.Stepper.Name()+": "+strings.Join(a.Notes, ", "))
		}
		return list
	}
	want := []string{"shy: not mine", "good: mine"}
	w := mustWalker(p, []unwind.Option{unwind.WithExplain()}, shy, good)
	s, err := w.WalkStack(1)
	if err != nil || len(s.Frames) != 2 {
		t.Fatal(len(s.Frames), err)
	}
	for i, f := range s.Frames {
		if kept.Notef("too late"); !f.Tracing() || !slices.Equal(said(f), want) {
			t.Errorf("frame %d: %q", i, said(f))
		}
	}
	// From a frame that did not come of a walk.
	f := frameFor(t, w, p)
	if f.Tracing() {
		t.Error("a new frame explains")
	}
	if _, err := w.WalkSingleFrame(f); err != nil || !slices.Equal(said(f), want) {
		t.Errorf("%q, %v", said(f), err)
	}
	// Going on from a frame keeps what was said of it.
	if _, err := w.WalkSingleFrame(f); err != nil || len(said(f)) != 4 {
		t.Errorf("%q, %v", said(f), err)
	}
	// One that does not explain has nothing.
	plain := mustWalker(p, nil, shy, good)
	s, err = plain.WalkStack(1)
	if err != nil || len(s.Frames) != 2 || s.Frames[0].Attempts() != nil || s.Frames[1].Tracing() {
		t.Errorf("%v", err)
	}
	f = frameFor(t, plain, p)
	if _, err := plain.WalkSingleFrame(f); err != nil || f.Tracing() || f.Attempts() != nil {
		t.Errorf("%q, %v", said(f), err)
	}
}

// TestBottomIsNoCaller: of the last frame there is no caller, which is no failure, and an
// error of a stepper is one.
func TestBottomIsNoCaller(t *testing.T) {
	for status, want := range map[unwind.Status]error{unwind.StatusStackBottom: unwind.ErrStackBottom, unwind.StatusError: unwind.ErrStepper, unwind.StatusNotMe: unwind.ErrNoStepper} {
		w := mustWalker(newProc(0x1000, stackBase, 0), nil, stepper("s", 1, func(in, out *unwind.Frame) unwind.Status {
			out.SetRA(0x2000)
			out.SetSP(stackBase + 8)
			return status
		}))
		top, err := w.InitialFrame(1)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := w.WalkSingleFrame(top); out != nil || !errors.Is(err, want) {
			t.Errorf("%v: %v, %v", status, out, err)
		}
		if top.IsBottomFrame() != (status == unwind.StatusStackBottom) {
			t.Errorf("%v: bottom %v", status, top.IsBottomFrame())
		}
	}
}

// TestForgetAllOfTop: registers that the first frame has are not its caller's when all
// were forgotten.
func TestForgetAllOfTop(t *testing.T) {
	p := newProc(0x1000, stackBase, 5)
	for r := range arch.Reg(arch.AMD64.NumRegs()) {
		p.regs.Set(r, 0x1000+uint64(r))
	}
	w := mustWalker(p, nil, stepper("s", 1, func(in, out *unwind.Frame) unwind.Status {
		out.ForgetRegs()
		out.SetRA(0x2000)
		out.SetSP(0x3000)
		return unwind.StatusSuccess
	}))
	top, err := w.InitialFrame(1)
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.WalkSingleFrame(top)
	if err != nil {
		t.Fatal(err)
	}
	if regs := out.Registers(); regs.Valid != arch.Mask(arch.RIP, arch.RSP) {
		t.Errorf("known: %#x", regs.Valid)
	}
}

// TestCFAOfLast: a frame that nobody stepped from has no CFA, and a signal's frame is no
// thread's first.
func TestCFAOfLast(t *testing.T) {
	s := stepper("s", 1, func(in, out *unwind.Frame) unwind.Status {
		if in.SP() == stackBase+32 {
			return unwind.StatusStackBottom
		}
		out.SetRA(0x2000)
		out.SetSP(in.SP() + 16)
		out.SetCalleeCFA(in.SP() + 16)
		if !in.IsTopFrame() {
			out.SetTrust(unwind.TrustSignal)
		}
		return unwind.StatusSuccess
	})
	stack, err := mustWalker(newProc(0x1000, stackBase, 0), nil, s).WalkStack(1)
	if err != nil || len(stack.Frames) != 3 {
		t.Fatal(len(stack.Frames), err)
	}
	for i, f := range stack.Frames {
		cfa, ok := f.CFA()
		want := stackBase + 16*uint64(i+1)
		if i == 2 {
			want = 0
		}
		if ok != (i < 2) || cfa != want || f.IsTopFrame() != (i == 0) || f.IsTrampoline() != (i == 1) {
			t.Errorf("frame %d: CFA %#x, %v; top %v, trampoline %v", i, cfa, ok, f.IsTopFrame(), f.IsTrampoline())
		}
	}
}

// subscribed counts how often a subscription is ended.
type subscribed struct {
	fakeLibs
	ended int
}

func (l *subscribed) Subscribe(func(*libstate.Library, libstate.Change)) func() {
	return func() { l.ended++ }
}

func TestCloseTwice(t *testing.T) {
	p, libs := newProc(0, 0, 0), &subscribed{}
	p.libs = libs
	w := mustWalker(p, nil)
	first, second := w.Close(), w.Close()
	if first != nil || second != nil || libs.ended != 1 {
		t.Errorf("the subscription was ended %d times", libs.ended)
	}
}

// silent is a stepper that hears of no libraries.
type silent struct{}

func (silent) CallerFrame(_, _ *unwind.Frame) unwind.Status { return unwind.StatusNotMe }
func (silent) Name() string                                 { return "silent" }
func (silent) Priority() uint32                             { return 1 }

// A shyRegistrar joins a group without a range.
type shyRegistrar struct{ *stepFunc }

func (shyRegistrar) RegisterStepperGroup(unwind.StepperGroup) error { return nil }

// TestMembersOfGroup: who was registered hears of libraries, also without a range; whose
// ranges are taken away without having been there is no member.
func TestMembersOfGroup(t *testing.T) {
	g := unwind.NewAddrRangeGroup()
	shy := shyRegistrar{named("shy", 1)}
	for _, s := range []unwind.FrameStepper{silent{}, shy} {
		if err := g.RegisterStepper(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.RemoveAddressRanges([]unwind.AddrRange{rng(1, 2)}, named("stranger", 1)); err != nil {
		t.Fatal(err)
	}
	if got := g.Steppers(); len(got) != 2 {
		t.Errorf("%d members", len(got))
	}
	g.NewLibraryNotification(&libstate.Library{Path: "/lib"}, libstate.Load)
	if len(shy.heard) != 1 {
		t.Errorf("heard: %q", shy.heard)
	}
	if got := g.Ranges(silent{}); !slices.Equal(got, []unwind.AddrRange{unwind.WholeSpace}) {
		t.Errorf("%v", got)
	}
	top := named("top", 1)
	if err := g.AddStepper(top, 0x1000, 0); err != nil {
		t.Fatal(err)
	}
	if got := g.Ranges(top); !slices.Equal(got, []unwind.AddrRange{rng(0x1000, 0)}) {
		t.Errorf("%v", got)
	}
}

// TestSecondOpinionsStartAfresh: who is asked for a second opinion sees nothing of what
// another one said, and has given none when it declined.
func TestSecondOpinionsStartAfresh(t *testing.T) {
	answer := func(out *unwind.Frame, forget bool) {
		out.SetRA(0x2000)
		out.SetSP(stackBase + 16)
		if forget {
			out.ForgetReg(arch.RBP)
		} else {
			out.SetFP(7)
		}
	}
	bottom := func(in *unwind.Frame) bool { return !in.IsTopFrame() }
	mk := func(name string, priority uint32, f func(out *unwind.Frame) unwind.Status) *stepFunc {
		return stepper(name, priority, func(in, out *unwind.Frame) unwind.Status {
			if bottom(in) {
				return unwind.StatusStackBottom
			}
			return f(out)
		})
	}
	steppers := []unwind.FrameStepper{
		mk("believed", 1, func(out *unwind.Frame) unwind.Status { answer(out, true); return unwind.StatusSuccess }),
		mk("knows more", 2, func(out *unwind.Frame) unwind.Status { answer(out, false); return unwind.StatusSuccess }),
		mk("says nothing", 3, func(out *unwind.Frame) unwind.Status { return unwind.StatusSuccess }),
		mk("declines", 4, func(out *unwind.Frame) unwind.Status { answer(out, false); return unwind.StatusNotMe }),
	}
	p := newProc(0x1000, stackBase, 5)
	verified := mustWalker(p, []unwind.Option{unwind.WithVerify()}, steppers...)
	explained := mustWalker(p, []unwind.Option{unwind.WithVerify(), unwind.WithExplain()}, steppers...)
	for _, w := range []*unwind.Walker{verified, explained} {
		s, err := w.WalkStack(1)
		if err != nil || len(s.Frames) != 2 {
			t.Fatal(len(s.Frames), err)
		}
		f := s.Frames[1]
		if v := f.Verdicts(); len(v) != 1 || v[0].Stepper.Name() != "knows more" || !v[0].Agrees || !v[0].HasFP || v[0].FP != 7 {
			t.Errorf("%+v", v)
		}
		if f.Tracing() != (w == explained) || len(f.Attempts()) > 0 != (w == explained) {
			t.Errorf("tracing %v, %d attempts", f.Tracing(), len(f.Attempts()))
		}
	}
}

// TestDoubt: what a stepper finds by way of a guess is doubtful, in that frame and in its callers; if that is the return address, the frame is
// perhaps not on the stack, and registers that are still the thread's are doubtful, too.
func TestDoubt(t *testing.T) {
	for _, c := range []struct {
		name   string
		ra     unwind.Location
		set    func(out *unwind.Frame)
		proved bool   // the second step says so of itself
		want   string // of each frame: the return address, the stack pointer, rbx, r12
	}{
		{"nothing", unwind.AtAddress(8), func(*unwind.Frame) {}, false, ".... .... ...."},
		{"said", unwind.AtAddress(8), func(out *unwind.Frame) { out.SetDoubtful(true) }, false, ".... ???? ????"},
		{"said, and not", unwind.AtAddress(8), func(out *unwind.Frame) { out.SetDoubtful(true); out.SetDoubtful(false) }, false, ".... .... ...."},
		{"the return address is in a register", unwind.InRegister(arch.R11), func(out *unwind.Frame) { out.SetDoubtful(true) }, false, ".... .??. ????"},
		{"found by scanning", unwind.AtAddress(8), func(out *unwind.Frame) { out.SetTrust(unwind.TrustScan) }, false, ".... ???? ????"},
		{"found by scanning, and proved", unwind.AtAddress(8), func(out *unwind.Frame) { out.SetTrust(unwind.TrustScan); out.SetDoubtful(false) }, false, ".... .... ...."},
		{"the frame pointer is a guess", unwind.AtAddress(8), func(out *unwind.Frame) {
			out.SetDoubtful(false)
			out.SetReg(arch.RBP, 1, unwind.Location{Doubtful: true})
		}, false, ".... .... ????"},
		{"behind a guess, and proved", unwind.AtAddress(8), func(out *unwind.Frame) { out.SetDoubtful(true) }, true, ".... ???? ????"},
		{"behind a guess that is in a register, and proved", unwind.InRegister(arch.R11), func(out *unwind.Frame) { out.SetDoubtful(true) }, true, ".... .??. ...."},
	} {
		s := stepper("s", 1, func(in, out *unwind.Frame) unwind.Status {
			n := in.SP() - stackBase
			ra := unwind.AtAddress(8)
			if n == 2 {
				return unwind.StatusStackBottom
			}
			if n == 0 {
				ra = c.ra
			}
			out.SetPC(0x1001+n, ra)
			out.SetSP(in.SP() + 1)
			out.SetReg(arch.RBX, 1000+n, unwind.AtAddress(n))
			if n == 0 {
				c.set(out)
			} else if c.proved {
				out.SetDoubtful(false)
			}
			return unwind.StatusSuccess
		})
		p := newProc(0x1000, stackBase, 0)
		p.regs.Set(arch.R12, 12)
		stack, err := mustWalker(p, nil, s).WalkStack(1)
		if err != nil || len(stack.Frames) != 3 {
			t.Fatal(len(stack.Frames), err)
		}
		var got []string
		for _, f := range stack.Frames {
			marks := ""
			for _, doubtful := range []bool{f.RALocation().Doubtful, f.SPLocation().Doubtful, doubtfulReg(f, arch.RBX), doubtfulReg(f, arch.R12)} {
				marks += map[bool]string{true: "?", false: "."}[doubtful]
			}
			got = append(got, marks)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

func doubtfulReg(f *unwind.Frame, r arch.Reg) bool {
	_, l, ok := f.Reg(r)
	return ok && l.Doubtful
}
