package steppers_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Go thread of the fake process: goStack is its goroutine's, stack its own.
const (
	goData   = 0xc000_0000
	goG      = goData         // the goroutine
	goG0     = goData + 0x200 // the thread's own g
	goMach   = goData + 0x400 // the thread's m
	goIdle   = goData + 0x600 // a g of no thread
	goStack  = 0xd000_0000
	goOnG    = goStack + 0x800 // SP on the goroutine's stack
	goOnG0   = stack + 0x400   // SP on the thread's
	goCaller = bias + raCaller
)

// goProc makes the thread, in code of g0.
func goProc() *proc {
	p := newProc(map[string]uint64{"rip": bias + fnLeaf, "rsp": stack, "r14": goG0})
	p.add(goData, libstate.Read|libstate.Write, make([]byte, 0x1000))
	p.add(goStack, libstate.Read|libstate.Write, make([]byte, 0x1000))
	for g, lo := range map[uint64]uint64{goG: goStack, goG0: stack} {
		p.put(g, lo, lo+0x1000)
		p.put(g+48, goMach)
	}
	p.put(goG+56, goOnG, goCaller)
	p.put(goG0+56, goOnG0, goCaller)
	p.put(goMach, goG0)
	p.put(goMach+0xb8, goG)
	// What the rows lead to: 8 bytes above SP.
	p.put(goOnG+8, goCaller)
	p.put(goOnG0+8, bias+fnOther) // on the wrong stack
	return p
}

