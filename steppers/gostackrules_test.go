package steppers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A goOutcome is what a step from a function of Go's runtime comes to: the stack pointer of
// the caller, which is goCaller, or one of the two below.
type goOutcome = uint64

const (
	goBottom   goOutcome = 0
	goNotKnown goOutcome = 1
)

// checkGo steps from the function, the stack pointer being sp, and compares.
func checkGo(t *testing.T, name string, p *proc, fn string, sp uint64, want goOutcome) (in, f *unwind.Frame) {
	t.Helper()
	w := goWalker(t, p, fn)
	in = goFrame(t, w, sp)
	in.SetReg(arch.RBX, 0xb, unwind.InRegister(arch.RBX))
	f, err := w.WalkSingleFrame(in)
	switch {
	case want == goBottom:
		if !errors.Is(err, unwind.ErrStackBottom) {
			t.Errorf("%s: %v, %v; want the bottom; %q", name, f, err, notes(in))
		}
	case want == goNotKnown:
		if !errors.Is(err, unwind.ErrNoStepper) {
			t.Errorf("%s: %v, %v; want no caller; %q", name, f, err, notes(in))
		}
	case err != nil:
		t.Errorf("%s: %v; %q", name, err, notes(in))
	case f.RA() != goCaller || f.SP() != want:
		t.Errorf("%s: %v; want SP %#x; %q", name, f, want, notes(in))
	}
	return in, f
}

// The goroutine of a thread is the first g in the thread's m, beside g0, that
// belongs to that m and has left its stack at a place on it.
func TestGoCurrentGoroutine(t *testing.T) {
	const other, away = goData + 0x800, goStack + 0x200 // another g, and where it left its stack
	curg := func(at uint64) func(*proc) {
		return func(p *proc) { p.put(goMach+0xb8, 0); p.put(goMach+at, goG) }
	}
	stackOf := func(lo, hi uint64) func(*proc) { return func(p *proc) { p.put(goG, lo, hi) } }
	for _, c := range []struct {
		name string
		set  func(*proc)
		want goOutcome
	}{
		{"as it is", func(*proc) {}, goOnG + 16},
		{"before the first place", curg(128), goNotKnown},
		{"at the first place", curg(136), goOnG + 16},
		{"at the last place", curg(248), goOnG + 16},
		{"behind the last place", curg(256), goNotKnown},
		{"behind g0", func(p *proc) { p.put(goMach+136, goG0) }, goOnG + 16},
		{"behind another", func(p *proc) { p.put(goMach+136, other) }, away + 16},
		{"behind another thread's", func(p *proc) { p.put(goMach+136, other); p.put(other+48, goMach+8) }, goOnG + 16},
		{"behind one that is elsewhere", func(p *proc) { p.put(goMach+136, other); p.put(other+56, goStack+0x1000) }, goOnG + 16},
		{"at the lowest place of its stack", stackOf(goOnG, goStack+0x1000), goOnG + 16},
		{"below its stack", stackOf(goOnG+1, goStack+0x1000), goNotKnown},
		{"at the last place of its stack", stackOf(goStack, goOnG+1), goOnG + 16},
		{"at the end of its stack", stackOf(goStack, goOnG), goNotKnown},
		{"a stack from zero on", stackOf(0, goStack+0x1000), goNotKnown},
		{"the m has no g0", func(p *proc) { p.put(goMach, 0) }, goOnG0 + 16},
		{"g0 is another m's", func(p *proc) { p.put(goMach, goIdle) }, goOnG0 + 16},
		{"the stack was not left here", func(p *proc) { p.put(goG0+56, goOnG0+8) }, goOnG0 + 16},
	} {
		p := goProc()
		p.put(goOnG0+8, goCaller)
		p.put(other, goStack, goStack+0x1000)
		p.put(other+48, goMach, away)
		p.put(away+8, goCaller)
		c.set(p)
		checkGo(t, c.name, p, "runtime.systemstack.abi0", goOnG0, c.want)
	}
}

