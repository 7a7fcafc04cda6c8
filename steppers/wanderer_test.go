package steppers_test

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

func wanderer(h steppers.WandererHelper) *steppers.StepperWanderer {
	return must(steppers.NewStepperWanderer(arch.AMD64, h))
}

func TestWanderer(t *testing.T) {
	const sp = stack + 0x100
	const last = stack + stackLen - 8
	tests := []struct {
		name  string
		pc    uint64
		top   bool
		sp    uint64
		words map[uint64]uint64
		want  want
		guess bool // the call may lead to another function: the CFA is not known
	}{
		{name: "direct call", pc: fnCallee + 8, top: true, words: map[uint64]uint64{sp + 0x40: bias + raCaller}, want: want{ra: bias + raCaller, sp: sp + 0x48}},
		{name: "direct call, the frame having made a call", pc: raCaller, words: map[uint64]uint64{sp + 8: bias + raStart}, want: want{ra: bias + raStart, sp: sp + 16}},
		{name: "indirect call", pc: fnCallee + 8, top: true, words: map[uint64]uint64{sp + 8: bias + raSpill}, want: want{ra: bias + raSpill, sp: sp + 16}, guess: true},
		{name: "exact match beyond an indirect call", pc: fnCallee + 8, top: true,
			words: map[uint64]uint64{sp + 8: bias + raSpill, sp + 0x40: bias + raCaller}, want: want{ra: bias + raCaller, sp: sp + 0x48}},
		{name: "two that match", pc: fnCallee + 8, top: true,
			words: map[uint64]uint64{sp + 8: bias + raCaller, sp + 0x40: bias + raCaller}, want: want{ra: bias + raCaller, sp: sp + 16, doubt: true}},
		{name: "through a linkage stub", pc: fnCallee + 8, top: true, words: map[uint64]uint64{sp + 8: bias + raViaPLT}, want: want{ra: bias + raViaPLT, sp: sp + 16}},
		{name: "through a tail call", pc: fnCallee + 8, top: true, words: map[uint64]uint64{sp + 8: bias + raViaTail}, want: want{ra: bias + raViaTail, sp: sp + 16}},
		{name: "call of another function", pc: fnCallee + 8, top: true, words: map[uint64]uint64{sp + 8: bias + raWrong}},
		{name: "code that follows no call", pc: fnCallee + 8, top: true, words: map[uint64]uint64{sp + 8: bias + fnCallee + 4}},
		{name: "saved frame pointer below the return address", pc: fnCallee + 8, top: true,
			words: map[uint64]uint64{sp + 0x38: fpCaller, sp + 0x40: bias + raCaller}, want: want{ra: bias + raCaller, sp: sp + 0x48, fp: fpCaller}},
		{name: "what is below the return address is no frame pointer", pc: fnCallee + 8, top: true,
			words: map[uint64]uint64{sp + 0x38: sp, sp + 0x40: bias + raCaller}, want: want{ra: bias + raCaller, sp: sp + 0x48}},
		{name: "farther than a frame that made a call is scanned", pc: raCaller, words: map[uint64]uint64{sp + 256*8: bias + raStart}},
		{name: "as far as an interrupted frame is scanned", pc: fnCallee + 8, top: true, words: map[uint64]uint64{sp + 1023*8: bias + raCaller}, want: want{ra: bias + raCaller, sp: sp + 1024*8}},
		{name: "farther than that", pc: fnCallee + 8, top: true, words: map[uint64]uint64{sp + 1024*8: bias + raCaller}},
		{name: "the stack's last word", pc: fnCallee + 8, top: true, sp: last, words: map[uint64]uint64{last: bias + raCaller}, want: want{ra: bias + raCaller, sp: last + 8}},
		{name: "never into the next mapping", pc: fnCallee + 8, top: true, sp: last, words: map[uint64]uint64{last + 8: bias + raCaller}},
		{name: "stack pointer nowhere", pc: fnCallee + 8, top: true, sp: 0x10},
		{name: "stack pointer at the end of the space", pc: fnCallee + 8, top: true, sp: ^uint64(7)},
		{name: "unaligned stack pointer", pc: fnCallee + 8, top: true, sp: sp + 3, words: map[uint64]uint64{sp + 8: bias + raCaller}, want: want{ra: bias + raCaller, sp: sp + 16}},
		{name: "garbage return address", pc: 0x4141, words: map[uint64]uint64{sp + 8: bias + raCaller}},
	}
	for _, tc := range tests {
		for name, syms := range map[string]unwind.SymbolReader{"named": symbols(names), "bare": nil} {
			t.Run(tc.name+", "+name, func(t *testing.T) {
				if tc.sp == 0 {
					tc.sp = sp
				}
				p := newProc(map[string]uint64{"rip": bias + tc.pc, "rsp": tc.sp, "rbp": 1})
				p.add(stack+stackLen, libstate.Read|libstate.Write, make([]byte, 0x1000))
				for at, v := range tc.words {
					p.put(at, v)
				}
				w := walker(t, mapper{p}, syms, wanderer(nil))
				in := called(t, w, bias+tc.pc, tc.sp, 1)
				if tc.pc == 0x4141 {
					in = called(t, w, tc.pc, tc.sp, 1)
				}
				if tc.top {
					in = must(w.InitialFrame(1))
				}
				if !tc.guess {
					checkStep(t, w, in, tc.want, unwind.TrustScan)
					return
				}
				tc.want.doubt = true
				checkCaller(t, w, in, tc.want, unwind.TrustScan)
				if cfa, ok := in.CFA(); ok {
					t.Errorf("CFA %#x by a guess", cfa)
				}
			})
		}
	}
}

