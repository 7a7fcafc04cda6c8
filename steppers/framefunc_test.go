package steppers_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A callee with a standard frame, called from caller: the stack at every stage.
// The caller's frame pointer is fpCaller; slot holds the return address.
const (
	slot     = stack + 0x200
	fpCaller = stack + 0x300
)

// want is the caller that a walk must find; none when ra is 0.
type want struct {
	ra, sp, fp uint64
	doubt      bool // nothing proves that the frame is on the stack
}

func frameFunc(h steppers.FrameFuncHelper) *steppers.FrameFuncStepper {
	return must(steppers.NewFrameFuncStepper(arch.AMD64, h))
}

func TestFrameFunc(t *testing.T) {
	toCaller := want{ra: bias + raCaller, sp: slot + 8, fp: fpCaller}
	tests := []struct {
		name   string
		pc     uint64 // in the file
		sp, fp uint64
		top    bool
		saved  map[uint64]uint64 // beside the return address at slot and FP below it
		named  want              // with symbols
		bare   want              // without
	}{
		{name: "at the first instruction", pc: fnCallee, top: true, sp: slot, fp: fpCaller, named: toCaller, bare: toCaller},
		{name: "after push", pc: fnCallee + 1, top: true, sp: slot - 8, fp: fpCaller, named: toCaller, bare: toCaller},
		{name: "after mov", pc: fnCallee + 4, top: true, sp: slot - 8, fp: slot - 8, named: toCaller, bare: toCaller},
		{name: "in the body", pc: fnCallee + 8, top: true, sp: slot - 24, fp: slot - 8, named: toCaller, bare: toCaller},
		{name: "at leave", pc: fnCallee + 9, top: true, sp: slot - 24, fp: slot - 8, named: toCaller, bare: toCaller},
		{name: "at ret", pc: fnCallee + 10, top: true, sp: slot, fp: fpCaller, named: toCaller, bare: toCaller},
		{name: "leaf without a frame", pc: fnLeaf, top: true, sp: slot, fp: fpCaller, named: toCaller, bare: toCaller},
		{name: "no frame pointer, 24 bytes of stack", pc: fnSpill + 4, top: true, sp: slot - 24, fp: fpCaller},
		{name: "no frame pointer, a call made", pc: raSpill, sp: slot - 24, fp: fpCaller},
		{name: "a call made", pc: raCaller, sp: slot - 8, fp: slot - 8, saved: map[uint64]uint64{slot: bias + raStart},
			named: want{ra: bias + raStart, sp: slot + 8, fp: fpCaller}, bare: want{ra: bias + raStart, sp: slot + 8, fp: fpCaller}},
		{name: "frame pointer below the stack pointer", pc: fnCallee + 8, top: true, sp: slot, fp: slot - 8},
		{name: "frame pointer unaligned", pc: fnCallee + 8, top: true, sp: slot - 24, fp: slot - 7},
		{name: "frame pointer off the stack", pc: fnCallee + 8, top: true, sp: slot - 24, fp: got + 0x100, saved: map[uint64]uint64{got + 0x108: bias + raCaller}},
		{name: "frame pointer at the stack's last word", pc: fnCallee + 8, top: true, sp: slot - 24, fp: stack + stackLen - 8},
		{name: "return address that follows no call", pc: fnCallee + 8, top: true, sp: slot - 24, fp: slot - 8, saved: map[uint64]uint64{slot: bias + fnCallee}},
		{name: "return address that is not in code", pc: fnCallee + 8, top: true, sp: slot - 24, fp: slot - 8, saved: map[uint64]uint64{slot: stack}},
		{name: "no code", pc: 0x4141, sp: slot - 24, fp: slot - 8},
	}
	for _, tc := range tests {
		for name, syms := range map[string]unwind.SymbolReader{"named": symbols(names), "bare": nil} {
			t.Run(tc.name+", "+name, func(t *testing.T) {
				p := newProc(map[string]uint64{"rip": bias + tc.pc, "rsp": tc.sp, "rbp": tc.fp, "rbx": 1})
				p.put(slot-8, fpCaller, bias+raCaller)
				for at, v := range tc.saved {
					p.put(at, v)
				}
				w := walker(t, mapper{p}, syms, frameFunc(nil))
				in := called(t, w, bias+tc.pc, tc.sp, tc.fp)
				if tc.top {
					in = must(w.InitialFrame(1))
				}
				exp := tc.bare
				if syms != nil {
					exp = tc.named
				}
				checkStep(t, w, in, exp, unwind.TrustFramePointer)
			})
		}
	}
}

