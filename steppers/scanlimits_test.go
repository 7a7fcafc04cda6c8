package steppers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where code is not at hand, any address in a module may be a return address: near the
// frame if the frame was found like that itself, farther otherwise.
func TestScanLimitsOfGuesses(t *testing.T) {
	const sp, ra = winStack + 0x100, winBase + 0x2005
	for _, c := range []struct {
		name  string
		trust unwind.Trust
		top   bool
		words uint64 // within which an address counts
	}{
		{"top", unwind.TrustContext, true, 160},
		{"by tables", unwind.TrustCFI, false, 160},
		{"by a scan", unwind.TrustScan, false, 40},
		{"by a frame pointer", unwind.TrustFramePointer, false, 40},
	} {
		for at, want := range map[uint64]bool{0: true, c.words - 1: true, c.words: false} {
			for _, exactOnly := range []bool{false, true} {
				p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x1010, "esp": sp})
				p.put32(sp+4*at, ra)
				w := walker(t, p, nil)
				var h steppers.WandererHelper
				if exactOnly {
					h = exact{steppers.NewCallChecker(w)}
				}
				if err := w.AddStepper(must(steppers.NewStepperWanderer(arch.X86, h))); err != nil {
					t.Fatal(err)
				}
				in := called(t, w, winBase+0x1010, sp, 0)
				in.SetTrust(c.trust)
				if c.top {
					in = must(w.InitialFrame(1))
				}
				f, err := w.WalkSingleFrame(in)
				if (err == nil) != (want && !exactOnly) || err == nil && (f.RA() != ra || f.SP() != sp+4*at+4) {
					t.Errorf("%s, word %d, exact matches only %v: %v, %v; want %v", c.name, at, exactOnly, f, err, want)
				}
			}
		}
	}
}

// A frame that made a call, and is within 40 words of the base of its thread's stack, has no
// caller if there is no return address up to there.
func TestScanAtTheBase(t *testing.T) {
	const base = winStack + 0x1000
	for _, c := range []struct {
		name string
		off  uint64
		top  bool
		word uint32 // at SP
		want string
	}{
		{"at the base", 0, false, 0, "bottom"},
		{"near the base", 40 * 4, false, 0, "bottom"},
		{"farther", 41 * 4, false, 0, "none"},
		{"interrupted", 4, true, 0, "none"},
		{"a return address", 8, false, winBase + 0x2005, "402005"},
	} {
		p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x1010, "esp": base - c.off})
		p.put32(base-c.off, c.word)
		for proc, want := range map[unwind.ProcessState]string{bounded{p}: c.want, p: strings.Replace(c.want, "bottom", "none", 1)} {
			w := walker(t, proc, nil, must(steppers.NewStepperWanderer(arch.X86, nil)))
			in := called(t, w, winBase+0x1010, base-c.off, 0)
			if c.top {
				in = must(w.InitialFrame(1))
			}
			f, err := w.WalkSingleFrame(in)
			got := "none"
			if errors.Is(err, unwind.ErrStackBottom) {
				got = "bottom"
			} else if err == nil {
				got = fmt.Sprintf("%x", f.RA())
			}
			if got != want {
				t.Errorf("%s: %s, want %s", c.name, got, want)
			}
			if says := strings.Contains(strings.Join(notes(in), "\n"), "no return address up to the base of the thread's stack"); says != (want == "bottom") {
				t.Errorf("%s: notes %q", c.name, notes(in))
			}
		}
	}
}

// credulous takes every address for one after a call of the function asked about.
type credulous struct{}

func (credulous) IsPrevInstrACall(arch.Address) (arch.Address, bool)     { return 1, true }
func (credulous) IsPCInFunc(arch.Address, arch.Address) steppers.PCState { return steppers.InFunc }
func (credulous) RequireExactMatch() bool                                { return false }

// A helper is asked about addresses in code only.
func TestScanAsksAboutCode(t *testing.T) {
	const sp = stack + 0x100
	p := newProc(map[string]uint64{"rip": bias + fnCallee + 8, "rsp": sp})
	p.put(sp, 0x10, stack, bias+0x1000, got+8, bias+0x1001)
	w := walker(t, mapper{p}, nil, wanderer(credulous{}))
	if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); err != nil || f.RA() != bias+0x1001 || f.SP() != sp+40 {
		t.Errorf("%v, %v", f, err)
	}
	q := newForeign(arch.ARM64, nil)
	q.putWords(foreignStack+0x100, foreignCode+0x200)
	for _, lr := range []uint64{0x10, foreignStack, foreignCode} {
		q.set(map[arch.Reg]uint64{arch.ARM64.PC: foreignCode + 0x100, arch.ARM64SP: foreignStack + 0x100, arch.ARM64LR: lr})
		w := walker(t, q, nil, must(steppers.NewStepperWanderer(arch.ARM64, credulous{})))
		if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); err != nil || f.RA() != foreignCode+0x200 {
			t.Errorf("link register %#x: %v, %v", lr, f, err)
		}
	}
}

