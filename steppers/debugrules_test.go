package steppers_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Every constructor refuses what it does not know.
func TestConstructors(t *testing.T) {
	for _, a := range []*arch.Arch{nil, {Name: "pdp11"}} {
		_, bottom := steppers.NewBottomOfStackStepper(a)
		_, signal := steppers.NewSigHandlerStepper(a)
		_, wild := steppers.NewWildPCStepper(a)
		_, frame := steppers.NewFrameFuncStepper(a, nil)
		_, analysis := steppers.NewAnalysisStepper(a, nil)
		_, wanderer := steppers.NewStepperWanderer(a, nil)
		for i, err := range []error{bottom, signal, wild, frame, analysis, wanderer} {
			if !errors.Is(err, unwind.ErrUnsupported) || a == nil && !strings.Contains(err.Error(), "no architecture") || a != nil && !strings.Contains(err.Error(), a.Name) {
				t.Errorf("%v: constructor %d: %v", a, i, err)
			}
		}
	}
	if _, err := steppers.NewDebugStepper(nil, noFile); !errors.Is(err, unwind.ErrBadParam) {
		t.Error(err)
	}
	if _, err := steppers.NewDebugStepper(arch.AMD64, nil); !errors.Is(err, unwind.ErrBadParam) {
		t.Error(err)
	}
	for _, interrupted := range []bool{false, true} {
		if _, err := steppers.NewExidxStepper(nil, interrupted); !errors.Is(err, unwind.ErrBadParam) {
			t.Error(err)
		}
	}
}

// All architectures have the DWARF numbers that rows of Go's pc-line table are made of.
func TestNumbersOfRows(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.X86, arch.ARM64, arch.ARM, arch.PPC64LE, arch.PPC64, arch.RISCV64, arch.S390X,
		arch.MIPS, arch.MIPSEL, arch.MIPS64, arch.MIPS64EL, arch.Loong64} {
		ra := a.RA
		if ra == arch.NoReg {
			ra = a.PC
		}
		if a.DWARF(a.SP) < 0 || a.DWARF(ra) < 0 {
			t.Errorf("%s: stack pointer %d, return address %d", a.Name, a.DWARF(a.SP), a.DWARF(ra))
		}
	}
}

// A fileSource has the files of some libraries.
type fileSource map[*libstate.Library]*image.Image

func (f fileSource) Image(lib *libstate.Library) *modules.Image { return (*modules.Image)(f[lib]) }

