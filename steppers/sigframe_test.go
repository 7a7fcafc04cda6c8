package steppers_test

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A layout is where a signal frame has each register, in bytes from its start.
type layout map[arch.Reg]uint64

// fields are registers of step bytes each, in the order of a structure at an offset.
func fields(at, step uint64, regs ...arch.Reg) layout {
	l := layout{}
	for i, r := range regs {
		l[r] = at + step*uint64(i)
	}
	return l
}

// words are n registers with numbers that follow each other.
func words(at, step uint64, first arch.Reg, n int) layout {
	l := layout{}
	for i := range n {
		l[first+arch.Reg(i)] = at + step*uint64(i)
	}
	return l
}

func join(parts ...layout) layout {
	l := layout{}
	for _, p := range parts {
		maps.Copy(l, p)
	}
	return l
}

// The structures that signal frames are made of. Offsets are of the frame's start; they
// were counted in the headers that the steppers' comments name.

// ucontextX86 is struct sigcontext_64 with the mask and the link before it: r8 is first.
func ucontextX86(at uint64) layout {
	return join(fields(at, 8, arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13, arch.R14, arch.R15, arch.RDI, arch.RSI,
		arch.RBP, arch.RBX, arch.RDX, arch.RAX, arch.RCX, arch.RSP, arch.RIP, arch.EFLAGS), layout{arch.CS: at + 144, arch.SS: at + 150})
}

// sigcontext32 is struct sigcontext_32: trapno and err are before eip, esp_at_signal before ss.
func sigcontext32(at uint64) layout {
	return join(fields(at, 4, arch.X86GS, arch.X86FS, arch.X86ES, arch.X86DS, arch.EDI, arch.ESI, arch.EBP, arch.ESP, arch.EBX, arch.EDX, arch.ECX, arch.EAX),
		fields(at+56, 4, arch.EIP, arch.X86CS, arch.X86EFLAGS), layout{arch.X86SS: at + 72})
}

func sigregsS390(at, word uint64) layout {
	return join(fields(at, word, arch.S390PSWM, arch.S390PC), words(at+2*word, word, arch.S390R0, 16),
		words(at+18*word, 4, arch.S390A0, 2), words(at+18*word+72, 8, arch.S390F0, 16))
}

func sigcontextMIPS64(at uint64) layout {
	return join(words(at+8, 8, arch.MIPSR0+1, 31), words(at+256+160, 8, arch.MIPSF20, 12), layout{arch.MIPSPC: at + 576})
}

// sigcontextO32 has fields of eight bytes, of which a register is the lower half.
func sigcontextO32(at, low uint64) layout {
	return join(layout{arch.MIPSPC: at + 8 + low}, words(at+24+low, 8, arch.MIPSR0+1, 31))
}

func ptRegsPPC(gregs, word, fregs uint64) layout {
	return join(words(gregs, word, arch.PPCR0, 39), words(fregs, 8, arch.PPCF14, 18))
}

var bsdAMD64 = map[string]layout{
	"FreeBSD": join(fields(40, 8, arch.RDI, arch.RSI, arch.RDX, arch.RCX, arch.R8, arch.R9, arch.RAX, arch.RBX, arch.RBP, arch.R10, arch.R11,
		arch.R12, arch.R13, arch.R14, arch.R15), layout{arch.FS: 164, arch.GS: 166, arch.ES: 180, arch.DS: 182},
		fields(192, 8, arch.RIP, arch.CS, arch.EFLAGS, arch.RSP, arch.SS)),
	"OpenBSD": join(fields(0, 8, arch.RDI, arch.RSI, arch.RDX, arch.RCX, arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13, arch.R14,
		arch.R15, arch.RBP, arch.RBX, arch.RAX, arch.GS, arch.FS, arch.ES, arch.DS), fields(168, 8, arch.RIP, arch.CS, arch.EFLAGS, arch.RSP, arch.SS)),
}

