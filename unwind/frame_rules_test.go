package unwind_test

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A machine is a fakeProc of any architecture, with the things that few processes have.
type machine struct {
	*fakeProc
	arch    *arch.Arch
	mask    arch.Address
	trapped bool
	first   bool
	err     error // of its default thread
}

func (m *machine) Arch() *arch.Arch                { return m.arch }
func (m *machine) CodeMask() arch.Address          { return m.mask }
func (m *machine) BehindTrap(unwind.ThreadID) bool { return m.trapped }
func (m *machine) IsFirstParty() bool              { return m.first }
func (m *machine) DefaultThread() (unwind.ThreadID, error) {
	return 1, m.err
}
func (m *machine) Registers(unwind.ThreadID) (arch.RegSet, error) { return m.regs, nil }

func machineOf(a *arch.Arch) *machine {
	m := &machine{fakeProc: &fakeProc{}, arch: a}
	m.regs.Set(a.PC, 0x8000)
	m.regs.Set(a.SP, stackBase)
	return m
}

func frameOf(t *testing.T, w *unwind.Walker) *unwind.Frame {
	t.Helper()
	f, err := unwind.NewFrame(0x1000, 0x2000, 0x3000, w)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAcceptedFramesStay: every setter works on a frame that nobody has accepted, and says
// so; on an accepted one it changes nothing, and says so too.
func TestAcceptedFramesStay(t *testing.T) {
	for name, set := range map[string]func(*unwind.Frame) bool{
		"SetRA":         func(f *unwind.Frame) bool { return f.SetRA(1) },
		"SetSP":         func(f *unwind.Frame) bool { return f.SetSP(1) },
		"SetFP":         func(f *unwind.Frame) bool { return f.SetFP(1) },
		"SetRALocation": func(f *unwind.Frame) bool { return f.SetRALocation(unwind.AtAddress(1)) },
		"SetSPLocation": func(f *unwind.Frame) bool { return f.SetSPLocation(unwind.AtAddress(1)) },
		"SetFPLocation": func(f *unwind.Frame) bool { return f.SetFPLocation(unwind.AtAddress(1)) },
		"SetNonCall":    func(f *unwind.Frame) bool { return f.SetNonCall(true) },
		"SetTrust":      func(f *unwind.Frame) bool { return f.SetTrust(unwind.TrustScan) },
		"SetCalleeCFA":  func(f *unwind.Frame) bool { return f.SetCalleeCFA(1) },
		"SetReg":        func(f *unwind.Frame) bool { return f.SetReg(arch.RBX, 1, unwind.Location{}) },
		"SetPC":         func(f *unwind.Frame) bool { return f.SetPC(1, unwind.Location{}) },
		"ForgetReg":     func(f *unwind.Frame) bool { return f.ForgetReg(arch.RBP) },
		"ForgetRegs":    func(f *unwind.Frame) bool { return f.ForgetRegs() },
	} {
		w := mustWalker(newProc(0x1000, stackBase, 0), nil)
		f, g := frameOf(t, w), frameOf(t, w)
		before := observe(f)
		if !set(f) || observe(f) == before {
			t.Errorf("%s does nothing on a new frame: %+v", name, observe(f))
		}
		if f.IsTopFrame() || f.IsBottomFrame() || f.IsTrampoline() {
			t.Errorf("%s makes a frame of another kind: %+v", name, observe(f))
		}
		if _, err := w.WalkStackFromFrame(g); !errors.Is(err, unwind.ErrNoStepper) {
			t.Fatal(err)
		}
		if set(g) || observe(g) != before {
			t.Errorf("%s changes an accepted frame: %+v", name, observe(g))
		}
		top, err := w.InitialFrame(1)
		if err != nil {
			t.Fatal(err)
		}
		before = observe(top)
		if set(top) || observe(top) != before {
			t.Errorf("%s changes a thread's first frame: %+v", name, observe(top))
		}
	}
}

// An observed is what can be asked of a frame.
type observed struct {
	ra, sp, fp, cfa                     unwind.Address
	raAt, spAt, fpAt                    unwind.Location
	hasCFA, top, bottom, nonCall, tramp bool
	trust                               unwind.Trust
	regs                                arch.RegSet
	lookup, pointer                     unwind.Address
}

func observe(f *unwind.Frame) observed {
	o := observed{ra: f.RA(), sp: f.SP(), fp: f.FP(), raAt: f.RALocation(), spAt: f.SPLocation(), fpAt: f.FPLocation(),
		top: f.IsTopFrame(), bottom: f.IsBottomFrame(), nonCall: f.NonCall(), tramp: f.IsTrampoline(), trust: f.Trust(),
		regs: f.Registers(), lookup: f.LookupAddr(), pointer: f.CodePointer()}
	o.cfa, o.hasCFA = f.CFA()
	return o
}

// TestFlagsAreTheirOwn: a flag that is set and cleared again leaves the frame as it was.
func TestFlagsAreTheirOwn(t *testing.T) {
	f := frameOf(t, mustWalker(newProc(0x1000, stackBase, 0), nil))
	before := observe(f)
	f.SetNonCall(true)
	if !f.NonCall() || f.LookupAddr() != f.RA() {
		t.Errorf("not a call: %+v", observe(f))
	}
	f.SetNonCall(false)
	if observe(f) != before {
		t.Errorf("%+v, was %+v", observe(f), before)
	}
}

// TestForgetting: what is forgotten is not known any more, and the rest is.
func TestForgetting(t *testing.T) {
	w := mustWalker(newProc(0x1000, stackBase, 0), nil)
	f := frameOf(t, w)
	f.SetReg(arch.RBX, 7, unwind.AtAddress(0x10))
	f.SetReg(arch.R12, 8, unwind.AtAddress(0x18))
	f.SetReg(arch.R13, 9, unwind.AtAddress(0x20))
	f.ForgetReg(arch.RBX)
	if _, _, ok := f.Reg(arch.RBX); ok {
		t.Error("rbx is known")
	}
	for r, want := range map[arch.Reg]uint64{arch.R12: 8, arch.R13: 9, arch.RIP: 0x1000, arch.RSP: 0x2000, arch.RBP: 0x3000} {
		if v, _, ok := f.Reg(r); !ok || v != want {
			t.Errorf("%s is %#x, %v", arch.AMD64.RegName(r), v, ok)
		}
	}
	f.ForgetReg(arch.RBP)
	if _, _, ok := f.Reg(arch.RBP); ok || f.FP() != 0 {
		t.Errorf("the frame pointer is %#x, known: %v", f.FP(), ok)
	}
	f.ForgetReg(arch.RSP)
	if _, _, ok := f.Reg(arch.RSP); ok {
		t.Error("the stack pointer is known")
	}
	f.SetSPLocation(unwind.Location{}) // that it was computed does not make it known
	if _, _, ok := f.Reg(arch.RSP); ok {
		t.Error("a stack pointer without a value is known")
	}
	f.SetReg(arch.RSP, 0x2008, unwind.AtAddress(0x28))
	f.SetSP(0x2010) // computed: the place is forgotten
	if v, l, ok := f.Reg(arch.RSP); !ok || v != 0x2010 || l != (unwind.Location{}) {
		t.Errorf("the stack pointer is %#x, %v, %v", v, l, ok)
	}
	f.SetReg(arch.RSP, 0x2018, unwind.AtAddress(0x30))
	if v, l, ok := f.Reg(arch.RSP); !ok || v != 0x2018 || l != unwind.AtAddress(0x30) {
		t.Errorf("the stack pointer is %#x, %v, %v", v, l, ok)
	}
	f.ForgetRegs()
	if regs := f.Registers(); regs.Valid != 0 || f.FP() != 0 {
		t.Errorf("registers %#x are known, FP %#x", regs.Valid, f.FP())
	}
}

// TestForgottenIsNotThere: a stepper that forgot the return address or the stack pointer
// has not found a caller, also when it said before where they are.
func TestForgottenIsNotThere(t *testing.T) {
	for name, answer := range map[string]func(out *unwind.Frame){
		"nothing":              func(*unwind.Frame) {},
		"no return address":    func(out *unwind.Frame) { out.SetSP(stackBase + 16) },
		"no stack pointer":     func(out *unwind.Frame) { out.SetRA(0x2000) },
		"forgot the address":   func(out *unwind.Frame) { out.SetSP(stackBase + 16); out.SetRA(0x2000); out.ForgetReg(arch.RIP) },
		"forgot the pointer":   func(out *unwind.Frame) { out.SetSP(stackBase + 16); out.SetRA(0x2000); out.ForgetReg(arch.RSP) },
		"forgot all":           func(out *unwind.Frame) { out.SetSP(stackBase + 16); out.SetRA(0x2000); out.ForgetRegs() },
		"place of the pointer": func(out *unwind.Frame) { out.SetRA(0x2000); out.SetSPLocation(unwind.AtAddress(stackBase)) },
		"place of the address": func(out *unwind.Frame) { out.SetSP(stackBase + 16); out.SetRALocation(unwind.AtAddress(stackBase)) },
		"pointer nowhere":      func(out *unwind.Frame) { out.SetRA(0x2000); out.SetSPLocation(unwind.Location{}) },
	} {
		s := stepper("s", 1, func(in, out *unwind.Frame) unwind.Status { answer(out); return unwind.StatusSuccess })
		stack, err := mustWalker(newProc(0x1000, stackBase, 0), nil, s).WalkStack(1)
		if len(stack.Frames) != 1 || stack.End != unwind.EndNoStepper || !errors.Is(err, unwind.ErrNoStepper) {
			t.Errorf("%s: %d frames, %v, %v", name, len(stack.Frames), stack.End, err)
		}
	}
}

// TestLocationsBeforeValues: a place may be set before the value, and stays.
func TestLocationsBeforeValues(t *testing.T) {
	s := stepper("s", 1, func(in, out *unwind.Frame) unwind.Status {
		if !in.IsTopFrame() {
			return unwind.StatusStackBottom
		}
		out.SetRALocation(unwind.AtAddress(stackBase + 8))
		out.SetRA(0x2000)
		out.SetSP(stackBase + 16)
		out.SetSPLocation(unwind.AtAddress(stackBase + 24))
		out.SetFPLocation(unwind.InRegister(arch.RBX))
		return unwind.StatusSuccess
	})
	stack, err := mustWalker(newProc(0x1000, stackBase, 5), nil, s).WalkStack(1)
	if err != nil || len(stack.Frames) != 2 {
		t.Fatal(len(stack.Frames), err)
	}
	f := stack.Frames[1]
	if f.RA() != 0x2000 || f.SP() != stackBase+16 || f.FP() != 5 || f.RALocation() != unwind.AtAddress(stackBase+8) ||
		f.SPLocation() != unwind.AtAddress(stackBase+24) || f.FPLocation() != unwind.InRegister(arch.RBX) {
		t.Errorf("%v: %v, %v, %v", f, f.RALocation(), f.SPLocation(), f.FPLocation())
	}
	if got := f.FPLocation().Describe(arch.AMD64); got != "in rbx" {
		t.Error(got)
	}
	if top := stack.Frames[0]; top.SPLocation() != unwind.InRegister(arch.RSP) || top.RALocation() != unwind.InRegister(arch.RIP) {
		t.Errorf("of a thread: %v, %v", top.RALocation(), top.SPLocation())
	}
}

// TestEqualTells: each thing that Equal compares makes a difference by itself.
func TestEqualTells(t *testing.T) {
	w := mustWalker(newProc(0x1000, stackBase, 0), nil)
	base := frameOf(t, w)
	for name, change := range map[string]func(*unwind.Frame){
		"ra":          func(f *unwind.Frame) { f.SetRA(1) },
		"sp":          func(f *unwind.Frame) { f.SetSP(1) },
		"fp":          func(f *unwind.Frame) { f.SetFP(1) },
		"place of ra": func(f *unwind.Frame) { f.SetRALocation(unwind.AtAddress(1)) },
		"place of sp": func(f *unwind.Frame) { f.SetSPLocation(unwind.AtAddress(1)) },
		"place of fp": func(f *unwind.Frame) { f.SetFPLocation(unwind.AtAddress(1)) },
	} {
		f := frameOf(t, w)
		if !f.Equal(base) {
			t.Errorf("%s: not equal before", name)
		}
		if change(f); f.Equal(base) || base.Equal(f) {
			t.Errorf("%s makes no difference", name)
		}
	}
	// Frames of two threads, and what two steppers found.
	m := machineOf(arch.AMD64)
	answer := func(in, out *unwind.Frame) unwind.Status {
		out.SetRA(0x2000)
		out.SetSP(stackBase + 16)
		return unwind.StatusSuccess
	}
	mw := mustWalker(m, nil, stepper("one", 1, answer))
	one, _ := mw.InitialFrame(1)
	two, _ := mw.InitialFrame(2)
	if one == nil || two == nil || one.Equal(two) {
		t.Errorf("frames of threads %v and %v are equal", one, two)
	}
	first, err := mw.WalkSingleFrame(one)
	if err != nil {
		t.Fatal(err)
	}
	if err := mw.AddStepper(stepper("two", 0, answer)); err != nil {
		t.Fatal(err)
	}
	again, _ := mw.InitialFrame(1)
	second, err := mw.WalkSingleFrame(again)
	if err != nil || first.Equal(second) || first.Stepper().Name() != "one" || second.Stepper().Name() != "two" {
		t.Errorf("what two steppers found is equal, %v", err)
	}
	if base.Equal(nil) {
		t.Error("equal to nil")
	}
}

// TestCodePointers: the bit that selects the instruction set is not part of an address,
// and what a process signs pointers with is not either.
func TestCodePointers(t *testing.T) {
	w := mustWalker(machineOf(arch.ARM), nil)
	f := frameOf(t, w)
	for raw, want := range map[uint64]uint64{0x8001: 1, 0x8000: 0} {
		f.SetPC(raw, unwind.AtAddress(0x10))
		if v, l, ok := f.Reg(arch.ARMThumb); !ok || v != want || l != unwind.AtAddress(0x10) || f.RA() != 0x8000 || f.CodePointer() != raw {
			t.Errorf("%#x: thumb %d (%v), address %#x, pointer %#x", raw, v, ok, f.RA(), f.CodePointer())
		}
	}
	f.SetReg(arch.ARMThumb, 2, unwind.Location{}) // only its lowest bit counts
	if f.CodePointer() != 0x8000 {
		t.Errorf("pointer %#x", f.CodePointer())
	}
	f.ForgetReg(arch.ARMThumb)
	if f.CodePointer() != 0x8000 {
		t.Errorf("pointer of an unknown instruction set %#x", f.CodePointer())
	}
	m := machineOf(arch.ARM64)
	if got := mustWalker(m, nil).CodeAddress(0xff12_3456_7890_1234); got != 0x3456_7890_1234 {
		t.Errorf("the architecture's mask: %#x", got)
	}
	m.mask = 0xff << 56
	if got := mustWalker(m, nil).CodeAddress(0xff12_3456_7890_1234); got != 0x12_3456_7890_1234 {
		t.Errorf("the process's mask: %#x", got)
	}
	g := frameOf(t, mustWalker(m, nil))
	if g.SetPC(0xff12_0000_0000_8001, unwind.Location{}); g.RA() != 0x12_0000_0000_8001 || g.CodePointer() != 0x12_0000_0000_8001 {
		t.Errorf("%#x, %#x", g.RA(), g.CodePointer())
	}
	var none unwind.Frame // without a walker it is of AMD64
	if none.SetPC(0xff00_0000_0000_8001, unwind.Location{}); none.RA() != 0xff00_0000_0000_8001 {
		t.Errorf("%#x", none.RA())
	}
}

// TestFramesWithoutWalker know nothing, and do not fail.
func TestFramesWithoutWalker(t *testing.T) {
	var f unwind.Frame
	if path, off, lib, err := f.LibOffset(); path != "" || off != 0 || lib != nil || !errors.Is(err, unwind.ErrNoLibTracker) {
		t.Errorf("%q, %#x, %v, %v", path, off, lib, err)
	}
	if name, err := f.Name(); name != "" || !errors.Is(err, unwind.ErrNoSymbolLookup) {
		t.Errorf("%q, %v", name, err)
	}
	p := newProc(0x1000, stackBase, 0)
	p.libs = &fakeLibs{lib: &libstate.Library{Start: 0x5000, End: 0x6000}}
	if path, off, lib, err := frameOf(t, mustWalker(p, nil)).LibOffset(); path != "" || off != 0 || lib != nil || !errors.Is(err, unwind.ErrNoLibrary) {
		t.Errorf("%q, %#x, %v, %v", path, off, lib, err)
	}
}

// A failing lookup fails.
type failing struct{ err error }

func (l *failing) LookupAtAddr(unwind.Address) (string, any, error) { return "", nil, l.err }

// TestNameErrors: that there is no symbol is told as it is; other errors with the address.
// Only an accepted frame keeps the answer.
func TestNameErrors(t *testing.T) {
	l := &failing{err: unwind.ErrNoSymbol}
	w := mustWalker(newProc(0x1000, stackBase, 0), []unwind.Option{unwind.WithSymbolLookup(l)})
	f := frameOf(t, w)
	if _, err := f.Name(); err != unwind.ErrNoSymbol {
		t.Errorf("no symbol: %v", err)
	}
	l.err = errFake
	if _, err := f.Name(); !errors.Is(err, errFake) || err.Error() != "name of 0x1000: fake failure" {
		t.Errorf("another error: %v", err)
	}
	l.err = nil
	if _, err := f.Name(); err != unwind.ErrNoSymbol {
		t.Errorf("an empty name: %v", err)
	}
	if _, err := w.WalkStackFromFrame(f); !errors.Is(err, unwind.ErrNoStepper) {
		t.Fatal(err)
	}
	if _, err := f.Name(); err != unwind.ErrNoSymbol {
		t.Error(err)
	}
	l.err = errFake
	if _, err := f.Name(); err != unwind.ErrNoSymbol {
		t.Errorf("an accepted frame was asked for twice: %v", err)
	}
}

// TestWordsOfNoValue: values that there are not have words too.
func TestWordsOfNoValue(t *testing.T) {
	if got := unwind.TrustScan.String(); got != "scan" {
		t.Error(got)
	}
	if got := (unwind.TrustScan + 1).String(); got != "Trust(13)" {
		t.Error(got)
	}
	if got := unwind.EndLimit.String(); got != "limit" {
		t.Error(got)
	}
	if got := (unwind.EndLimit + 1).String(); got != "EndReason(8)" {
		t.Error(got)
	}
}