func TestGoStacks(t *testing.T) {
	toGo := want{ra: goCaller, sp: goOnG + 16, fp: 0}
	tests := []struct {
		name string
		fn   string
		sp   uint64 // goOnG0 by default
		set  func(p *proc)
		want want // no ra: the bottom
		none bool // no caller by this stepper
	}{
		{name: "C called from a goroutine", fn: "runtime.asmcgocall.abi0", want: toGo,
			set: func(p *proc) { p.put(goOnG0, goStack+0x1000-goOnG, goG) }},
		{name: "C called, before Go 1.21", fn: "runtime.asmcgocall.abi0", want: toGo,
			set: func(p *proc) { p.put(goOnG0, goOnG0+1, 7); p.put(goOnG0+40, goStack+0x1000-goOnG, goG) }},
		{name: "C called on g0", fn: "runtime.asmcgocall.abi0", want: want{ra: goCaller, sp: goOnG0 + 0x50, fp: 0},
			set: func(p *proc) { p.put(goOnG0, goOnG0+0x40, 0); p.put(goOnG0+0x48, goCaller) }},
		{name: "C called, but the g is lost", fn: "runtime.asmcgocall.abi0", none: true,
			set: func(p *proc) { p.put(goOnG0, 0x100, 0x10) }},
		{name: "C called, but the depth makes no sense", fn: "runtime.asmcgocall.abi0", none: true,
			set: func(p *proc) { p.put(goOnG0, 0x100000, goG) }},
		{name: "systemstack", fn: "runtime.systemstack.abi0", want: toGo},
		{name: "systemstack that has not switched", fn: "runtime.systemstack.abi0", sp: goOnG, want: toGo},
		{name: "systemstack, without a goroutine", fn: "runtime.systemstack.abi0", none: true,
			set: func(p *proc) { p.put(goMach+0xb8, 0) }},
		{name: "the scheduler", fn: "runtime.mcall", sp: goOnG0 - 8, want: want{ra: goCaller, sp: goOnG0, fp: 0}},
		{name: "the scheduler, in a callback", fn: "runtime.mcall", sp: goOnG0 - 8, want: want{ra: goCaller, sp: goOnG0 + 40, fp: 0},
			set: func(p *proc) { p.put(goOnG0, goOnG0+0x200, 0, 0, 0, goCaller) }},
		{name: "the scheduler of who knows whom", fn: "runtime.mcall", sp: goOnG0 - 8,
			set: func(p *proc) { p.setRegs(map[string]uint64{"r14": goIdle}) }},
		{name: "the scheduler on another stack", fn: "runtime.mcall", sp: goOnG0 - 64, set: func(p *proc) { p.put(goOnG0-56, goCaller) }},
		{name: "the scheduler's beginning is lost", fn: "runtime.mcall", sp: goOnG0 - 8, set: func(p *proc) { p.put(goG0+64, 0) }},
		{name: "a stack too small", fn: "runtime.morestack.abi0", want: want{ra: goCaller, sp: goOnG, fp: 0}},
		{name: "a stack too small, preempted", fn: "runtime.morestack.abi0", want: want{ra: goCaller, sp: goOnG0, fp: 0},
			set: func(p *proc) { p.put(goG+48, 0) }},
		{name: "g0's stack too small", fn: "runtime.morestack.abi0", sp: goOnG, want: toGo},
		{name: "the clock", fn: "time.now", want: toGo, set: func(p *proc) { p.setRegs(map[string]uint64{"r12": goOnG}) }},
		{name: "the race detector", fn: "racecall", want: toGo, set: func(p *proc) { p.setRegs(map[string]uint64{"r12": goOnG}) }},
		{name: "a stack too small, of who knows whom", fn: "runtime.morestack.abi0",
			set: func(p *proc) { p.put(goOnG0+8, goCaller); p.setRegs(map[string]uint64{"r14": 0x10}) }},
		{name: "a stack too small, g0 being another m's", fn: "runtime.morestack.abi0",
			set: func(p *proc) { p.put(goOnG0+8, goCaller); p.put(goMach, goIdle) }},
		{name: "a signal passed on", fn: "runtime.sigfwd.abi0", want: want{ra: goCaller, sp: goOnG + 16, fp: goOnG},
			set: func(p *proc) { p.setRegs(map[string]uint64{"rbp": goOnG}) }},
		{name: "start-up code", fn: "runtime.rt0_go.abi0"},
		{name: "start of a thread", fn: "runtime.clone.abi0"},
		{name: "any other function", fn: "runtime.main", sp: goOnG, want: toGo},
		{name: "called by C", fn: "runtime.cgocallback.abi0", sp: goOnG, want: want{ra: goCaller, sp: goOnG0 + 16, fp: 0},
			set: func(p *proc) { p.put(goOnG0+8, goCaller); p.setRegs(map[string]uint64{"r14": goG}) }},
		{name: "called by C, which a panic has left", fn: "runtime.cgocallback.abi0", sp: goOnG, want: toGo},
		{name: "called by C, on a thread that is lost", fn: "runtime.cgocallback.abi0", sp: goOnG, want: toGo,
			set: func(p *proc) { p.put(goOnG0+8, goCaller); p.setRegs(map[string]uint64{"r14": goIdle}) }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := goProc()
			if tc.set != nil {
				tc.set(p)
			}
			w := goWalker(t, p, tc.fn)
			in := goFrame(t, w, cmp.Or(tc.sp, goOnG0))
			f, err := w.WalkSingleFrame(in)
			switch {
			case tc.none:
				if !errors.Is(err, unwind.ErrNoStepper) {
					t.Errorf("%v, %v; want no caller", f, err)
				}
			case tc.want.ra == 0:
				if !errors.Is(err, unwind.ErrStackBottom) {
					t.Errorf("%v, %v; want the bottom", f, err)
				}
			case err != nil:
				t.Errorf("%v; %q", err, notes(in))
			case f.RA() != tc.want.ra || f.SP() != tc.want.sp || f.FP() != tc.want.fp || f.Trust() != unwind.TrustCFI:
				t.Errorf("%v, trust %v; want %+v; %q", f, f.Trust(), tc.want, notes(in))
			}
		})
	}
}