var (
	contextARM64  = words(128+176+8, 8, arch.ARM64X0, 34)
	contextRISCV  = join(layout{arch.RISCVPC: 304}, words(312, 8, arch.RISCVRA, 31), words(624, 8, arch.RISCVFS0, 2), words(704, 8, arch.RISCVFS0+2, 10))
	contextLoong  = join(layout{arch.LoongPC: 304}, words(320, 8, arch.LoongRA, 31))
	contextSPARC  = join(words(0, 8, arch.SPARCL0, 16), words(328, 8, arch.SPARCG0+1, 15), fields(448, 8, arch.SPARCTSt, arch.SPARCPC, arch.SPARCNPC, arch.SPARCY))
	contextM68K   = join(words(24, 4, arch.M68KD0, 17), layout{arch.M68KSR: 92})
	oldM68K       = join(fields(4, 4, arch.M68KSP, arch.M68KD0, arch.M68KD0+1, arch.M68KA0, arch.M68KA0+1, arch.M68KSR), layout{arch.M68KPC: 26})
	contextX86BSD = join(fields(52, 4, arch.X86GS, arch.X86FS, arch.X86ES, arch.X86DS, arch.EDI, arch.ESI, arch.EBP),
		fields(84, 4, arch.EBX, arch.EDX, arch.ECX, arch.EAX), fields(108, 4, arch.EIP, arch.X86CS, arch.X86EFLAGS, arch.ESP, arch.X86SS))
)

const noSignal = -1

// optional are the architectures whose kernel writes a siginfo only for handlers that asked for one, into frames of one
// layout.
var optional = map[*arch.Arch]bool{arch.AMD64: true, arch.X32: true, arch.ARM64: true}

// A halt is an instruction of a restorer: how many bytes from its start, and how many the
// restorer has taken off the stack by then.
type halt struct{ at, popped uint64 }

// flatX86 are the registers that Linux neither saves nor changes for a handler.
var flatX86 = []arch.Reg{arch.FSBase, arch.GSBase, arch.DS, arch.ES, arch.FS, arch.GS}

