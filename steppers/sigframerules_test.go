package steppers_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Of a signal frame that is not all there, the registers that can be read are known; without
// pc and stack pointer there is no caller.
func TestPartsOfSignalFrames(t *testing.T) {
	const end = stack + stackLen
	for _, c := range []struct {
		name string
		size uint64 // bytes that are there
		note string // for no caller
	}{
		{"up to pc", 176, "signal frame at"},
		{"up to the stack pointer", 168, "saved rip of the signal frame at 0x7ffe00003f58: memory at 0x7ffe00004000"},
		{"up to the registers", 160, "saved rsp of the signal frame at 0x7ffe00003f60"},
	} {
		sp := end - c.size
		p := newProc(map[string]uint64{"rip": bias + restorer1, "rsp": sp, "cs": 0x33, "eflags": 2, "fs_base": 0x77})
		for at := sp; at < end; at += 8 {
			p.put(at, bias+raCaller)
		}
		w := walker(t, mapper{p}, nil, must(steppers.NewSigHandlerStepper(arch.AMD64)))
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if text := strings.Join(notes(in), "\n"); !strings.Contains(text, c.note) || (err == nil) != (c.size == 176) || err != nil && !errors.Is(err, unwind.ErrNoStepper) {
			t.Errorf("%s: %v, %v; notes %q", c.name, f, err, text)
		}
		if err != nil {
			continue
		}
		for r, want := range map[arch.Reg]bool{arch.R8: true, arch.RSP: true, arch.RIP: true, arch.EFLAGS: false, arch.CS: false, arch.SS: false, arch.FSBase: true, arch.GSBase: false} {
			if _, _, ok := f.Reg(r); ok != want {
				t.Errorf("%s: %s is known: %v", c.name, arch.AMD64.RegName(r), ok)
			}
		}
		if cfa, ok := in.CFA(); !ok || cfa != f.SP() || !f.NonCall() || f.Trust() != unwind.TrustSignal {
			t.Errorf("%s: CFA %#x, %v; non-call %v, trust %v", c.name, cfa, ok, f.NonCall(), f.Trust())
		}
	}
	// Where the registers are is not known of m68k without the handler's arguments.
	p := atSignal(arch.M68K, codeOf("7052 4600 4e40"), signalCode, 0)
	sp := uint64(foreignStack + foreignSize - 8)
	p.set(map[arch.Reg]uint64{arch.M68KSP: sp})
	w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(arch.M68K)))
	if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); !errors.Is(err, unwind.ErrNoStepper) {
		t.Errorf("m68k: %v, %v", f, err)
	}
}

// The instruction set that a signal interrupted is in the saved status register.
func TestModeOfSignalFrames(t *testing.T) {
	for cpsr, want := range map[uint64]uint64{0x20: 1, 0x10: 0, 0x30: 1, 0x40: 0} {
		p := atSignal(arch.ARM, codeOf("le e3a070ad ef9000ad"), signalCode, 0)
		p.putWords(signalFrame+160+64, cpsr)
		w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(arch.ARM)))
		f := must(w.WalkSingleFrame(must(w.InitialFrame(1))))
		if v, at, ok := f.Reg(arch.ARM.Mode); !ok || v != want || at != unwind.AtAddress(signalFrame+160+64) {
			t.Errorf("cpsr %#x: %d, %v, %s", cpsr, v, ok, at.Describe(arch.ARM))
		}
	}
}

// A restorer whose code is not at hand is known by its symbol: where it begins, and in the
// middle if it was interrupted there.
func TestRestorersByName(t *testing.T) {
	const fn = foreignCode + 0x100
	for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
		for _, c := range []struct {
			name string
			syms unwind.SymbolReader
			pc   uint64
			top  bool
			lib  bool
			want bool
		}{
			{"its start", symbols{{Name: "__restore_rt", Addr: 0x100, Size: 16}}, fn, false, true, true},
			{"its start, with other code", symbols{{Name: "__restore_rt", Addr: 0x100, Size: 16}}, fn, true, true, false},
			{"in the middle", symbols{{Name: "__restore_rt", Addr: 0x100, Size: 16}}, fn + 4, false, true, false},
			{"interrupted in the middle", symbols{{Name: "__restore_rt", Addr: 0x100, Size: 16}}, fn + 4, true, true, true},
			{"another name", symbols{{Name: "restore", Addr: 0x100, Size: 16}}, fn, false, true, false},
			{"no name", symbols{}, fn, false, true, false},
			{"no symbols", nil, fn, false, true, false},
			{"no library", symbols{{Name: "__restore_rt", Addr: 0x100, Size: 16}}, fn, false, false, false},
		} {
			p := atSignal(a, nil, c.pc, 0)
			if c.name != "its start, with other code" {
				p.segs[0].data = nil
			}
			if lib, _ := p.libs.LibraryAt(foreignCode); c.lib {
				lib.LoadBias = foreignCode
			} else {
				p.libs = libstate.NewTable(nil, 0)
			}
			p.set(map[arch.Reg]uint64{a.PC: c.pc})
			w := walker(t, p, c.syms, must(steppers.NewSigHandlerStepper(a)))
			in := called(t, w, c.pc, signalFrame, 0)
			if c.top {
				in = must(w.InitialFrame(1))
			}
			if f, err := w.WalkSingleFrame(in); (err == nil) != c.want {
				t.Errorf("%s, %s: %v, %v", a.Name, c.name, f, err)
			}
		}
	}
}

