package steppers_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The order in which the steppers of an architecture are asked.
func TestOrderOfSteppers(t *testing.T) {
	const wild, frame, analysis, wanderer = 0x10048, 0x10050, 0x10058, 0x10060
	common := map[string]uint32{"BottomOfStack": 0x10000, "SigHandler": 0x10020, "Debug": 0x10040, "SymCFI": 0x10043,
		"WildPC": wild, "MadeCode": frame - 4, "FrameFunc": frame, "WinFrame": 0x10042, "PEUnwind": 0x10042, "DyninstInstr": 0x10010, "DyninstInstFrame": 0x10010, "Analysis": analysis, "Wanderer": wanderer}
	for a, more := range map[*arch.Arch][]string{
		arch.AMD64:   {"BottomOfStack", "DyninstInstFrame", "DyninstInstr", "SigHandler", "Debug", "PEUnwind", "SymCFI", "FrameSize", "WildPC", "Uprobe", "MadeCode", "FrameFunc", "Analysis", "Wanderer"},
		arch.X86:     {"BottomOfStack", "DyninstInstFrame", "DyninstInstr", "SigHandler", "Debug", "WinFrame", "SymCFI", "WildPC", "Uprobe", "MadeCode", "FrameFunc", "Analysis", "Wanderer"},
		arch.ARM:     {"BottomOfStack", "SigHandler", "Debug", "Exidx", "SymCFI", "WildPC", "MadeCode", "FrameFunc", "Analysis", "Exidx", "Wanderer"},
		arch.RISCV64: {"BottomOfStack", "SigHandler", "Debug", "SymCFI", "WildPC", "MadeCode", "FrameFunc", "Analysis", "Wanderer"},
	} {
		list := must(steppers.DefaultGroup(a, noFile)).Steppers()
		slices.SortStableFunc(list, func(a, b unwind.FrameStepper) int { return int(a.Priority()) - int(b.Priority()) })
		var got []string
		for _, s := range list {
			got = append(got, s.Name())
			if want, ok := common[s.Name()]; ok && s.Priority() != want {
				t.Errorf("%s: priority of %s: %#x, want %#x", a.Name, s.Name(), s.Priority(), want)
			}
		}
		if !slices.Equal(got, more) {
			t.Errorf("%s: %q, want %q", a.Name, got, more)
		}
	}
}

// bl is ARM64's call from one place to another.
func bl(from, to int) uint32 { return 0x94000000 | uint32((to-from)/4)&0x3ffffff }