// restorers are the codes to which signal handlers return, as they are in memory; "be" and
// "le" before words of 32 bits.
var restorers = []struct {
	name   string
	a      *arch.Arch
	code   string
	halts  []halt
	frame  layout
	signal int
	kept   []arch.Reg
}{
	{"glibc", arch.AMD64, "48c7c00f000000 0f05", []halt{{0, 0}, {7, 0}}, ucontextX86(40), 304, flatX86},
	{"short", arch.AMD64, "b80f000000 0f05", []halt{{0, 0}, {5, 0}}, ucontextX86(40), 304, flatX86},
	{"FreeBSD", arch.AMD64, "488d7c2410 6a00 48c7c0a1010000 0f05", []halt{{0, 0}, {5, 0}}, bsdAMD64["FreeBSD"], noSignal, []arch.Reg{arch.FSBase, arch.GSBase}},
	{"OpenBSD", arch.AMD64, "4889e7 57 48c7c067000000 0f05", []halt{{0, 0}, {3, 0}}, bsdAMD64["OpenBSD"], noSignal, []arch.Reg{arch.FSBase, arch.GSBase}},
	{"glibc", arch.X32, "48c7c001020040 0f05", []halt{{0, 0}, {7, 0}}, ucontextX86(24), 288, flatX86},
	{"short", arch.X32, "b801020040 0f05", []halt{{0, 0}, {5, 0}}, ucontextX86(24), 288, flatX86},
	{"rt", arch.X86, "b8ad000000 cd80", []halt{{0, 0}, {5, 0}}, sigcontext32(160), 0, []arch.Reg{arch.X86FSBase, arch.X86GSBase}},
	{"old", arch.X86, "58 b877000000 cd80", []halt{{0, 0}, {1, 4}, {6, 4}}, sigcontext32(4), 0, []arch.Reg{arch.X86FSBase, arch.X86GSBase}},
	{"FreeBSD", arch.X86, "8d442420 50 f7405400000200", []halt{{0, 0}, {4, 0}}, contextX86BSD, 0, []arch.Reg{arch.X86FSBase, arch.X86GSBase}},
	{"vDSO", arch.ARM64, "le d2801168 d4000001", []halt{{0, 0}, {4, 0}}, contextARM64, 0, nil},
	{"A32, kernel", arch.ARM, "le e3a070ad ef9000ad", []halt{{0, 0}, {4, 0}}, words(160, 4, arch.ARMR0, 17), 0, nil},
	{"A32, musl", arch.ARM, "le e3a070ad ef000000", []halt{{0, 0}, {4, 0}}, words(160, 4, arch.ARMR0, 17), 0, nil},
	{"T32, kernel", arch.ARM, "ad27 00df", []halt{{0, 0}, {2, 0}}, words(160, 4, arch.ARMR0, 17), 0, nil},
	{"T32, glibc", arch.ARM, "4ff0ad07 00df", []halt{{0, 0}, {4, 0}}, words(160, 4, arch.ARMR0, 17), 0, nil},
	{"A32, kernel, old", arch.ARM, "le e3a07077 ef900077", []halt{{0, 0}, {4, 0}}, words(32, 4, arch.ARMR0, 17), noSignal, nil},
	{"A32, musl, old", arch.ARM, "le e3a07077 ef000000", []halt{{0, 0}, {4, 0}}, words(32, 4, arch.ARMR0, 17), noSignal, nil},
	{"T32, kernel, old", arch.ARM, "7727 00df", []halt{{0, 0}, {2, 0}}, words(32, 4, arch.ARMR0, 17), noSignal, nil},
	{"T32, glibc, old", arch.ARM, "4ff07707 00df", []halt{{0, 0}, {4, 0}}, words(32, 4, arch.ARMR0, 17), noSignal, nil},
	{"vDSO", arch.PPC64LE, "le 38210080 380000ac 44000002", []halt{{0, 0}, {4, 128}, {8, 128}}, ptRegsPPC(360, 8, 744+112), 328, nil},
	{"vDSO", arch.PPC64, "be 38210080 380000ac 44000002", []halt{{0, 0}, {4, 128}, {8, 128}}, ptRegsPPC(360, 8, 744+112), 328, nil},
	{"qemu", arch.PPC64, "be 380000ac 44000002", []halt{{0, 0}, {4, 0}}, ptRegsPPC(376, 8, 760+112), 344, nil},
	{"rt", arch.PPC, "be 380000ac 44000002", []halt{{0, 0}, {4, 0}}, ptRegsPPC(400, 4, 592+112), 80, nil},
	{"old", arch.PPC, "be 38000077 44000002", []halt{{0, 0}, {4, 0}}, ptRegsPPC(96, 4, 288+112), 80, nil},
	{"vDSO", arch.RISCV64, "le 08b00893 00000073", []halt{{0, 0}, {4, 0}}, contextRISCV, 0, nil},
	{"vDSO", arch.Loong64, "le 03822c0b 002b0000", []halt{{0, 0}, {4, 0}}, contextLoong, 0, nil},
	{"addi.w", arch.Loong64, "le 02822c0b 002b0000", []halt{{0, 0}, {4, 0}}, contextLoong, 0, nil},
	{"rt", arch.S390X, "0aad", []halt{{0, 0}}, sigregsS390(336, 8), 168, nil},
	{"old", arch.S390X, "0a77", []halt{{0, 0}}, sigregsS390(176, 8), 520, nil},
	{"rt", arch.S390, "0aad", []halt{{0, 0}}, sigregsS390(256, 4), 100, nil},
	{"old", arch.S390, "0a77", []halt{{0, 0}}, sigregsS390(112, 4), 384, nil},
	{"rt", arch.MIPS, "be 24021061 0000000c", []halt{{0, 0}, {4, 0}}, sigcontextO32(176, 4), 24, nil},
	{"old", arch.MIPS, "be 24021017 0000000c", []halt{{0, 0}, {4, 0}}, sigcontextO32(24, 4), noSignal, nil},
	{"rt", arch.MIPSEL, "le 24021061 0000000c", []halt{{0, 0}, {4, 0}}, sigcontextO32(176, 0), 24, nil},
	{"old", arch.MIPSEL, "le 24021017 0000000c", []halt{{0, 0}, {4, 0}}, sigcontextO32(24, 0), noSignal, nil},
	{"rt", arch.MIPSN32, "be 24021843 0000000c", []halt{{0, 0}, {4, 0}}, sigcontextMIPS64(176), 24, nil},
	{"rt", arch.MIPSN32EL, "le 24021843 0000000c", []halt{{0, 0}, {4, 0}}, sigcontextMIPS64(176), 24, nil},
	{"rt", arch.MIPS64, "be 2402145b 0000000c", []halt{{0, 0}, {4, 0}}, sigcontextMIPS64(192), 24, nil},
	{"rt", arch.MIPS64EL, "le 2402145b 0000000c", []halt{{0, 0}, {4, 0}}, sigcontextMIPS64(192), 24, nil},
	{"glibc", arch.SPARC64, "be 82102065 91d0206d", []halt{{0, 0}, {4, 0}}, contextSPARC, 192, nil},
	{"kernel, rt", arch.M68K, "7052 4600 4e40", []halt{{0, 0}, {2, 0}, {4, 0}}, contextM68K, 0, nil},
	{"qemu, rt", arch.M68K, "203c000000ad 4e40", []halt{{0, 0}, {6, 0}}, contextM68K, 0, nil},
	{"kernel", arch.M68K, "7077 4e40", []halt{{0, 0}, {2, 0}}, oldM68K, 0, []arch.Reg{2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14}},
	{"rt", arch.Alpha, "le 47fe0410 201f015f 00000083", []halt{{0, 0}, {4, 0}, {8, 0}}, join(layout{arch.AlphaPC: 192}, words(208, 8, arch.AlphaR0, 31)), 0, []arch.Reg{arch.AlphaUnique}},
	{"old", arch.Alpha, "le 47fe0410 201f0067 00000083", []halt{{0, 0}, {4, 0}, {8, 0}}, join(layout{arch.AlphaPC: 16}, words(32, 8, arch.AlphaR0, 31)), noSignal, []arch.Reg{arch.AlphaUnique}},
}