// asmcgocall has left on g0's stack where it came from.
func TestGoBeforeC(t *testing.T) {
	const end = stack + stackLen
	for _, c := range []struct {
		name   string
		at     uint64 // from SP
		v, g   uint64
		caller uint64 // where the return address is
		want   goOutcome
	}{
		{"depth", 0, goStack + 0x1000 - goOnG, goG, goOnG + 8, goOnG + 16},
		{"the whole stack", 0, 0x1000, goG, goStack + 8, goStack + 16},
		{"nothing of the stack", 0, 0, goG, goStack + 8, goNotKnown},
		{"more than the stack", 0, 0x1008, goG, goStack + 8, goNotKnown},
		{"the nearest on the same stack", 0, goOnG0 + 8, 0, goOnG0 + 16, goOnG0 + 24},
		{"the same place", 0, goOnG0, 0, goStack + 8, goNotKnown},
		{"the farthest on the same stack", 0, end - 16, 0, end - 8, end},
		{"the end of the stack", 0, end, 0, end - 8, goNotKnown},
		{"the other place", 40, goStack + 0x1000 - goOnG, goG, goOnG + 8, goOnG + 16},
		{"the same place, the other", 40, goOnG0 + 40, 0, goStack + 8, goNotKnown},
		{"no place", 32, goStack + 0x1000 - goOnG, goG, goOnG + 8, goNotKnown},
	} {
		p := goProc()
		p.put(goOnG0, 0, 8) // neither
		p.put(goOnG0+c.at, c.v, c.g)
		p.put(c.caller, goCaller)
		in, _ := checkGo(t, c.name, p, "runtime.asmcgocall.abi0", goOnG0, c.want)
		text := strings.Join(notes(in), "\n")
		if lost := strings.Contains(text, "the stack that the function came from is not known"); lost != (c.want == goNotKnown) {
			t.Errorf("%s: notes %q", c.name, text)
		}
		if changed := strings.Contains(text, "Go changed stacks, from SP"); changed == (c.want == goNotKnown) {
			t.Errorf("%s: notes %q", c.name, text)
		}
	}
	p := goProc()
	if in, _ := checkGo(t, "no change", p, "runtime.systemstack.abi0", goOnG, goOnG+16); strings.Contains(strings.Join(notes(in), "\n"), "changed") {
		t.Errorf("notes of a change where there is none: %q", notes(in))
	}
}

// A frame pointer does not help where the stack that a function came from is not known.
func TestGoStackNotKnown(t *testing.T) {
	p := goProc()
	p.put(goOnG0, 0, 8)
	p.put(goOnG+8, goCaller)
	p.setRegs(map[string]uint64{"rbp": goOnG})
	im := buildImage(t, func(_, df *cfitest.Section) {
		df.AddFDE(df.AddCIE(cfitest.CIE{Insns: plain()}), fnCallee, 11, new(cfitest.Program).DefCFA(dwRBP, 16))
	}, unwind.Symbol{Name: "runtime.asmcgocall.abi0", Addr: fnCallee, Size: 11})
	w := walker(t, mapper{p}, nil, debugStepper(im))
	if f, err := w.WalkSingleFrame(goFrame(t, w, goOnG0)); !errors.Is(err, unwind.ErrNoStepper) {
		t.Errorf("%v, %v", f, err)
	}
}

// cgocallback's caller is C where g0's stack was left by it, and nowhere else.
func TestGoBeforeCallback(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*proc)
		want goOutcome
	}{
		{"C", func(*proc) {}, goOnG0 + 16},
		{"no call there", func(p *proc) { p.put(goOnG0+8, bias+fnOther) }, goOnG + 16},
		{"on the goroutine's stack", func(p *proc) { p.put(goG0+56, goOnG+0x20); p.put(goOnG+0x28, goCaller) }, goOnG + 16},
		{"another function was called there", func(p *proc) {
			const ra = goCaller + 0x20
			code := p.at(ra - 5)
			copy(code.data[ra-5-code.m.Start:], "\xe8\x10\x00\x00\x00") // CALL
			p.put(goOnG0+8, ra)
		}, goOnG + 16},
		{"no m", func(p *proc) { p.put(goG+48, 0) }, goOnG + 16},
	} {
		p := goProc()
		p.put(goOnG0+8, goCaller)
		p.setRegs(map[string]uint64{"r14": goG})
		c.set(p)
		checkGo(t, c.name, p, "runtime.cgocallback.abi0", goOnG, c.want)
	}
}