// Frames of machines with a link register, as what tells of their state says.
func TestFrameStatesWithLinkRegister(t *testing.T) {
	const fn, pc, ra1, ra2 = 0x100, foreignCode + 0x108, foreignCode + 0x204, foreignCode + 0x304
	const sp, fp, top = foreignStack + 0x100, foreignStack + 0x180, foreignStack + foreignSize
	type expect struct{ ra, sp, fp, cfa uint64 } // cfa 0: not known
	leaf, framed := &expect{ra1, sp, fp, sp}, &expect{ra2, fp + 16, 0x77, 0}
	for _, c := range []struct {
		name string
		h    helper
		top  bool
		fp   uint64 // fp where 0
		want *expect
	}{
		{"nothing set up", helper{steppers.StandardFrame, steppers.UnsetFrame}, true, 0, leaf},
		{"a leaf", helper{steppers.NoFrame, steppers.UnsetFrame}, true, 0, leaf},
		{"a leaf that has made a call", helper{steppers.NoFrame, steppers.UnsetFrame}, false, 0, nil},
		{"nothing set up, a call made", helper{steppers.StandardFrame, steppers.UnsetFrame}, false, 0, nil},
		{"half set up", helper{steppers.StandardFrame, steppers.HalfsetFrame}, true, 0, nil},
		{"set up", helper{steppers.StandardFrame, steppers.SetFrame}, true, 0, framed},
		{"set up, a call made", helper{steppers.StandardFrame, steppers.SetFrame}, false, 0, framed},
		{"another use of the frame pointer", helper{steppers.SaveFPOnlyFrame, steppers.SetFrame}, true, 0, nil},
		{"a leaf with something on the stack", helper{steppers.NoFrame, steppers.SetFrame}, true, 0, nil},
		{"frame pointer at SP", helper{steppers.StandardFrame, steppers.SetFrame}, true, sp, &expect{ra2, sp + 16, 0x77, 0}},
		{"frame pointer below SP", helper{steppers.StandardFrame, steppers.SetFrame}, true, sp - 8, nil},
		{"frame pointer not aligned", helper{steppers.StandardFrame, steppers.SetFrame}, true, sp + 1, nil},
		{"frame pointer at the stack's last record", helper{steppers.StandardFrame, steppers.SetFrame}, true, top - 16, &expect{ra2, top, 0x77, 0}},
		{"frame pointer at half a record", helper{steppers.StandardFrame, steppers.SetFrame}, true, top - 8, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newForeign(arch.ARM64, map[int][]uint32{0x200: {bl(0x200, fn)}, 0x300: {bl(0x300, fn)}})
			at := uint64(fp)
			if c.fp != 0 {
				at = c.fp
			}
			for _, a := range []uint64{at} {
				if a&7 == 0 && a+16 <= top {
					p.putWords(a, 0x77, ra2)
				}
			}
			p.set(map[arch.Reg]uint64{arch.ARM64.PC: pc, arch.ARM64SP: sp, arch.ARM64.FP: at, arch.ARM64LR: ra1})
			w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(arch.ARM64, c.h)))
			in := called(t, w, pc, sp, at)
			if c.top {
				in = must(w.InitialFrame(1))
			}
			f, err := w.WalkSingleFrame(in)
			if c.want == nil {
				if !errors.Is(err, unwind.ErrNoStepper) {
					t.Errorf("%v, %v; want no caller", f, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err, notes(in))
			}
			gotFP, _, _ := f.Reg(arch.ARM64.FP)
			if want := c.want.fp; f.RA() != c.want.ra || f.SP() != c.want.sp || gotFP != want && want != fp || f.Trust() != unwind.TrustFramePointer {
				t.Errorf("%v, trust %v; want %#x", f, f.Trust(), *c.want)
			}
			if cfa, ok := in.CFA(); ok != (c.want.cfa != 0) || ok && cfa != c.want.cfa {
				t.Errorf("CFA %#x, %v; want %#x", cfa, ok, c.want.cfa)
			}
		})
	}
}

// A function of x86 that made a call has its return address at SP only where something
// says that it has taken no stack.
func TestFrameStatesOfCallers(t *testing.T) {
	for h, exp := range map[helper]want{
		{steppers.StandardFrame, steppers.UnsetFrame}: {ra: bias + raCaller, sp: slot + 8, fp: slot - 8},
		{steppers.NoFrame, steppers.UnsetFrame}:       {},
		{steppers.NoFrame, steppers.SetFrame}:         {},
		{steppers.SaveFPOnlyFrame, steppers.SetFrame}: {},
	} {
		p := newProc(nil)
		p.put(slot, bias+raCaller)
		w := walker(t, mapper{p}, nil, frameFunc(h))
		checkStep(t, w, called(t, w, bias+raStart, slot, slot-8), exp, unwind.TrustFramePointer)
	}
}

// A frame pointer of zero ends the chain where the ABI says so, if frame pointers led there
// and nothing is known of the function.
func TestZeroFramePointer(t *testing.T) {
	const fn, sp, fp = 0x100, foreignStack + 0x100, foreignStack + 0x180
	for _, c := range []struct {
		name   string
		second helper // of the function to which the frame pointer leads
		chain  bool
		want   bool
	}{
		{"by frame pointers", helper{steppers.UnknownT, steppers.UnknownS}, true, true},
		{"of a known function", helper{steppers.StandardFrame, steppers.SetFrame}, true, false},
		{"of a frame that is given", helper{steppers.UnknownT, steppers.UnknownS}, false, false},
	} {
		p := newForeign(arch.ARM64, map[int][]uint32{0x200: {bl(0x200, fn)}, 0x300: {bl(0x300, 0x200)}})
		p.putWords(fp, 0, foreignCode+0x204)
		w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(arch.ARM64, byPlace{foreignCode + 0x200: c.second})))
		in := called(t, w, foreignCode+0x204, fp+16, 0)
		if c.chain {
			in = must(w.WalkSingleFrame(called(t, w, foreignCode+0x108, sp, fp)))
		}
		if _, err := w.WalkSingleFrame(in); errors.Is(err, unwind.ErrStackBottom) != c.want {
			t.Errorf("%s: %v; want the bottom: %v", c.name, err, c.want)
		}
	}
}