// sizeIn is how many bytes of a signal frame are the register.
func sizeIn(a *arch.Arch, frame string, r arch.Reg) int {
	segments := []arch.Reg{arch.CS, arch.SS}
	switch {
	case a.Family == arch.FamilyX86 && a.RegSize == 4:
		segments = []arch.Reg{arch.X86GS, arch.X86FS, arch.X86ES, arch.X86DS, arch.X86CS, arch.X86SS}
	case frame == "FreeBSD":
		segments = []arch.Reg{arch.FS, arch.GS, arch.ES, arch.DS}
	case frame == "OpenBSD":
		segments = nil
	case a.Family != arch.FamilyX86:
		segments = nil
	}
	switch {
	case slices.Contains(segments, r), a == arch.M68K && frame == "kernel" && r == arch.M68KSR:
		return 2
	case (a == arch.S390X || a == arch.S390) && (r == arch.S390A0 || r == arch.S390A0+1), a == arch.SPARC64 && r == arch.SPARCY:
		return 4
	case a == arch.S390 && r >= arch.S390F0, a == arch.PPC && r >= arch.PPCF14:
		return 8
	}
	return a.RegSize
}

// codeOf is code as it is in memory.
func codeOf(text string) []byte {
	bytes := must(hex.DecodeString(strings.NewReplacer("le", "", "be", "", " ", "").Replace(text)))
	if strings.HasPrefix(text, "le ") {
		for i := 0; i+4 <= len(bytes); i += 4 {
			bytes[i], bytes[i+1], bytes[i+2], bytes[i+3] = bytes[i+3], bytes[i+2], bytes[i+1], bytes[i]
		}
	}
	return bytes
}

const (
	signalCode  = foreignCode + 0x100
	signalFrame = foreignStack + 0x200
	m68kContext = 0x100 // from the frame on
)

// atSignal is a process in a restorer, with a signal frame of words that are all
// different, and values in all registers.
func atSignal(a *arch.Arch, code []byte, pc, popped uint64) otherProc {
	p := newForeign(a, nil)
	copy(p.segs[0].data[signalCode-foreignCode:], code)
	for i := range p.segs[1].data { // so that as many bytes from anywhere else are another value
		p.segs[1].data[i] = byte(i*0x53 + i>>8*0x1d)
	}
	if a == arch.M68K {
		p.putWords(signalFrame+8, signalFrame+m68kContext)
	}
	for r := range a.NumRegs() {
		p.regs.Set(arch.Reg(r), 0)
	}
	p.set(map[arch.Reg]uint64{a.PC: pc, a.SP: signalFrame + popped - a.StackBias})
	return p
}