// The scheduler runs on g0's stack from where that was left: by a callback, or where the
// thread began it.
func TestGoLeft(t *testing.T) {
	const end, sp = stack + stackLen, goOnG0 - 8
	callback := func(before uint64, slot int, ra uint64) func(*proc) {
		return func(p *proc) { p.put(goOnG0, before); p.put(goOnG0+uint64(slot), ra) }
	}
	began, called := uint64(goOnG0), func(slot uint64) uint64 { return goOnG0 + slot + 8 }
	for _, c := range []struct {
		name string
		set  func(*proc)
		want goOutcome
	}{
		{"the thread began", func(p *proc) { p.put(goOnG0, 0, 0) }, uint64(began)},
		{"a callback", callback(goOnG0+0x200, 32, goCaller), called(32)},
		{"a callback, the return address first", callback(goOnG0+0x200, 8, goCaller), called(8)},
		{"a callback, the return address last", callback(goOnG0+0x200, 56, goCaller), called(56)},
		{"too far for a callback", callback(goOnG0+0x200, 64, goCaller), uint64(began)},
		{"a callback from the same place", callback(goOnG0, 32, goCaller), called(32)},
		{"from below", callback(goOnG0-8, 32, goCaller), uint64(began)},
		{"a callback from the end of the stack", callback(end-8, 32, goCaller), called(32)},
		{"from beyond the stack", callback(end, 32, goCaller), uint64(began)},
		{"an indirect call is none of C's", callback(goOnG0+0x200, 32, bias+raSpill), uint64(began)},
		{"began after no call", func(p *proc) { p.put(goOnG0, goCaller, 0); p.put(goG0+64, bias+fnOther) }, goBottom},
	} {
		p := goProc()
		p.put(goOnG0, 0, 0)
		c.set(p)
		in, f := checkGo(t, c.name, p, "runtime.mcall", sp, c.want)
		text := strings.Join(notes(in), "\n")
		if lost := strings.Contains(text, "Go's scheduler runs from here; what ran before is not known"); lost != (c.want == goBottom) {
			t.Errorf("%s: notes %q", c.name, text)
		}
		if f == nil {
			continue
		}
		if _, _, ok := f.Reg(arch.RBX); ok {
			t.Errorf("%s: rbx is known", c.name)
		}
		if v, loc, ok := f.Reg(arch.R14); !ok || v != goG0 || loc != unwind.InRegister(arch.R14) {
			t.Errorf("%s: the g is %#x, %v, %s", c.name, v, ok, loc.Describe(arch.AMD64))
		}
		if f.Trust() != unwind.TrustCFI {
			t.Errorf("%s: trust %v", c.name, f.Trust())
		}
		pcAt, spAt := unwind.AtAddress(goG0+64), unwind.AtAddress(goG0+56)
		says := "Go left this stack at SP 0x7ffe00000400"
		if c.want != uint64(began) {
			pcAt, spAt, says = unwind.AtAddress(c.want-8), unwind.Location{}, fmt.Sprintf("C called Go at SP %#x", c.want)
		}
		if f.RALocation() != pcAt || f.SPLocation() != spAt || !strings.Contains(text, says) {
			t.Errorf("%s: pc at %v, SP at %v, notes %q", c.name, f.RALocation(), f.SPLocation(), text)
		}
	}
}

// Without the g nobody knows the thread: the step is from where the stack pointer is.
func TestGoWithoutG(t *testing.T) {
	p := goProc()
	p.put(goOnG0+8, goCaller)
	w := goWalker(t, p, "runtime.systemstack.abi0")
	in := called(t, w, bias+fnCallee+8, goOnG0, 0)
	if f, err := w.WalkSingleFrame(in); err != nil || f.SP() != goOnG0+16 {
		t.Errorf("%v, %v", f, err)
	}
	w = goWalker(t, p, "runtime.morestack.abi0")
	if f, err := w.WalkSingleFrame(called(t, w, bias+fnCallee+8, goOnG0, 0)); !errors.Is(err, unwind.ErrStackBottom) {
		t.Errorf("a stack too small: %v, %v; want the bottom", f, err)
	}
	w = goWalker(t, p, "runtime.systemstack.abi0")
	in = called(t, w, bias+fnCallee+8, goOnG0, 0)
	in.SetReg(arch.R14, 0x10, unwind.InRegister(arch.R14))
	if f, err := w.WalkSingleFrame(in); err != nil || f.SP() != goOnG0+16 {
		t.Errorf("the g is nowhere: %v, %v", f, err)
	}
}