// checkStep walks one frame and compares.
func checkStep(t *testing.T, w *unwind.Walker, in *unwind.Frame, exp want, trust unwind.Trust) {
	t.Helper()
	checkCaller(t, w, in, exp, trust)
	if cfa, ok := in.CFA(); exp.ra != 0 && (!ok || cfa != exp.sp) {
		t.Errorf("CFA %#x, %v; want %#x", cfa, ok, exp.sp)
	}
}

// checkCaller is checkStep for a frame of which it is not known where it ends.
func checkCaller(t *testing.T, w *unwind.Walker, in *unwind.Frame, exp want, trust unwind.Trust) {
	t.Helper()
	f, err := w.WalkSingleFrame(in)
	if exp.ra == 0 {
		if !errors.Is(err, unwind.ErrNoStepper) {
			t.Errorf("%v, %v; want no caller; %q", f, err, notes(in))
		}
		return
	}
	if err != nil {
		t.Fatalf("%v; %q", err, notes(in))
	}
	if f.RA() != exp.ra || f.SP() != exp.sp || f.FP() != exp.fp || f.Trust() != trust {
		t.Errorf("%v, %v; want pc %#x sp %#x fp %#x, %v; %q", f, f.Trust(), exp.ra, exp.sp, exp.fp, trust, notes(in))
	}
	if _, _, ok := f.Reg(arch.R12); ok && trust != unwind.TrustWildPC {
		t.Error("r12 is known; a guess cannot tell")
	}
	at := unwind.AtAddress(exp.sp - 8)
	at.Doubtful = exp.doubt
	if loc := f.RALocation(); loc != at {
		t.Errorf("return address %s; want it %s", loc.Describe(arch.AMD64), at.Describe(arch.AMD64))
	}
	if _, loc, _ := f.Reg(arch.RSP); loc.Doubtful != exp.doubt {
		t.Errorf("the stack pointer is doubtful: %v", loc.Doubtful)
	}
	if _, loc, ok := f.Reg(arch.RBP); ok && loc.Doubtful != (exp.doubt || trust == unwind.TrustScan) {
		t.Errorf("the frame pointer is doubtful: %v", loc.Doubtful)
	}
}

// helper answers the same for every address.
type helper struct {
	t steppers.FrameType
	s steppers.FrameState
}

func (h helper) AllocatesFrame(arch.Address) (steppers.FrameType, steppers.FrameState) {
	return h.t, h.s
}

// The CFA is known by the frame pointer if the function keeps one, or if the call that
// returns to the address beside it leads to the function. Otherwise the frame pointer may
// be that of a frame further up, and nothing that lies relative to the CFA can be read.
func TestFrameFuncCFA(t *testing.T) {
	for _, c := range []struct {
		name  string
		pc    uint64
		ra    uint64
		help  steppers.FrameFuncHelper
		known bool
	}{
		{"the function keeps it", fnOther, raSpill, helper{steppers.StandardFrame, steppers.SetFrame}, true},
		{"unknown function, an indirect call", fnCallee + 8, raSpill, helper{steppers.UnknownT, steppers.SetFrame}, false},
		{"unknown function, a call of it", fnCallee + 8, raCaller, helper{steppers.UnknownT, steppers.SetFrame}, true},
	} {
		p := newProc(map[string]uint64{"rip": bias + c.pc, "rsp": slot - 0x20, "rbp": slot - 8})
		p.put(slot-8, fpCaller, bias+c.ra)
		w := walker(t, mapper{p}, symbols(names), frameFunc(c.help))
		in := must(w.InitialFrame(1))
		checkCaller(t, w, in, want{ra: bias + c.ra, sp: slot + 8, fp: fpCaller, doubt: !c.known}, unwind.TrustFramePointer)
		if cfa, ok := in.CFA(); ok != c.known || ok && cfa != slot+8 {
			t.Errorf("%s: CFA %#x, %v", c.name, cfa, ok)
		}
	}
}