// What a stepper remembers of one library says nothing of another at the same addresses,
// and a library without a file has no rows.
func TestDebugStepperRemembersLibraries(t *testing.T) {
	im := buildImage(t, func(eh, _ *cfitest.Section) {
		c := eh.AddCIE(cfitest.CIE{Insns: plain()})
		lit := func(n byte) *cfitest.Program { // DW_OP_addr: an address of the file
			return new(cfitest.Program).ValExpression(dwRBX, 0x03, n, 0, 0, 0, 0, 0, 0, 0)
		}
		eh.AddFDE(c, fnCallee, 11, lit(0x10))
		eh.AddFDE(c, fnCallee-0x10, 11, lit(0x20))
	})
	const sp = stack + 0x100
	process := func(shift uint64) (*proc, *libstate.Library) {
		p := newProc(map[string]uint64{"rip": bias + fnCallee + 4, "rsp": sp})
		lib := p.program(libstate.Executable)
		lib.LoadBias += shift
		p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
		p.put(sp, bias+raCaller)
		return p, lib
	}
	first, a := process(0)
	second, b := process(0x10)  // fnCallee+4 is in the other function
	third, _ := process(0x100)  // no file
	fourth, d := process(0x400) // no function there
	s := must(steppers.NewDebugStepper(arch.AMD64, fileSource{a: im, b: im, d: im}))
	for i, c := range []struct {
		p   *proc
		rbx uint64 // 0 for no caller
	}{{first, bias + 0x10}, {second, bias + 0x30}, {first, bias + 0x10}, {third, 0}, {first, bias + 0x10}, {fourth, 0}, {first, bias + 0x10}, {fourth, 0}, {third, 0}} {
		w := walker(t, c.p, nil, s)
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if c.rbx == 0 {
			if !errors.Is(err, unwind.ErrNoStepper) {
				t.Errorf("step %d: %v, %v", i, f, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("step %d: %v", i, err)
		} else if v, _, ok := f.Reg(arch.RBX); !ok || v != c.rbx {
			t.Errorf("step %d: rbx = %#x, %v; want %#x", i, v, ok, c.rbx)
		}
	}
}

// A call that ends a library is in that library, not in the one behind it.
func TestCallThatEndsALibrary(t *testing.T) {
	const sp, end = stack + 0x100, bias + 0x2000
	im := buildImage(t, func(eh, _ *cfitest.Section) {
		c := eh.AddCIE(cfitest.CIE{Insns: plain()})
		eh.AddFDE(c, 0x1ff0, 0x10, new(cfitest.Program).DefCFAOffset(16))
		eh.AddFDE(c, 0, 0x10, new(cfitest.Program).DefCFAOffset(32))
	})
	p := newProc(map[string]uint64{"rip": end, "rsp": sp})
	p.add(end, libstate.Read|libstate.Exec, make([]byte, 0x1000))
	before := p.program(libstate.Executable)
	before.End, before.Mappings = end, before.Mappings[:2]
	behind := &libstate.Library{Path: "/lib/b.so", Kind: libstate.SharedLibrary, LoadBias: end, Start: end, End: end + 0x1000,
		Mappings: []libstate.Mapping{p.segs[len(p.segs)-1].m}}
	p.libs = libstate.NewTable([]*libstate.Library{before, behind}, 0)
	p.put(sp+8, bias+raCaller, 0, bias+raSpill)
	w := walker(t, p, nil, debugStepper(im))
	if f, err := w.WalkSingleFrame(called(t, w, end, sp, 0)); err != nil || f.RA() != bias+raCaller || f.SP() != sp+16 {
		t.Errorf("%v, %v", f, err)
	}
	if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); err != nil || f.RA() != bias+raSpill || f.SP() != sp+32 {
		t.Errorf("interrupted behind: %v, %v", f, err)
	}
}

// Notes name registers as the architecture does, and those that it has not by number; they
// say which could not be restored.
func TestNotesOfRows(t *testing.T) {
	const sp = stack + 0x100
	p := newProc(map[string]uint64{"rip": bias + fnCallee, "rsp": sp})
	p.put(sp, bias+raCaller)
	im := buildImage(t, func(eh, _ *cfitest.Section) {
		eh.AddFDE(eh.AddCIE(cfitest.CIE{Insns: plain()}), fnCallee, 11, new(cfitest.Program).Offset(17, 2).Expression(dwRBX, 0x31).Offset(dwR12, 3))
	})
	w := walker(t, mapper{p}, nil, debugStepper(im))
	in := must(w.InitialFrame(1))
	if _, err := w.WalkSingleFrame(in); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(notes(in), "\n")
	for _, want := range []string{"Debug: CFI: .eh_frame FDE prog+0x1020..0x102b, row at 0x1020: CFA = rsp+8", "r17 at cfa-16", "r12 at cfa-24", "Debug: rbx: "} {
		if !strings.Contains(text, want) {
			t.Errorf("notes %q do not say %q", text, want)
		}
	}
	if strings.Contains(text, "r12: ") {
		t.Errorf("notes of r12, which was restored: %q", text)
	}
}

// A stack pointer whose rule cannot be applied leaves no frame.
func TestStackPointerRuleFails(t *testing.T) {
	const sp = stack + 0x100
	p := newProc(map[string]uint64{"rip": bias + fnCallee, "rsp": sp})
	p.put(sp, bias+raCaller)
	for name, c := range map[string]struct {
		prog *cfitest.Program
		want uint64 // SP; 0 for none
	}{
		"not readable": {new(cfitest.Program).Expression(dwRSP, 0x31), 0},
		"undefined":    {new(cfitest.Program).Undefined(dwRSP), sp + 8},
		"the same":     {new(cfitest.Program).SameValue(dwRSP), sp},
	} {
		im := buildImage(t, func(eh, _ *cfitest.Section) {
			eh.AddFDE(eh.AddCIE(cfitest.CIE{Insns: plain()}), fnCallee, 11, c.prog)
		})
		w := walker(t, mapper{p}, nil, debugStepper(im))
		f, err := w.WalkSingleFrame(must(w.InitialFrame(1)))
		switch {
		case c.want == 0 && !errors.Is(err, unwind.ErrNoStepper):
			t.Errorf("%s: %v, %v", name, f, err)
		case c.want != 0 && (err != nil || f.SP() != c.want):
			t.Errorf("%s: %v, %v; want SP %#x", name, f, err, c.want)
		}
	}
}

// A return address of zero is the bottom also where nobody knows what is mapped; where the
// mappings are known, the frame must be on the stack.
func TestZeroReturnAddressWithoutMappings(t *testing.T) {
	im := buildImage(t, func(eh, _ *cfitest.Section) {
		eh.AddFDE(eh.AddCIE(cfitest.CIE{Insns: plain()}), fnCallee, 11, new(cfitest.Program).DefCFA(dwRBX, 0).Expression(dwRA, 0x7c, 0x00))
	})
	for _, c := range []struct {
		name string
		sp   uint64
		p    func(*proc) unwind.ProcessState
		want bool
	}{
		{"on the stack", stack + 0x100, func(p *proc) unwind.ProcessState { return mapper{p} }, true},
		{"nobody knows", stack + 0x100, func(p *proc) unwind.ProcessState { return p }, true},
		{"the stack pointer is nowhere", 0x10000, func(p *proc) unwind.ProcessState { return mapper{p} }, false},
		{"the stack pointer is nowhere, some mappings being known", 0x10000, func(p *proc) unwind.ProcessState { return someMappings{mapper{p}, false} }, true},
	} {
		p := newProc(map[string]uint64{"rip": bias + fnCallee, "rsp": c.sp, "rbx": c.sp + 8, "r12": stack + 0x100})
		w := walker(t, c.p(p), nil, debugStepper(im))
		in := must(w.InitialFrame(1))
		if _, err := w.WalkSingleFrame(in); errors.Is(err, unwind.ErrStackBottom) != c.want {
			t.Errorf("%s: %v; want the bottom: %v; %q", c.name, err, c.want, notes(in))
		}
	}
}

// Where calls leave the return address in a register, one without a rule is there; where
// they push it, it is nowhere.
func TestReturnAddressWithoutRule(t *testing.T) {
	const sp = stack + 0x100
	im := buildImage(t, func(_, df *cfitest.Section) {
		df.AddFDE(df.AddCIE(cfitest.CIE{RA: 30, Insns: new(cfitest.Program).DefCFA(31, 0)}), fnCallee, 11, nil)
	})
	p := newProc(nil)
	w := walker(t, arm64Proc{mapper{p}}, nil, must(steppers.NewDebugStepper(arch.ARM64, fileOfAll{im})))
	in := called(t, w, bias+fnCallee+8, sp, 0)
	in.SetReg(arch.ARM64LR, goCallerLR, unwind.InRegister(arch.ARM64LR))
	f, err := w.WalkSingleFrame(in)
	if err != nil || f.RA() != goCallerLR || f.RALocation() != unwind.InRegister(arch.ARM64LR) {
		t.Errorf("%v, %v", f, err)
	}
	in = called(t, w, bias+fnCallee+8, sp, 0)
	if f, err := w.WalkSingleFrame(in); !errors.Is(err, unwind.ErrNoStepper) {
		t.Errorf("the register is not known: %v, %v", f, err)
	}
	im = buildImage(t, func(_, df *cfitest.Section) {
		df.AddFDE(df.AddCIE(cfitest.CIE{Insns: new(cfitest.Program).DefCFA(7, 8)}), fnCallee, 11, nil)
	})
	w = walker(t, mapper{newProc(map[string]uint64{"rip": bias + fnCallee, "rsp": sp})}, nil, debugStepper(im))
	if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); !errors.Is(err, unwind.ErrStackBottom) {
		t.Errorf("amd64: %v, %v", f, err)
	}
}