// The number of a signal is known of trampolines whose frame has it, and only if it can be read.
func TestNumbersOfTrampolines(t *testing.T) {
	// Call frame information says that this is a trampoline; its code is not a known one.
	im := buildImage(t, func(eh, _ *cfitest.Section) {
		eh.AddFDE(eh.AddCIE(cfitest.CIE{Aug: "zRS", Insns: plain()}), fnCallee, 11, nil)
	})
	p := newProc(map[string]uint64{"rip": bias + fnCallee, "rsp": stack + 0x100})
	p.put(stack+0x100, bias+raCaller)
	w := walker(t, mapper{p}, nil, debugStepper(im))
	in := must(w.InitialFrame(1))
	if _, err := w.WalkSingleFrame(in); err != nil || !in.IsTrampoline() {
		t.Fatal(err, in.IsTrampoline())
	}
	if s, ok := steppers.SignalAt(in); ok {
		t.Errorf("%+v", s)
	}
	// The frame's registers are there, the siginfo behind them is not.
	const sp = stack + stackLen - 0x100
	q := newProc(map[string]uint64{"rip": bias + restorer1, "rsp": sp})
	q.put(sp+160, stack, bias+raCaller)
	w = walker(t, mapper{q}, nil, must(steppers.NewSigHandlerStepper(arch.AMD64)))
	in = must(w.InitialFrame(1))
	if _, err := w.WalkSingleFrame(in); err != nil {
		t.Fatal(err)
	}
	if s, ok := steppers.SignalAt(in); !ok || s.Number != 0 || s.HasBlocked {
		t.Errorf("%+v of a siginfo that cannot be read", s)
	}
}