// byPlace answers by the instruction's address; a standard frame elsewhere.
type byPlace map[arch.Address]helper

func (m byPlace) AllocatesFrame(addr arch.Address) (steppers.FrameType, steppers.FrameState) {
	if h, ok := m[addr]; ok {
		return h.t, h.s
	}
	return steppers.StandardFrame, steppers.SetFrame
}

// Of a function whose code is lost, the link register has the return address where it leads
// elsewhere, behind a call or to lost code.
func TestLinkRegisterOfLostCode(t *testing.T) {
	const lost, size, sp, fp = 0x40000000, 0x20000, foreignStack + 0x100, foreignStack + 0x180
	const pc, ra, chained = lost + 0x10000, foreignCode + 0x204, foreignCode + 0x304
	for _, c := range []struct {
		name string
		lr   uint64
		top  bool
		want uint64
	}{
		{"behind a call elsewhere", ra, true, ra},
		{"a call made", ra, false, chained},
		{"behind no call", foreignCode + 0x208, true, chained},
		{"near", pc + 8, true, chained},
		{"as far below as is near", pc - 0x8000, true, chained},
		{"farther below", pc - 0x8001, true, pc - 0x8001},
		{"as far above as is near", pc + 0x8000, true, chained},
		{"farther above", pc + 0x8001, true, pc + 0x8001},
	} {
		p := newForeign(arch.ARM64, map[int][]uint32{0x200: {0xd63f0000, 0xd503201f}, 0x300: {0xd63f0000}}) // blr x0
		m := libstate.Mapping{Start: lost, End: lost + size, Perm: libstate.Read | libstate.Exec}
		p.segs = append(p.segs, seg{m: m})
		first, _ := p.libs.LibraryAt(foreignCode)
		p.libs = libstate.NewTable([]*libstate.Library{first, {Path: "/lib/lost.so", Kind: libstate.SharedLibrary, Start: lost, End: lost + size, Mappings: []libstate.Mapping{m}}}, 0)
		p.putWords(fp, 0, chained)
		p.set(map[arch.Reg]uint64{arch.ARM64.PC: pc, arch.ARM64SP: sp, arch.ARM64.FP: fp, arch.ARM64LR: c.lr})
		w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(arch.ARM64, helper{})))
		in := must(w.InitialFrame(1))
		if !c.top {
			in = called(t, w, pc, sp, fp)
			in.SetReg(arch.ARM64LR, c.lr, unwind.InRegister(arch.ARM64LR))
		}
		if f, err := w.WalkSingleFrame(in); err != nil || f.RA() != c.want {
			t.Errorf("%s: %v, %v; want %#x; %q", c.name, f, err, c.want, notes(in))
		}
	}
}

// On x64 Windows a frame pointer of an unknown function has to lead to another record, or
// to the end of the chain.
func TestSecondRecordOfX64Windows(t *testing.T) {
	const sp, first, top = stack + 0x100, stack + 0x120, stack + stackLen
	for _, c := range []struct {
		name       string
		second, ra uint64
		want       bool
	}{
		{"a record", first + 0x20, bias + 0x1300, true},
		{"the end", 0, 0, true},
		{"a record that returns to zero", first + 0x20, 0, true},
		{"a record that returns to data", first + 0x20, stack, false},
		{"itself", first, bias + 0x1200, false},
		{"the next word", first + 8, bias + 0x1200, true},
		{"not aligned", first + 0x21, 0, false},
		{"the stack's last record", top - 16, bias + 0x1300, true},
		{"half a record", top - 8, 0, false},
		{"the top of the stack", top, 0, false},
		{"another stack", got, 0, false},
	} {
		p := &proc{}
		m := libstate.Mapping{Start: bias + 0x1000, End: bias + 0x2000, Perm: libstate.Read | libstate.Exec}
		p.segs = append(p.segs, seg{m: m})
		p.add(stack, libstate.Read|libstate.Write, make([]byte, stackLen))
		p.libs = libstate.NewTable([]*libstate.Library{{Path: `C:\a.exe`, Kind: libstate.Executable, Start: bias, End: bias + 0x2000, LoadBias: bias,
			Mappings: []libstate.Mapping{m}, Module: &libstate.ModuleID{Format: libstate.FormatPE}}}, 0)
		p.setRegs(map[string]uint64{"rip": bias + 0x1010, "rsp": sp, "rbp": first})
		if s := c.second; s != first && s&7 == 0 && s > stack && s+16 <= top {
			p.put(s, 0, c.ra)
		}
		p.put(first, c.second)
		if c.second != first+8 {
			p.put(first+8, bias+0x1200)
		} else {
			p.put(first+8, bias+0x1200, bias+0x1300)
		}
		w := walker(t, mapper{p}, nil, frameFunc(nil))
		in := must(w.InitialFrame(1))
		if f, err := w.WalkSingleFrame(in); (err == nil) != c.want {
			t.Errorf("%s: %v, %v; %q", c.name, f, err, notes(in))
		}
	}
}