func TestFrameFuncHelper(t *testing.T) {
	if _, err := steppers.NewFrameFuncStepper(nil, nil); !errors.Is(err, unwind.ErrUnsupported) {
		t.Error(err)
	}
	atSP := want{ra: bias + raCaller, sp: slot + 8, fp: slot - 8}
	for h, exp := range map[helper]want{
		{steppers.StandardFrame, steppers.UnsetFrame}:     atSP,
		{steppers.StandardFrame, steppers.HalfsetFrame}:   {ra: bias + raWrong, sp: slot + 16, fp: bias + raCaller},
		{steppers.StandardFrame, steppers.SetFrame}:       {ra: bias + raCaller, sp: slot + 8, fp: fpCaller},
		{steppers.SaveFPOnlyFrame, steppers.HalfsetFrame}: {ra: bias + raWrong, sp: slot + 16, fp: bias + raCaller},
		{steppers.SaveFPOnlyFrame, steppers.SetFrame}:     {},
		{steppers.NoFrame, steppers.UnsetFrame}:           atSP,
		{steppers.NoFrame, steppers.UnknownS}:             {},
		{steppers.UnknownT, steppers.UnsetFrame}:          atSP,
	} {
		p := newProc(map[string]uint64{"rip": bias + fnOther, "rsp": slot, "rbp": slot - 8})
		p.put(slot-8, fpCaller, bias+raCaller, bias+raWrong)
		if h.s == steppers.SetFrame {
			p.setRegs(map[string]uint64{"rsp": slot - 24})
		}
		w := walker(t, mapper{p}, nil, frameFunc(h))
		t.Run(h.t.String()+" "+h.s.String(), func(t *testing.T) {
			checkStep(t, w, must(w.InitialFrame(1)), exp, unwind.TrustFramePointer)
		})
	}
}

// Return addresses that no call can be seen before: in a library whose file is
// lost and whose code is not in the dump, and in a signal's restorer, to which
// the kernel makes handlers return. Only a frame pointer may lead there.
func TestFrameFuncWithoutCall(t *testing.T) {
	const lost, data = 0x9000_0000, 0x9100_0000
	for _, tc := range []struct {
		name       string
		ra         uint64
		pc         uint64 // in the file
		sp, fp     uint64
		want, bare bool // with symbols, and without
	}{
		{name: "code that is not to be had", ra: lost + 0x123, pc: fnCallee + 8, sp: slot - 24, fp: slot - 8, want: true, bare: true},
		{name: "data that is not to be had", ra: data + 0x123, pc: fnCallee + 8, sp: slot - 24, fp: slot - 8},
		{name: "code that is not to be had, on top of the stack", ra: lost + 0x123, pc: fnLeaf, sp: slot, fp: fpCaller},
		{name: "a restorer", ra: bias + restorer1, pc: fnCallee + 8, sp: slot - 24, fp: slot - 8, want: true, bare: true},
		{name: "the other restorer", ra: bias + restorer2, pc: fnCallee + 8, sp: slot - 24, fp: slot - 8, want: true, bare: true},
		{name: "into a restorer", ra: bias + restorer1 + 7, pc: fnCallee + 8, sp: slot - 24, fp: slot - 8},
		{name: "a restorer on top of the stack", ra: bias + restorer1, pc: fnLeaf, sp: slot, fp: fpCaller},
	} {
		for name, syms := range map[string]unwind.SymbolReader{"named": symbols(names), "bare": nil} {
			t.Run(tc.name+", "+name, func(t *testing.T) {
				p := newProc(map[string]uint64{"rip": bias + tc.pc, "rsp": tc.sp, "rbp": tc.fp})
				for start, perm := range map[uint64]libstate.Perm{lost: libstate.Read | libstate.Exec, data: libstate.Read} {
					p.segs = append(p.segs, seg{m: libstate.Mapping{Start: start, End: start + 0x1000, Perm: perm}})
				}
				p.put(slot-8, fpCaller, tc.ra)
				w := walker(t, mapper{p}, syms, frameFunc(nil))
				var exp want
				if syms != nil && tc.want || syms == nil && tc.bare {
					exp = want{ra: tc.ra, sp: slot + 8, fp: fpCaller}
				}
				checkStep(t, w, must(w.InitialFrame(1)), exp, unwind.TrustFramePointer)
			})
		}
	}
}

// TestFrameFuncSkipsNobody: the frame pointer is the caller's, and the call that
// it leads to is of another function.
func TestFrameFuncSkipsNobody(t *testing.T) {
	p := newProc(map[string]uint64{"rip": bias + fnSpill + 6, "rsp": slot - 24, "rbp": fpCaller})
	p.put(slot, bias+raViaTail)
	p.put(fpCaller, stack+0x400, bias+raWrong)
	w := walker(t, mapper{p}, nil, frameFunc(nil))
	if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); err == nil {
		t.Errorf("walked to %v, which called another function", f)
	}
}

