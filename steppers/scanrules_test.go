package steppers_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The link register of an interrupted frame has its return address where the call before it
// is of the frame's function; else the stack is scanned.
func TestScanAsksTheLinkRegister(t *testing.T) {
	const fn, pc, ra, other, onStack = 0x100, foreignCode + 0x104, foreignCode + 0x204, foreignCode + 0x304, foreignCode + 0x404
	const sp = foreignStack + 0x100
	for _, c := range []struct {
		name     string
		lr       uint64
		top      bool
		want, sp uint64
	}{
		{"a call of the function", ra, true, ra, sp},
		{"a call of the function, a call made", ra, false, onStack, sp + 16},
		{"a call of another function", other, true, onStack, sp + 16},
		{"no call", ra + 4, true, onStack, sp + 16},
		{"no code", 0x10, true, onStack, sp + 16},
	} {
		p := newForeign(arch.ARM64, map[int][]uint32{fn: {0xd503201f, 0xd503201f, 0xd65f03c0}, 0x180: {0xd65f03c0},
			0x200: {bl(0x200, fn)}, 0x300: {bl(0x300, 0x180)}, 0x400: {bl(0x400, fn)}})
		p.putWords(sp, 0, onStack)
		p.set(map[arch.Reg]uint64{arch.ARM64.PC: pc, arch.ARM64SP: sp, arch.ARM64.FP: 7, arch.ARM64LR: c.lr, arch.ARM64X0 + 19: 19})
		w := walker(t, p, nil, must(steppers.NewStepperWanderer(arch.ARM64, nil)))
		in := must(w.InitialFrame(1))
		if !c.top {
			in = called(t, w, pc, sp, 7)
			in.SetReg(arch.ARM64LR, c.lr, unwind.InRegister(arch.ARM64LR))
		}
		f, err := w.WalkSingleFrame(in)
		if err != nil || f.RA() != c.want || f.SP() != c.sp || f.Trust() != unwind.TrustScan {
			t.Errorf("%s: %v, %v; want %#x with SP %#x; %q", c.name, f, err, c.want, c.sp, notes(in))
			continue
		}
		if _, _, ok := f.Reg(arch.ARM64X0 + 19); ok {
			t.Errorf("%s: x19 is known; a guess cannot tell", c.name)
		}
		fp, _, ok := f.Reg(arch.ARM64.FP)
		if linked := c.sp == sp; linked && (!ok || fp != 7) {
			t.Errorf("%s: frame pointer %#x, %v; want what it was", c.name, fp, ok)
		}
	}
}

// A frame pointer below the return address that was found is the caller's where it may be
// one; the register is, where it leads to a record.
func TestScanFindsFramePointers(t *testing.T) {
	const sp, at, top = stack + 0x100, stack + 0x140, stack + stackLen
	for _, c := range []struct {
		name    string
		below   uint64 // the word below the return address
		fp      uint64
		record  uint64 // return address of the register's record
		want    uint64
		unknown bool
	}{
		{name: "above the slot", below: at + 8, want: at + 8},
		{name: "the slot itself", below: at, unknown: true},
		{name: "not aligned", below: at + 9, unknown: true},
		{name: "the last word of the stack", below: top - 8, want: top - 8},
		{name: "the end of the stack", below: top, unknown: true},
		{name: "the register leads to a record", fp: at + 0x40, record: bias + raCaller, want: at + 0x40},
		{name: "the register leads to none", fp: at + 0x40, record: stack, unknown: true},
		{name: "the register is not aligned", fp: at + 0x41, record: bias + raCaller, unknown: true},
		{name: "the register leads to the last record", fp: top - 16, record: bias + raCaller, want: top - 16},
		{name: "the register leads to half a record", fp: top - 8, unknown: true},
		{name: "the register is below the slot", fp: at - 0x10, record: bias + raCaller, unknown: true},
		{name: "the register is the slot", fp: at, record: bias + raCaller, unknown: true},
	} {
		p := newProc(map[string]uint64{"rip": bias + fnCallee + 8, "rsp": sp, "rbp": c.fp})
		if c.record != 0 {
			p.put(c.fp&^7+8, c.record)
		}
		p.put(at-8, c.below, bias+raCaller)
		w := walker(t, mapper{p}, nil, wanderer(nil))
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if err != nil || f.RA() != bias+raCaller {
			t.Errorf("%s: %v, %v; %q", c.name, f, err, notes(in))
			continue
		}
		if fp, _, ok := f.Reg(arch.RBP); ok == c.unknown || ok && fp != c.want {
			t.Errorf("%s: frame pointer %#x, %v; want %#x", c.name, fp, ok, c.want)
		}
	}
}