// Every register that the kernel saves is restored from its place, and no other.
func TestRestorers(t *testing.T) {
	for _, c := range restorers {
		t.Run(c.a.Name+", "+c.name, func(t *testing.T) {
			base := uint64(signalFrame)
			if c.a == arch.M68K {
				base += m68kContext
			}
			for _, h := range c.halts {
				p := atSignal(c.a, codeOf(c.code), signalCode+h.at, h.popped)
				if c.signal != noSignal {
					p.a.ByteOrder.PutUint32(p.segs[1].data[signalFrame-foreignStack+uint64(c.signal):], 12)
				} else {
					for _, at := range []int{0, -1} { // nowhere
						p.a.ByteOrder.PutUint32(p.segs[1].data[signalFrame-foreignStack+at:], 12)
					}
				}
				w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(c.a)))
				in := must(w.InitialFrame(1))
				f, err := w.WalkSingleFrame(in)
				if err != nil {
					t.Fatal(err, notes(in))
				}
				kept := map[arch.Reg]bool{}
				for _, r := range c.kept {
					kept[r] = true
				}
				for n := range c.a.NumRegs() {
					r := arch.Reg(n)
					v, loc, ok := f.Reg(r)
					off, saved := c.frame[r]
					there := must(c.a.ReadUint(p, base+off, sizeIn(c.a, c.name, r)))
					if r == c.a.PC {
						there = w.CodeAddress(there)
					}
					switch {
					case saved && v != there:
						t.Errorf("at %d: %s is %#x; its place has %#x", h.at, c.a.RegName(r), v, there)
					case r == c.a.Mode && c.a.Mode != arch.NoReg: // a bit of another
					case saved && (!ok || loc != unwind.AtAddress(base+off)):
						t.Errorf("at %d: %s is at %s (%v); want %#x", h.at, c.a.RegName(r), loc.Describe(c.a), ok, base+off)
					case !saved && ok != kept[r]:
						t.Errorf("at %d: %s, which the frame has not, is known: %v, at %s", h.at, c.a.RegName(r), ok, loc.Describe(c.a))
					}
				}
				if s, ok := steppers.SignalAt(in); !ok || (s.Number == 12) != (c.signal != noSignal) || s.SP != in.SP()-h.popped || s.Sure == (optional[c.a] && c.signal != noSignal) {
					t.Errorf("at %d: %+v, %v", h.at, s, ok)
				}
			}
		})
	}
}

// Code that differs in any byte is no restorer, nor are other places in one.
func TestNearlyRestorers(t *testing.T) {
	step := map[arch.Family]int{arch.FamilyX86: 1}
	for _, c := range restorers {
		code := codeOf(c.code)
		found := func(code []byte, at uint64, top bool) bool {
			p := atSignal(c.a, code, signalCode+at, 0)
			w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(c.a)))
			in := called(t, w, signalCode+at, signalFrame-c.a.StackBias, 0)
			if top {
				in = must(w.InitialFrame(1))
			}
			_, err := w.WalkSingleFrame(in)
			return err == nil
		}
		if !found(code, 0, false) {
			t.Errorf("%s, %s: not found where a handler returns to", c.a.Name, c.name)
		}
		for i := range code {
			other := append([]byte(nil), code...)
			other[i] ^= 0x80
			if found(other, 0, false) || found(other, 0, true) {
				t.Errorf("%s, %s: found although byte %d differs", c.a.Name, c.name, i)
			}
		}
		halts := map[uint64]bool{}
		for _, h := range c.halts {
			halts[h.at] = true
		}
		for at := 0; at <= len(code); at += max(step[c.a.Family], 1) {
			if found(code, uint64(at), true) && !halts[uint64(at)] {
				t.Errorf("%s, %s: found at byte %d", c.a.Name, c.name, at)
			}
			ppcQemu := strings.HasPrefix(c.a.Name, "ppc64") && at == 4 && len(code) == 12 // begins there too
			if at != 0 && found(code, uint64(at), false) && !ppcQemu {
				t.Errorf("%s, %s: a handler returns to byte %d", c.a.Name, c.name, at)
			}
		}
	}
}

// Numbers of signals are 1 to 127, of a frame that is a trampoline's.
func TestSignalNumbers(t *testing.T) {
	for n, want := range map[uint32]bool{0: false, 1: true, 64: true, 127: true, 128: false, 1 << 31: false} {
		p := atSignal(arch.ARM64, codeOf("le d2801168 d4000001"), signalCode, 0)
		p.a.ByteOrder.PutUint32(p.segs[1].data[signalFrame-foreignStack:], n)
		w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(arch.ARM64)))
		in := must(w.InitialFrame(1))
		if _, ok := steppers.SignalAt(in); ok {
			t.Error("a signal before the frame is known to be a trampoline's")
		}
		must(w.WalkSingleFrame(in))
		if got, ok := steppers.SignalAt(in); !ok || (got.Number != 0) != want || want && got.Number != int(n) {
			t.Errorf("%d: %+v, %v", n, got, ok)
		}
	}
}