// A function that was interrupted has not changed stacks for a call: its row leads on.
func TestGoInterrupted(t *testing.T) {
	p := goProc()
	p.put(goOnG0+8, goCaller)
	for _, fn := range []string{"runtime.systemstack.abi0", "runtime.mcall", "runtime.rt0_go.abi0"} {
		w := goWalker(t, p, fn)
		in := goFrame(t, w, goOnG0)
		in.SetNonCall(true)
		if f, err := w.WalkSingleFrame(in); err != nil || f.RA() != goCaller || f.SP() != goOnG0+16 {
			t.Errorf("%s: %v, %v", fn, f, err)
		}
	}
	w := goWalker(t, p, "runtime.rt0_go.abi0")
	in := goFrame(t, w, goOnG0)
	if _, err := w.WalkSingleFrame(in); !errors.Is(err, unwind.ErrStackBottom) || !strings.Contains(strings.Join(notes(in), "\n"), "Go's start-up code: the outermost frame") {
		t.Errorf("%v, %q", err, notes(in))
	}
}

// Registers of C that cannot be read are not known.
func TestGoHostRegistersUnread(t *testing.T) {
	const sp = stack + stackLen - 32 // room for rbx
	p := goProc()
	p.put(sp+8, goCaller, 0, 0xb)
	w := goWalker(t, p, "crosscall2")
	in := goFrame(t, w, sp)
	in.SetReg(arch.R12, 1, unwind.InRegister(arch.R12))
	in.SetReg(arch.RBP, 1, unwind.InRegister(arch.RBP))
	f, err := w.WalkSingleFrame(in)
	if err != nil {
		t.Fatal(err)
	}
	if v, loc, ok := f.Reg(arch.RBX); !ok || v != 0xb || loc != unwind.AtAddress(sp+24) {
		t.Errorf("rbx = %#x, %v, %s", v, ok, loc.Describe(arch.AMD64))
	}
	for _, r := range []arch.Reg{arch.R12, arch.R13, arch.R14, arch.R15, arch.RBP} {
		if v, _, ok := f.Reg(r); ok {
			t.Errorf("%s = %#x is known", arch.AMD64.RegName(r), v)
		}
	}
	// A word that points at the next is rbp of crosscall2's own only in rbp's place.
	p = goProc()
	p.put(goOnG0+8, goCaller)
	p.put(goOnG0+24, goOnG0+32, goOnG0+40, goOnG0+48, goOnG0+56, goOnG0+64, 0xb9)
	w = goWalker(t, p, "crosscall2")
	f = must(w.WalkSingleFrame(goFrame(t, w, goOnG0)))
	for i, r := range []arch.Reg{arch.RBX, arch.R12, arch.R13, arch.R14, arch.R15} {
		at := goOnG0 + 24 + 8*uint64(i)
		if v, loc, ok := f.Reg(r); !ok || v != at+8 || loc != unwind.AtAddress(at) {
			t.Errorf("%s = %#x, %v, %s", arch.AMD64.RegName(r), v, ok, loc.Describe(arch.AMD64))
		}
	}
}

// arm64Go is a step from a function of Go's runtime on arm64, whose row has the return
// address below a CFA of size bytes.
func arm64Go(t *testing.T, p *proc, fn string, sp, size uint64) (*unwind.Frame, error) {
	t.Helper()
	im := buildImage(t, func(_, df *cfitest.Section) {
		df.AddFDE(df.AddCIE(cfitest.CIE{RA: 30, Insns: new(cfitest.Program).DefCFA(31, size).Offset(30, 1)}), fnCallee, 11, nil)
	}, unwind.Symbol{Name: fn, Addr: fnCallee, Size: 11})
	w := walker(t, arm64Proc{mapper{p}}, nil, must(steppers.NewDebugStepper(arch.ARM64, fileOfAll{im})))
	in := called(t, w, bias+fnCallee+8, sp, 0)
	for r := arch.ARM64X0; r < arch.ARM64X0+31; r++ {
		in.SetReg(r, 0x100+uint64(r-arch.ARM64X0), unwind.InRegister(r))
	}
	in.SetReg(arch.ARM64X28, goG0, unwind.InRegister(arch.ARM64X28))
	return w.WalkSingleFrame(in)
}