// goWalker walks p by call frame information, with one function fn: at fnCallee,
// with the return address 8 bytes above SP.
func goWalker(t *testing.T, p *proc, fn string) *unwind.Walker {
	im := buildImage(t, func(_, df *cfitest.Section) {
		df.AddFDE(df.AddCIE(cfitest.CIE{Insns: plain()}), fnCallee, 11, new(cfitest.Program).DefCFAOffset(16))
	}, unwind.Symbol{Name: fn, Addr: fnCallee, Size: 11}, unwind.Symbol{Name: "runtime.asmcgocall", Addr: fnOther, Size: 1})
	return walker(t, mapper{p}, nil, debugStepper(im))
}

// goFrame is a frame in the function, with the thread's registers but for SP.
func goFrame(t *testing.T, w *unwind.Walker, sp uint64) *unwind.Frame {
	regs, _ := w.ProcessState().Registers(1)
	in := called(t, w, bias+fnCallee+8, sp, 0)
	for _, r := range []arch.Reg{arch.RBP, arch.R12, arch.R14} {
		if v, ok := regs.Get(r); ok {
			in.SetReg(r, v, unwind.InRegister(r))
		}
	}
	return in
}

// Go calls C calls Go calls C: each callback leads to the part of the thread's
// stack that it came from, over whatever frames on other stacks.
func TestGoNestedCallbacks(t *testing.T) {
	const outer, inner, onG, above = goOnG0 + 0x400, goOnG0, goStack + 0x900, stack + stackLen
	ret := bias + uint64(fnCallee+8)
	for _, c := range []struct {
		name string
		goSP uint64 // of a Go function between C and the outer callback; 0 for none
		set  func(*proc)
		want uint64 // SP of the outer callback's caller
	}{
		{"nothing between", 0, func(*proc) {}, outer + 16},
		{"Go between, on a stack below", goStack + 0x700, func(*proc) {}, outer + 16},
		{"Go between, on the stack that begins where the thread's ends", above - 8, func(*proc) {}, outer + 16},
		{"an outer callback left the stack where C is now", 0, func(p *proc) { p.put(inner, inner+16); p.put(inner+16, outer) }, outer + 16},
		{"the chain leads back", 0, func(p *proc) { p.put(inner, inner) }, onG + 16},
		{"the chain ends", 0, func(p *proc) { p.put(inner, 0) }, onG + 16},
	} {
		p := goProc()
		p.add(above, libstate.Read|libstate.Write, make([]byte, 0x1000))
		p.setRegs(map[string]uint64{"rip": bias + fnLeaf, "rsp": goOnG - 8, "r14": goG})
		p.put(goG0+56, inner)
		p.put(goOnG-8, ret)                  // the leaf's caller, the inner callback
		p.put(inner, outer, goCaller)        // called by C: the function caller
		p.put(outer, goOnG0+0x800, goCaller) // the outer callback's caller
		p.put(onG-8, ret, 0, goCaller)
		c.set(p)
		goSP, steps := uint64(onG), 4
		if c.goSP != 0 {
			goSP, steps = c.goSP, 5
			p.put(goSP, bias+raSpill)
		}
		im := buildImage(t, func(_, df *cfitest.Section) {
			cie := df.AddCIE(cfitest.CIE{Insns: plain()})
			df.AddFDE(cie, fnLeaf, 3, nil)
			df.AddFDE(cie, fnCallee, 11, new(cfitest.Program).DefCFAOffset(16))
			// C: back onto the goroutine's stack.
			if c.goSP == 0 {
				df.AddFDE(cie, fnCaller, 11, new(cfitest.Program).DefCFAExpression(addrExpr(goSP)...))
			} else {
				df.AddFDE(cie, fnCaller, 11, new(cfitest.Program).DefCFAExpression(addrExpr(goSP+8)...))
				df.AddFDE(cie, fnSpill, 11, new(cfitest.Program).DefCFAExpression(addrExpr(onG)...)) // Go: likewise
			}
		}, unwind.Symbol{Name: "runtime.cgocallback.abi0", Addr: fnCallee, Size: 11})
		w := walker(t, mapper{p}, nil, debugStepper(im))
		f := must(w.InitialFrame(1))
		var sps []uint64
		for range steps {
			next, err := w.WalkSingleFrame(f)
			if err != nil {
				t.Fatalf("%s: %v, %q", c.name, err, notes(f))
			}
			f = next
			sps = append(sps, f.SP())
		}
		if n := len(sps); sps[0] != goOnG || sps[1] != inner+16 || sps[n-2] != onG || sps[n-1] != c.want {
			t.Errorf("%s: stack pointers %#x, want %#x at last", c.name, sps, c.want)
		}
	}
}