// Vector registers are in records behind the general registers, or in further ones that
// one of them leads to (arm64); others may precede.
func TestVectorRecords(t *testing.T) {
	const fpsimd, extra, esr = 0x46508001, 0x45585401, 0x45535201
	const records, further = signalFrame + 592, foreignStack + 0xa00
	head := func(magic, size uint64) uint64 { return magic | size<<32 }
	for _, c := range []struct {
		name  string
		words map[uint64][]uint64
		at    uint64 // of v0; 0 for none
	}{
		{"first", map[uint64][]uint64{records: {head(fpsimd, 528)}}, records + 16},
		{"behind another", map[uint64][]uint64{records: {head(esr, 16), 0, head(fpsimd, 528)}}, records + 32},
		{"at the end", map[uint64][]uint64{records: {0, 0, head(fpsimd, 528)}}, 0},
		{"behind one of a size that is none", map[uint64][]uint64{records: {head(esr, 24), 0, 0, head(fpsimd, 528)}}, 0},
		{"elsewhere", map[uint64][]uint64{records: {head(extra, 32), further, 0x100}, further: {head(esr, 16), 0, head(fpsimd, 528)}}, further + 32},
		{"elsewhere, beyond its end", map[uint64][]uint64{records: {head(extra, 32), further, 16}, further: {head(esr, 16), 0, head(fpsimd, 528)}}, 0},
		{"elsewhere, nowhere", map[uint64][]uint64{records: {head(extra, 32), 0x10, 16}}, 0},
		{"elsewhere, here", map[uint64][]uint64{records: {head(extra, 32), records, 0x1000}}, 0},
	} {
		p := atSignal(arch.ARM64, codeOf("le d2801168 d4000001"), signalCode, 0)
		for at, w := range c.words {
			p.putWords(at, w...)
		}
		w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(arch.ARM64)))
		f := must(w.WalkSingleFrame(must(w.InitialFrame(1))))
		for i := range arch.Reg(8) {
			_, loc, ok := f.Reg(arch.ARM64D8 + i)
			if ok != (c.at != 0) || ok && loc != unwind.AtAddress(c.at+16*uint64(8+i)) {
				t.Errorf("%s: d%d: %v, at %s", c.name, 8+i, ok, loc.Describe(arch.ARM64))
			}
		}
	}
}

func TestVectorRecordsARM(t *testing.T) {
	const vfp, iwmmxt = 0x56465001, 0x12ef842a
	for _, c := range []struct {
		name    string
		code    string
		records uint64
		words   []uint64
		at      uint64 // of d0, from the first record; 0 for none
	}{
		{"rt", "le e3a070ad ef9000ad", 128 + 232, []uint64{vfp, 288}, 8},
		{"old", "le e3a07077 ef900077", 232, []uint64{vfp, 288}, 8},
		{"behind another", "le e3a07077 ef900077", 232, []uint64{iwmmxt, 16, 0, 0, vfp, 288}, 24},
		{"behind the smallest", "le e3a07077 ef900077", 232, []uint64{iwmmxt, 8, vfp, 288}, 16},
		{"behind one too small", "le e3a07077 ef900077", 232, []uint64{iwmmxt, 4, vfp, 288}, 0},
		{"behind the largest", "le e3a07077 ef900077", 232, append(append([]uint64{iwmmxt, 512}, make([]uint64, 126)...), vfp, 288), 0},
		{"at the end", "le e3a07077 ef900077", 232, []uint64{0, 0, vfp, 288}, 0},
	} {
		p := atSignal(arch.ARM, codeOf(c.code), signalCode, 0)
		p.putWords(signalFrame+c.records, c.words...)
		w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(arch.ARM)))
		f := must(w.WalkSingleFrame(must(w.InitialFrame(1))))
		for i := range arch.Reg(8) {
			_, loc, ok := f.Reg(arch.ARMD8 + i)
			if ok != (c.at != 0) || ok && loc != unwind.AtAddress(signalFrame+c.records+c.at+8*uint64(8+i)) {
				t.Errorf("%s: d%d: %v, at %s", c.name, 8+i, ok, loc.Describe(arch.ARM))
			}
		}
	}
}

// The instruction set of what was interrupted is a bit of its status register.
func TestSignalFrameRestoresMode(t *testing.T) {
	for cpsr, thumb := range map[uint32]uint64{0x10: 0, 0x30: 1, 0x20: 1, 0xffffffdf: 0} {
		p := atSignal(arch.ARM, codeOf("ad27 00df"), signalCode, 0)
		p.putWords(signalFrame+160+64, uint64(cpsr))
		w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(arch.ARM)))
		f := must(w.WalkSingleFrame(must(w.InitialFrame(1))))
		if v, _, ok := f.Reg(arch.ARM.Mode); !ok || v != thumb {
			t.Errorf("CPSR %#x: %d, %v; want %d", cpsr, v, ok, thumb)
		}
	}
}