// Records of vector registers are read as far as they are there and make sense.
func TestEndsOfVectorRecords(t *testing.T) {
	const vfp, iwmmxt = 0x56465001, 0x12ef842a
	for _, c := range []struct {
		name  string
		at    uint64 // of the record, from the first
		first []uint64
		want  bool
	}{
		{"the last place", 512 - 8, []uint64{iwmmxt, 504}, true},
		{"behind the records", 512, []uint64{iwmmxt, 512}, false},
		{"too large", 0x20, []uint64{iwmmxt, 513}, false},
	} {
		p := atSignal(arch.ARM, codeOf("le e3a07077 ef900077"), signalCode, 0)
		records := uint64(signalFrame + 232)
		p.putWords(records, c.first...)
		p.putWords(records+c.at, vfp, 288)
		w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(arch.ARM)))
		f := must(w.WalkSingleFrame(must(w.InitialFrame(1))))
		if _, _, ok := f.Reg(arch.ARMD8); ok != c.want {
			t.Errorf("%s: d8 is known: %v", c.name, ok)
		}
	}
	for _, size := range []uint64{0, 4, 8, 8 + 8*16} { // bytes of the record that are there
		p := atSignal(arch.ARM, codeOf("le e3a07077 ef900077"), signalCode, 0)
		frame := uint64(foreignStack+foreignSize) - 232 - size
		p.set(map[arch.Reg]uint64{arch.ARMSP: frame})
		if size >= 8 {
			p.putWords(frame+232, vfp, 288)
		}
		w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(arch.ARM)))
		f := must(w.WalkSingleFrame(must(w.InitialFrame(1))))
		for r := arch.ARMD8; r <= arch.ARMD15; r++ {
			want := 8+8*uint64(8+r-arch.ARMD8+1) <= size
			if _, _, ok := f.Reg(r); ok != want {
				t.Errorf("%d bytes: %s is known: %v", size, arch.ARM.RegName(r), ok)
			}
		}
	}
	const fpsimd, extra, esr = 0x46508001, 0x45585401, 0x45535201
	head := func(magic, size uint64) uint64 { return magic | size<<32 }
	for _, c := range []struct {
		name  string
		there uint64 // bytes behind the first record's address; 0 for all
		words []uint64
		known int // of d8 to d15
	}{
		{"whole", 0, []uint64{head(fpsimd, 528)}, 8},
		{"half", 16 + 16*12, []uint64{head(fpsimd, 528)}, 4},
		{"none", 0, []uint64{head(esr, 16), 0, head(0, 0)}, 0},
		{"not there", 8, []uint64{head(esr, 16)}, 0},
		{"an address that is not there", 8, []uint64{head(extra, 32)}, 0},
		{"a size that is not there", 16, []uint64{head(extra, 32), foreignStack}, 0},
		{"too small", 0, []uint64{head(esr, 0), head(fpsimd, 528)}, 0},
		{"not a multiple", 0, []uint64{head(esr, 8), head(fpsimd, 528)}, 0},
		{"the end of the records", 0, append(append([]uint64{head(esr, 4096-592-16)}, make([]uint64, 5)...), head(fpsimd, 528)), 0},
	} {
		p := atSignal(arch.ARM64, codeOf("le d2801168 d4000001"), signalCode, 0)
		frame := uint64(signalFrame)
		if c.there != 0 {
			frame = foreignStack + foreignSize - 592 - c.there
			p.set(map[arch.Reg]uint64{arch.ARM64SP: frame})
		}
		p.putWords(frame+592, c.words...)
		w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(arch.ARM64)))
		f := must(w.WalkSingleFrame(must(w.InitialFrame(1))))
		known := 0
		for r := arch.ARM64D8; r <= arch.ARM64D15; r++ {
			if _, _, ok := f.Reg(r); ok {
				known++
			}
		}
		if known != c.known {
			t.Errorf("%s: %d vector registers are known, want %d", c.name, known, c.known)
		}
	}
}

// A system call of number 0 returns from no handler.
func TestNoRestorer(t *testing.T) {
	for a, code := range map[*arch.Arch]string{arch.MIPS64: "be 24020000 0000000c", arch.MIPSN32EL: "le 24020000 0000000c"} {
		p := atSignal(a, codeOf(code), signalCode, 0)
		w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(a)))
		if f, err := w.WalkSingleFrame(called(t, w, signalCode, signalFrame, 0)); !errors.Is(err, unwind.ErrNoStepper) {
			t.Errorf("%s: %v, %v", a.Name, f, err)
		}
	}
}

// Where frame pointers lead to, by architecture: to the record above, or from its end down.
func TestFrameRecords(t *testing.T) {
	const sp, fp = foreignStack + 0x100, foreignStack + 0x140
	for _, c := range []struct {
		a           *arch.Arch
		call        string // through a register
		ra, fp, cfa int64  // from the frame pointer
	}{
		{arch.X32, "ffd0", 8, 0, 16}, {arch.AMD64, "ffd0", 8, 0, 16}, {arch.X86, "ffd0", 4, 0, 8}, {arch.ARM64, "le d63f0000", 8, 0, 16},
		{arch.RISCV64, "le 000280e7", -8, -16, 0}, {arch.Loong64, "le 4c000181", -8, -16, 0}, {arch.M68K, "4e90", 4, 0, 8},
	} {
		code := codeOf(c.call)
		ra := uint64(foreignCode + 0x100 + len(code))
		p := withCode(c.a, code)
		put := func(at, v uint64) {
			if c.a.RegSize == 8 {
				c.a.ByteOrder.PutUint64(p.segs[1].data[at-foreignStack:], v)
			} else {
				c.a.ByteOrder.PutUint32(p.segs[1].data[at-foreignStack:], uint32(v))
			}
		}
		put(uint64(fp+c.ra), ra)
		put(uint64(fp+c.fp), fp+0x40)
		w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(c.a, nil)))
		in := called(t, w, ra, sp, fp)
		f, err := w.WalkSingleFrame(in)
		if err != nil || f.RA() != ra || f.FP() != fp+0x40 || f.SP() != uint64(fp+c.cfa) && c.a != arch.ARM64 {
			t.Errorf("%s: %v, %v; %q", c.a.Name, f, err, notes(in))
		}
	}
}