// exact is a CallChecker that wants exact matches only.
type exact struct{ steppers.CallChecker }

func (exact) RequireExactMatch() bool { return true }

func TestWandererHelper(t *testing.T) {
	p := newProc(map[string]uint64{"rip": bias + fnCallee + 8, "rsp": slot})
	p.put(slot, bias+raSpill)
	w := walker(t, mapper{p}, nil)
	if err := w.AddStepper(wanderer(exact{steppers.NewCallChecker(w)})); err != nil {
		t.Fatal(err)
	}
	checkStep(t, w, must(w.InitialFrame(1)), want{}, unwind.TrustScan)
	p.put(slot+8, bias+raCaller)
	checkStep(t, w, must(w.InitialFrame(1)), want{ra: bias + raCaller, sp: slot + 16}, unwind.TrustScan)
}

func TestCallChecker(t *testing.T) {
	p := newProc(map[string]uint64{"rip": bias, "rsp": stack})
	for name, syms := range map[string]unwind.SymbolReader{"named": symbols(names), "bare": nil} {
		c := steppers.NewCallChecker(walker(t, mapper{p}, syms))
		if target, ok := c.IsPrevInstrACall(bias + raCaller); !ok || target != bias+fnCallee {
			t.Errorf("%s: call before %#x: %#x, %v; want callee", name, uint64(bias+raCaller), target, ok)
		}
		if target, ok := c.IsPrevInstrACall(bias + raSpill); !ok || target != 0 {
			t.Errorf("%s: call before %#x: %#x, %v; want an indirect one", name, uint64(bias+raSpill), target, ok)
		}
		for _, addr := range []uint64{bias + fnCallee + 4, 0, 3, stack, ^uint64(0)} {
			if _, ok := c.IsPrevInstrACall(addr); ok {
				t.Errorf("%s: a call before %#x", name, addr)
			}
		}
		for _, tc := range []struct {
			entry, pc uint64
			want      steppers.PCState
		}{
			{bias + fnCallee, bias + fnCallee, steppers.InFunc},
			{bias + fnCallee, bias + fnCallee + 10, steppers.InFunc},
			{bias + fnPLT, bias + fnCallee + 9, steppers.InFunc},
			{bias + fnTail, bias + fnCallee + 9, steppers.InFunc},
			{bias + fnOther, bias + fnCallee + 9, steppers.OutsideFunc},
			{bias + fnCaller, bias + fnCallee + 9, steppers.OutsideFunc},
			{stack, bias + fnCallee, steppers.OutsideFunc},
			{0, bias + fnCallee, steppers.PCUnknown},
			{bias + fnCallee, 0x10, steppers.PCUnknown},
		} {
			if got := c.IsPCInFunc(tc.entry, tc.pc); got != tc.want {
				t.Errorf("%s: pc %#x in function at %#x: %v; want %v", name, tc.pc, tc.entry, got, tc.want)
			}
		}
	}
	p.put(got, 0)
	if s := steppers.NewCallChecker(walker(t, mapper{p}, nil)).IsPCInFunc(bias+fnPLT, bias+fnCallee); s != steppers.PCUnknown {
		t.Errorf("an unbound stub: %v; want unknown", s)
	}
}