// Who called an interrupted function of PowerPC, where the link register and the back chain
// lead to calls that may have been of it.
func TestBackChainInDoubt(t *testing.T) {
	code := map[int][]uint32{
		0x500: {0x7c0802a6, 0x4e800421, 0x60000000, 0x60000000, 0x4e800020}, // mflr r0; bctrl; nop; nop; blr
		0x600: {0x4bffff01, 0x60000000},                                     // bl 0x500
		0x700: {0x60000000, 0x4e800421, 0x60000000, 0x4e800020},             // nop; bctrl; nop; blr
		0x800: {0x60000000, 0x4bfffffd, 0x60000000, 0x60000000, 0x4e800020}, // nop; bl 0x800; nop; nop; blr
		0x900: {0x4bffff01, 0x60000000},                                     // bl 0x800
	}
	const at = foreignCode
	sp := uint64(foreignStack + 0x100)
	for _, c := range []struct {
		name       string
		pc, lr, ra uint64
		want       uint64
	}{
		{"its own indirect call, and one of it", at + 0x50c, at + 0x508, at + 0x604, at + 0x604},
		{"another's indirect call, and one of it", at + 0x50c, at + 0x708, at + 0x604, 0},
		{"no call, and one of it", at + 0x50c, 0x1234, at + 0x604, at + 0x604},
		{"no call, and an indirect one", at + 0x50c, 0x1234, at + 0x708, at + 0x708},
		{"no call, and another's", at + 0x50c, 0x1234, at + 0x904, 0},
		{"the same place", at + 0x50c, at + 0x604, at + 0x604, at + 0x604},
		{"its own call of itself, and one of it", at + 0x80c, at + 0x808, at + 0x904, 0},
		{"its own call of itself, twice", at + 0x80c, at + 0x808, at + 0x808, at + 0x808},
		{"another's call of another, and no call", at + 0x50c, at + 0x904, 0x1234, 0},
	} {
		p := newForeign(arch.PPC, code)
		p.putWords(sp, sp+0x40)
		p.putWords(sp+0x44, c.ra)
		p.set(map[arch.Reg]uint64{arch.PPCNIP: c.pc, arch.PPCSP: sp, arch.PPCLR: c.lr})
		w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(arch.PPC, nil)))
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if (err == nil) != (c.want != 0) || err == nil && (f.RA() != c.want || f.SP() != sp+0x40) {
			t.Errorf("%s: %v, %v; want %#x; %q", c.name, f, err, c.want, notes(in))
		}
	}
}

// The next stack pointer of the back chain is above SP, aligned, on the same stack.
func TestBackChainPlaces(t *testing.T) {
	const ra = foreignCode + 0x404 // behind bl 0x300
	const sp, top = foreignStack + 0x100, foreignStack + foreignSize
	for next, want := range map[uint64]bool{sp + 4: true, sp: false, sp - 4: false, sp + 0x10: true, sp + 0x11: false, sp + 0x12: false, top - 8: true, top - 4: false, top: false} {
		p := newForeign(arch.PPC, ppcCode)
		if next > sp && next+8 <= top && next&3 == 0 {
			p.putWords(next+4, ra)
		}
		p.putWords(sp, next)
		w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(arch.PPC, nil)))
		in := called(t, w, foreignCode+0x308, sp, 0) // in 0x300
		if f, err := w.WalkSingleFrame(in); (err == nil) != want {
			t.Errorf("%#x: %v, %v; %q", next, f, err, notes(in))
		}
	}
}