// What a link register leads to has the frame pointer that is known, if one is.
func TestScanKeepsTheFramePointer(t *testing.T) {
	p := newForeign(arch.ARM64, map[int][]uint32{0x100: {0xd503201f, 0xd65f03c0}, 0x200: {bl(0x200, 0x100)}})
	p.set(map[arch.Reg]uint64{arch.ARM64.PC: foreignCode + 0x104, arch.ARM64SP: foreignStack + 0x100, arch.ARM64LR: foreignCode + 0x204})
	w := walker(t, p, nil, must(steppers.NewStepperWanderer(arch.ARM64, nil)))
	f, err := w.WalkSingleFrame(must(w.InitialFrame(1)))
	if err != nil || f.RA() != foreignCode+0x204 {
		t.Fatal(f, err)
	}
	if fp, _, ok := f.Reg(arch.ARM64.FP); ok {
		t.Errorf("the frame pointer is %#x; it was not known", fp)
	}
}

// The scan begins with the first whole word from SP on; a frame pointer is below the return
// address, not below SP.
func TestScanBeginsAtSP(t *testing.T) {
	const at = stack + 0x100
	for _, c := range []struct {
		name   string
		sp     uint64
		words  map[uint64]uint64
		to, fp uint64 // 0 for not known
	}{
		{"one byte beyond a word", at + 1, map[uint64]uint64{at: bias + raCaller, at + 16: bias + raCaller}, at + 24, 0},
		{"at SP", at, map[uint64]uint64{at - 8: at + 0x40, at: bias + raCaller}, at + 8, 0},
		{"the frame pointer at SP", at, map[uint64]uint64{at: at + 0x40, at + 8: bias + raCaller}, at + 16, at + 0x40},
	} {
		p := newProc(map[string]uint64{"rip": bias + fnCallee + 8, "rsp": c.sp, "rbp": 1})
		for a, v := range c.words {
			p.put(a, v)
		}
		w := walker(t, mapper{p}, nil, wanderer(nil))
		f, err := w.WalkSingleFrame(must(w.InitialFrame(1)))
		if err != nil || f.SP() != c.to {
			t.Errorf("%s: %v, %v; want SP %#x", c.name, f, err, c.to)
			continue
		}
		if fp, _, ok := f.Reg(arch.RBP); ok != (c.fp != 0) || fp != c.fp {
			t.Errorf("%s: frame pointer %#x, %v; want %#x", c.name, fp, ok, c.fp)
		}
	}
}

// Frame pointers lead to records only where the ABI has them, and within the stack.
func TestScanWithoutRecords(t *testing.T) {
	const end = stack + stackLen
	for _, fp := range []uint64{stack + 0x141, end - 8, end} { // not aligned; half on the next mapping, or whole
		p := newProc(map[string]uint64{"rip": bias + fnCallee + 8, "rsp": stack + 0x100, "rbp": fp})
		p.add(end, libstate.Read|libstate.Write, make([]byte, 0x1000))
		p.put(fp+8, bias+raCaller)
		p.put(stack+0x108, bias+raCaller)
		w := walker(t, mapper{p}, nil, wanderer(nil))
		f := must(w.WalkSingleFrame(must(w.InitialFrame(1))))
		if v, _, ok := f.Reg(arch.RBP); ok {
			t.Errorf("%#x: the frame pointer is %#x", fp, v)
		}
	}
	const sp = foreignStack + 0x100
	for _, c := range []struct {
		a    *arch.Arch
		code string
		ra   int64 // of a record that other architectures have, from its address
	}{{arch.PPC, "be 48000001", 4}, {arch.S390X, "c0e500000000", 112}} {
		p := withCode(c.a, codeOf(c.code)) // a call of itself
		ra := uint64(foreignCode + 0x100 + len(codeOf(c.code)))
		p.putWords(sp+0x40, ra)
		p.putWords(sp+0x80+uint64(c.ra), ra)
		p.set(map[arch.Reg]uint64{c.a.PC: foreignCode + 0x100, c.a.SP: sp, c.a.FP: sp + 0x80})
		w := walker(t, p, nil, must(steppers.NewStepperWanderer(c.a, nil)))
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if err != nil {
			t.Fatal(c.a.Name, err, notes(in))
		}
		if fp, _, ok := f.Reg(c.a.FP); ok {
			t.Errorf("%s: the frame pointer is %#x", c.a.Name, fp)
		}
	}
}