// sigpanic's caller on arm64 has its link register on the stack, two words of which Go's
// handler took.
func TestGoSigpanicARM64(t *testing.T) {
	p := goProcARM64()
	p.put(goOnG, 0, goCaller64, 0x77)
	f, err := arm64Go(t, p, "runtime.sigpanic", goOnG, 16)
	if err != nil {
		t.Fatal(err)
	}
	lr, at, ok := f.Reg(arch.ARM64LR)
	if f.RA() != goCaller64 || f.SP() != goOnG+32 || !ok || lr != 0x77 || at != unwind.AtAddress(goOnG+16) || !f.NonCall() {
		t.Errorf("%v, link register %#x, %v, %s, non-call %v", f, lr, ok, at.Describe(arch.ARM64), f.NonCall())
	}
	const end = goStack + 0x1000
	p.put(end-8, goCaller64)
	f, err = arm64Go(t, p, "runtime.sigpanic", end-16, 16)
	if err != nil {
		t.Fatal(err)
	}
	if _, at, _ := f.Reg(arch.ARM64LR); f.SP() != end+16 || at == unwind.AtAddress(end) {
		t.Errorf("%v, link register %s", f, at.Describe(arch.ARM64))
	}
	// What crosscall2 saves is known of amd64 only.
	p.put(goOnG, 0, goCaller64, 1, 2, 3, 4, 5, 6, 7, 8)
	f, err = arm64Go(t, p, "crosscall2", goOnG, 16)
	if err != nil {
		t.Fatal(err)
	}
	for r := arch.ARM64X0; r < arch.ARM64X0+18; r++ {
		if v, _, ok := f.Reg(r); ok {
			t.Errorf("%s = %#x is known", arch.ARM64.RegName(r), v)
		}
	}
	for r := arch.ARM64X19; r < arch.ARM64X28; r++ {
		if v, _, ok := f.Reg(r); !ok || v != 0x100+uint64(r-arch.ARM64X0) {
			t.Errorf("%s = %#x, %v", arch.ARM64.RegName(r), v, ok)
		}
	}
}

// Of two places of a stopped function's return address the first counts.
func TestGoStoppedLinkRegister(t *testing.T) {
	p := goProcARM64()
	p.put(goG+88, goCallerLR, goCaller64)
	f, err := arm64Go(t, p, "runtime.morestack.abi0", goOnG0-16, 16)
	if err != nil {
		t.Fatal(err)
	}
	if lr, at, ok := f.Reg(arch.ARM64LR); !ok || lr != goCallerLR || at != unwind.AtAddress(goG+88) {
		t.Errorf("link register %#x, %v, %s", lr, ok, at.Describe(arch.ARM64))
	}
}

// Go's handler takes a word of the stack for the link register on 32-bit ARM, and none where
// calls push the return address.
func TestGoSigpanicTakes(t *testing.T) {
	for _, c := range []struct {
		a        *arch.Arch
		sp, ra   uint64 // DWARF numbers
		off      uint64 // of the return address, in the CIE's units of 8 bytes
		took, lr uint64
	}{{arch.ARM, 13, 14, 1, 4, 0x77}, {arch.AMD64, 7, 16, 1, 0, 0}} {
		p := otherProc{goProc(), c.a}
		im := buildImage(t, func(_, df *cfitest.Section) {
			df.AddFDE(df.AddCIE(cfitest.CIE{RA: c.ra, Insns: new(cfitest.Program).DefCFA(c.sp, 16).Offset(c.ra, c.off)}), fnCallee, 11, nil)
		}, unwind.Symbol{Name: "runtime.sigpanic", Addr: fnCallee, Size: 11})
		p.putWords(goOnG+8, 0x8004, 0x8004)
		p.putWords(goOnG+16, 0x77)
		if c.a == arch.AMD64 {
			p.putWords(goOnG+8, 0x8004)
		}
		w := walker(t, p, nil, must(steppers.NewDebugStepper(c.a, fileOfAll{im})))
		f, err := w.WalkSingleFrame(called(t, w, bias+fnCallee+8, goOnG, 0))
		if err != nil || f.RA() != 0x8004 || f.SP() != goOnG+16+c.took {
			t.Errorf("%s: %v, %v", c.a.Name, f, err)
			continue
		}
		if lr, _, ok := f.Reg(c.a.RA); c.lr != 0 && (!ok || lr != c.lr) {
			t.Errorf("%s: link register %#x, %v", c.a.Name, lr, ok)
		}
	}
}