// What steppers say of frames that they do not leave.
func TestNotesOfRefusals(t *testing.T) {
	const sp = stack + 0x100
	for _, c := range []struct {
		name string
		s    unwind.FrameStepper
		pc   uint64
		sp   uint64
		top  bool
		note string
	}{
		{"wild pc, nothing on the stack", must(steppers.NewWildPCStepper(arch.AMD64)), 0x10, 0x20, true, "return address: "},
		{"wild pc, no call", must(steppers.NewWildPCStepper(arch.AMD64)), 0x10, sp, true, "0x10 is not code, and 0x0 (saved at 0x7ffe00000100) does not follow a call"},
		{"derailed", frameFunc(nil), 0x10, sp, false, "0x10 is not code: the stack cannot be trusted"},
		{"derailed, scan", wanderer(nil), 0x10, sp, false, "0x10 is not code: the stack cannot be trusted"},
		{"nothing to scan for", wanderer(nil), bias + fnCallee + 8, sp, true, "no return address on the stack from 0x7ffe00000100 on"},
		{"frame pointer nowhere", frameFunc(nil), bias + fnCallee + 8, sp, true, "frame pointer 0x0 is not on the stack above SP 0x7ffe00000100"},
		{"the function's state", frameFunc(nil), bias + fnCallee + 8, sp, true, "standard_frame, set_frame"},
	} {
		p := newProc(map[string]uint64{"rip": c.pc, "rsp": c.sp, "rbp": 0})
		w := walker(t, mapper{p}, symbols(names), c.s)
		in := called(t, w, c.pc, c.sp, 0)
		if c.top {
			in = must(w.InitialFrame(1))
		}
		if f, err := w.WalkSingleFrame(in); err == nil {
			t.Errorf("%s: %v", c.name, f)
		}
		if text := strings.Join(notes(in), "\n"); !strings.Contains(text, c.note) {
			t.Errorf("%s: notes %q do not say %q", c.name, text, c.note)
		}
	}
}

// A return address of zero is the bottom where the frame is on the stack.
func TestZeroReturnAddress(t *testing.T) {
	const sp, top = stack + 0x100, stack + stackLen
	for _, c := range []struct {
		name string
		cfa  uint64
		want bool
	}{
		{"on the stack", sp + 8, true},
		{"at the end of the stack", top, true},
		{"beyond the stack", top + 8, false},
		{"at the beginning of the stack", stack, false},
		{"at its second word", stack + 8, true},
		{"elsewhere", got + 8, false},
	} {
		p := newProc(map[string]uint64{"rip": bias + fnCallee, "rsp": sp, "rbx": c.cfa, "r12": sp})
		im := buildImage(t, func(eh, _ *cfitest.Section) { // the return address is where r12 points
			eh.AddFDE(eh.AddCIE(cfitest.CIE{Insns: plain()}), fnCallee, 11, new(cfitest.Program).DefCFA(dwRBX, 0).Expression(dwRA, 0x7c, 0x00))
		})
		w := walker(t, mapper{p}, nil, debugStepper(im))
		in := must(w.InitialFrame(1))
		if _, err := w.WalkSingleFrame(in); errors.Is(err, unwind.ErrStackBottom) != c.want {
			t.Errorf("%s: %v; want the bottom: %v; %q", c.name, err, c.want, notes(in))
		}
	}
}

// Names of registers in symbol files, beside our own.
func TestRegistersOfSymbolFiles(t *testing.T) {
	none := arch.NoReg
	for _, c := range []struct {
		a    *arch.Arch
		name string
		want arch.Reg
	}{
		{arch.PPC64, "srr0", arch.PPCNIP}, {arch.AMD64, "srr0", none}, {arch.MIPS, "pc", arch.MIPSPC}, {arch.ARM64, "pc", arch.ARM64.PC},
		{arch.MIPS, "sp", arch.MIPS.SP}, {arch.MIPS, "s8", arch.MIPS.FP}, {arch.MIPS, "fp", arch.MIPS.FP}, {arch.X86, "fp", none}, {arch.X86, "s8", none},
		{arch.AMD64, "lr", none}, {arch.ARM64, "lr", arch.ARM64LR}, {arch.MIPS, "ra", arch.MIPSRA}, {arch.PPC, "ra", arch.PPCLR},
		{arch.ARM64, "v8", arch.ARM64D8}, {arch.ARM64, "v15", arch.ARM64D15}, {arch.ARM64, "v99", none}, {arch.AMD64, "v8", none},
		{arch.ARM, "ip", arch.ARMIP}, {arch.ARM, "r13", arch.ARMSP}, {arch.ARM, "r14", arch.ARMLR}, {arch.ARM, "r15", arch.ARMPC},
		{arch.AMD64, "ip", none}, {arch.X86, "r13", none}, {arch.ARM, "r16", none}, {arch.AMD64, "rbx", arch.RBX}, {arch.X86, "", none},
	} {
		r, ok := steppers.SymReg(c.a, c.name)
		if ok != (c.want != none) || ok && r != c.want {
			t.Errorf("%s: %q is %s, %v; want %s", c.a.Name, c.name, c.a.RegName(r), ok, c.a.RegName(c.want))
		}
	}
}