// A frame may be stepped from as if it were elsewhere, in a library that has a row there.
func TestStepAs(t *testing.T) {
	const sp = stack + 0x100
	im := buildImage(t, func(eh, _ *cfitest.Section) {
		eh.AddFDE(eh.AddCIE(cfitest.CIE{Insns: plain()}), fnCallee, 11,
			new(cfitest.Program).DefCFAOffset(16).ValExpression(dwRBX, 0x03, 0x10, 0, 0, 0, 0, 0, 0, 0))
	})
	p := newProc(map[string]uint64{"rip": 0x10, "rsp": sp})
	p.put(sp+8, bias+raCaller)
	lib, _ := p.libs.LibraryAt(bias)
	for name, c := range map[string]struct {
		im   *image.Image
		pc   uint64
		want unwind.Status
	}{
		"a row":   {im, bias + fnCallee, unwind.StatusSuccess},
		"no row":  {im, bias + fnOther, unwind.StatusNotMe},
		"no file": {nil, bias + fnCallee, unwind.StatusNotMe},
	} {
		w := walker(t, mapper{p}, nil)
		out := called(t, w, 0, 0, 0)
		if got := steppers.StepAs(debugStepper(c.im), must(w.InitialFrame(1)), out, lib, c.pc); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if v, _, _ := out.Reg(arch.RBX); c.want == unwind.StatusSuccess && (out.RA() != bias+raCaller || out.SP() != sp+16 || v != bias+0x10) {
			t.Errorf("%s: %v, rbx %#x", name, out, v)
		}
	}
}