// addrExpr is a location expression of a constant: DW_OP_const8u.
func addrExpr(v uint64) []byte { return binary.LittleEndian.AppendUint64([]byte{0x0e}, v) }

// Of other architectures nobody knows where Go keeps what: functions that change stacks lead
// nowhere, or are walked by their rows.
func TestGoOfOtherArchitectures(t *testing.T) {
	for fn, want := range map[string]uint64{"runtime.systemstack.abi0": goOnG0 + 16, "runtime.nanotime1.abi0": 0, "racecall": 0, "runtime.main": goOnG0 + 16} {
		for _, value := range []uint64{goG0, goOnG} {
			p := goProc()
			p.put(goOnG0+8, goCaller)
			im := buildImage(t, func(_, df *cfitest.Section) {
				df.AddFDE(df.AddCIE(cfitest.CIE{RA: 1, Insns: new(cfitest.Program).DefCFA(2, 16).Offset(1, 1)}), fnCallee, 11, nil)
			}, unwind.Symbol{Name: fn, Addr: fnCallee, Size: 11})
			w := walker(t, otherProc{p, arch.RISCV64}, nil, must(steppers.NewDebugStepper(arch.RISCV64, fileOfAll{im})))
			in := called(t, w, bias+fnCallee+8, goOnG0, 0)
			for r := range arch.Reg(arch.RISCV64.NumRegs()) {
				if r != arch.RISCV64.SP && r != arch.RISCV64.PC {
					in.SetReg(r, value, unwind.InRegister(r))
				}
			}
			f, err := w.WalkSingleFrame(in)
			if want == 0 && !errors.Is(err, unwind.ErrNoStepper) || want != 0 && (err != nil || f.SP() != want) {
				t.Errorf("%s, registers of %#x: %v, %v; want SP %#x", fn, value, f, err, want)
			}
		}
	}
}

// crosscall2 keeps the registers that C expects back.
func TestGoHostRegisters(t *testing.T) {
	for name, bp := range map[string][]uint64{"its own frame pointer": {goOnG0 + 24 + 48, 0xb9}, "C's frame pointer": {0xb9, 0}} {
		p := goProc()
		p.put(goOnG0+8, goCaller)
		p.put(goOnG0+24, append([]uint64{0xb, 0x12, 0x13, 0x14, 0x15}, bp...)...)
		w := goWalker(t, p, "crosscall2")
		f, err := w.WalkSingleFrame(goFrame(t, w, goOnG0))
		if err != nil {
			t.Fatal(err)
		}
		for r, want := range map[arch.Reg]uint64{arch.RBX: 0xb, arch.R12: 0x12, arch.R13: 0x13, arch.R14: 0x14, arch.R15: 0x15, arch.RBP: 0xb9} {
			if v, loc, ok := f.Reg(r); !ok || v != want || loc.Kind != unwind.LocAddress {
				t.Errorf("%s: %s is %#x (%v), want %#x", name, arch.AMD64.RegName(r), v, ok, want)
			}
		}
	}
}

// The faulting instruction seems to have called sigpanic.
func TestGoSigpanic(t *testing.T) {
	for fn, nonCall := range map[string]bool{"runtime.sigpanic": true, "runtime.sigpanic0.abi0": false} {
		w := goWalker(t, goProc(), fn)
		f, err := w.WalkSingleFrame(goFrame(t, w, goOnG))
		if err != nil {
			t.Fatal(err)
		}
		if f.NonCall() != nonCall || (f.LookupAddr() == f.RA()) != nonCall {
			t.Errorf("%s: non-call %v, looked up at %#x", fn, f.NonCall(), f.LookupAddr())
		}
	}
}