// With a back chain the return address is in the caller's frame, which ends above it: what a
// call left is not below where the callee would save it.
func TestScanWithBackChain(t *testing.T) {
	const sp, ra, fn = foreignStack + 0x100, foreignCode + 0x104, foreignCode + 0x100
	for _, c := range []struct {
		name string
		top  bool
		at   uint64 // of the return address, from SP
		to   uint64 // 0 for none
	}{
		{"interrupted, at SP", true, 0, sp + 4},
		{"interrupted, where it is saved", true, 4, sp},
		{"interrupted, farther", true, 0x44, sp + 0x40},
		{"a call made, at SP", false, 0, 0},
		{"a call made, where the callee saves it", false, 4, 0},
		{"a call made, behind that", false, 8, sp + 4},
	} {
		p := withCode(arch.PPC, codeOf("be 48000001")) // bl to itself
		p.putWords(sp+c.at, ra)
		p.set(map[arch.Reg]uint64{arch.PPC.PC: fn, arch.PPC.SP: sp})
		w := walker(t, p, nil, must(steppers.NewStepperWanderer(arch.PPC, nil)))
		in := called(t, w, ra, sp, 0)
		if c.top {
			in = must(w.InitialFrame(1))
		}
		f, err := w.WalkSingleFrame(in)
		if c.to == 0 && !errors.Is(err, unwind.ErrNoStepper) || c.to != 0 && (err != nil || f.RA() != ra || f.SP() != c.to) {
			t.Errorf("%s: %v, %v; want SP %#x", c.name, f, err, c.to)
		}
	}
}

// A bad pointer was called from where the link register says; without that nobody knows.
func TestWildPCWithLinkRegister(t *testing.T) {
	const sp, ra = foreignStack + 0x100, foreignCode + 0x204
	for _, lr := range []uint64{ra, ra + 4, 0} {
		p := newForeign(arch.ARM64, map[int][]uint32{0x200: {0xd63f0000}}) // blr x0
		p.set(map[arch.Reg]uint64{arch.ARM64.PC: 0x10, arch.ARM64SP: sp})
		if lr != 0 {
			p.set(map[arch.Reg]uint64{arch.ARM64LR: lr})
		}
		w := walker(t, p, nil, must(steppers.NewWildPCStepper(arch.ARM64)))
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if lr == ra {
			if err != nil || f.RA() != ra || f.SP() != sp || f.RALocation() != unwind.InRegister(arch.ARM64LR) {
				t.Errorf("%v, %v", f, err)
			}
			continue
		}
		says := map[uint64]string{0: "return address: its value is not known in this frame", ra + 4: "(in x30) does not follow a call"}[lr]
		if text := strings.Join(notes(in), "\n"); !errors.Is(err, unwind.ErrNoStepper) || !strings.Contains(text, says) {
			t.Errorf("link register %#x: %v, %v, %q", lr, f, err, text)
		}
	}
}

// liar has mappings and bounds that it says are none.
type liar struct{ mapper }

func (liar) MappingAt(arch.Address) (libstate.Mapping, bool) {
	return libstate.Mapping{Start: 0, End: 1 << 63, Perm: libstate.Read | libstate.Exec}, false
}

func (liar) StackBounds(unwind.ThreadID) (low, high arch.Address, ok bool) {
	return stack, stack + 0x200, false
}

// What is known of an address: its mapping, that there is none, or nothing.
func TestMappingAt(t *testing.T) {
	p := newProc(nil)
	none := newProc(nil)
	none.libs = nil
	lib := p.program(libstate.Executable)
	lib.Mappings = lib.Mappings[1:]
	p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
	for _, c := range []struct {
		name      string
		p         unwind.ProcessState
		addr      uint64
		ok, known bool
		start     uint64
	}{
		{"a library's", p, bias + 0x1000, true, true, bias + 0x1000},
		{"a library's last byte", p, bias + 0x1fff, true, true, bias + 0x1000},
		{"behind it", p, bias + 0x2000, false, false, 0},
		{"a library's next", p, got, true, true, got},
		{"before a library's first", p, bias + 8, false, false, 0},
		{"in no library", p, stack, false, false, 0},
		{"no libraries", none, bias + 0x1000, false, false, 0},
		{"all mappings", mapper{p}, stack, true, true, stack},
		{"none of all mappings", mapper{p}, 0x10, false, true, 0},
		{"none of some mappings", someMappings{mapper{p}, false}, 0x10, false, false, 0},
		{"one of some mappings", someMappings{mapper{p}, false}, stack, true, true, stack},
	} {
		m, ok, known := steppers.MappingAt(c.p, c.addr)
		if ok != c.ok || known != c.known || ok && m.Start != c.start {
			t.Errorf("%s: %+v, %v, %v", c.name, m, ok, known)
		}
	}
	if steppers.IsCode(liar{mapper{p}}, bias+raCaller) {
		t.Error("a mapping that is none is code")
	}
	w := walker(t, liar{mapper{p}}, nil)
	if !steppers.Derailed(called(t, w, bias+raCaller, stack, 0)) {
		t.Error("a mapping that is none is code")
	}
	if why := steppers.OffStack(called(t, w, bias+raCaller, stack+8, 0), called(t, w, bias+raCaller, stack+0x300, 0)); why != "" {
		t.Errorf("bounds that are none: %s", why)
	}
}