func TestWildPC(t *testing.T) {
	tests := []struct {
		name string
		pc   uint64
		top  bool
		ra   uint64
		want want
	}{
		{name: "call through a null pointer", pc: 0, top: true, ra: bias + raSpill, want: want{ra: bias + raSpill, sp: slot + 8, fp: fpCaller}},
		{name: "call of data", pc: got, top: true, ra: bias + raSpill, want: want{ra: bias + raSpill, sp: slot + 8, fp: fpCaller}},
		{name: "call of nowhere", pc: 0xdead0000, top: true, ra: bias + raSpill, want: want{ra: bias + raSpill, sp: slot + 8, fp: fpCaller}},
		{name: "jump through a null pointer", pc: 0, top: true, ra: bias + raCaller, want: want{ra: bias + raCaller, sp: slot + 8, fp: fpCaller}},
		{name: "return to nowhere", pc: 0x4141, top: true, ra: 0x4141},
		{name: "the word on top follows no call", pc: 0, top: true, ra: bias + fnCallee},
		{name: "code", pc: bias + fnCallee, top: true, ra: bias + raCaller},
		{name: "garbage return address", pc: 0x4141, ra: bias + raCaller},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := newProc(map[string]uint64{"rip": tc.pc, "rsp": slot, "rbp": fpCaller, "r12": 12})
			p.put(slot, tc.ra)
			w := walker(t, mapper{p}, nil, must(steppers.NewWildPCStepper(arch.AMD64)))
			in := called(t, w, tc.pc, slot, fpCaller)
			if tc.top {
				in = must(w.InitialFrame(1))
			}
			checkStep(t, w, in, tc.want, unwind.TrustWildPC)
			if tc.want.ra != 0 {
				f, _ := w.WalkSingleFrame(in)
				if v, _, ok := f.Reg(arch.R12); !ok || v != 12 {
					t.Errorf("r12 = %d, %v; no instruction of the callee has run", v, ok)
				}
			}
		})
	}
}

func TestJITCodeNeedsMapper(t *testing.T) {
	p := newProc(map[string]uint64{"rip": 0x9000_0000, "rsp": slot})
	p.add(0x9000_0000, libstate.Read|libstate.Exec, make([]byte, 0x100))
	p.put(slot, bias+raSpill)
	s := must(steppers.NewWildPCStepper(arch.AMD64))
	w := walker(t, mapper{p}, nil, s)
	if _, err := w.WalkSingleFrame(must(w.InitialFrame(1))); err == nil {
		t.Error("executable memory outside of libraries was taken for no code")
	}
}

// Functions of Go preserve no registers, although their code is known by a symbol and leaves some alone: the
// functions that they call may change them. What looks like the same code of another language keeps them.
func TestFrameFuncKeepsNoRegistersOfGo(t *testing.T) {
	im := must(image.New(must(os.ReadFile(fixture.Get(t, "amd64-go-stripped").Binary(t)))))
	sym, ok := im.SymbolByName("main.main")
	text := im.ELF().Section(".text")
	if !ok || text == nil {
		t.Fatal("no main.main")
	}
	code := must(im.ELF().SectionData(text))
	call := bytes.IndexByte(code[sym.Value-text.Addr:], 0xe8)
	p := &proc{}
	p.add(text.Addr, libstate.Read|libstate.Exec, code)
	p.add(stack, libstate.Read|libstate.Write, make([]byte, stackLen))
	p.libs = libstate.NewTable([]*libstate.Library{{Path: "/bin/go", Kind: libstate.Executable, Start: text.Addr, End: text.Addr + text.Size,
		Mappings: []libstate.Mapping{p.segs[0].m}}}, 0)
	const sp = stack + 0x100
	ra := sym.Value + uint64(call) + 5
	p.put(sp+0x100, sp+0x200, ra)
	for name, c := range map[string]struct {
		files modules.Source
		want  bool
	}{"Go": {fileOfAll{im}, false}, "not known to be Go": {noFile, true}} {
		s := frameFunc(helper{steppers.StandardFrame, steppers.SetFrame})
		steppers.SetFiles(s, c.files)
		w := walker(t, mapper{p}, symbols{{Name: "main.main", Addr: sym.Value, Size: sym.Size}}, s)
		in := called(t, w, ra, sp, sp+0x100)
		in.SetReg(arch.R12, 12, unwind.InRegister(arch.R12))
		f, err := w.WalkSingleFrame(in)
		if err != nil {
			t.Fatalf("%s: %v; %q", name, err, notes(in))
		}
		if _, _, ok := f.Reg(arch.R12); ok != c.want {
			t.Errorf("%s: r12 is known: %v", name, ok)
		}
	}
}
