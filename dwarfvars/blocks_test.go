package dwarfvars

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// noise returns n bytes, of which no eight are alike: they tell their place.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{})
	r.Read(b)
	return b
}

// placeIn says where in block some bytes come from: "160:16", "160:16 576:16" for two places.
func placeIn(block, b []byte) string {
	if at := bytes.Index(block, b); at >= 0 {
		return fmt.Sprintf("%d:%d", at, len(b))
	}
	if half := len(b) / 2; half >= 4 {
		return placeIn(block, b[:half]) + " " + placeIn(block, b[half:])
	}
	return "?"
}

// TestRegisterBanks: which register a number means, and which bytes of a note it is. Each bank
// has its first and last number here, and the numbers around them.
func TestRegisterBanks(t *testing.T) {
	for _, c := range []struct {
		arch  *arch.Arch
		note  note
		bytes int // of the note
		want  string
	}{
		{arch.AMD64, noteFP, 512, "17 xmm0 160:16; 18 xmm1 176:16; 32 xmm15 400:16; 33 st0 32:10; 40 st7 144:10; 41 mm0 32:8; 48 mm7 144:8; 49 eflags -; 66 register 66 -; 67 xmm16 -; 82 xmm31 -; 83 register 83 -"},
		{arch.AMD64, noteFP, 511, "17 xmm0 -; 33 st0 -"},
		{arch.AMD64, noteXState, 512, "17 xmm0 160:16; 40 st7 144:10"},
		{arch.AMD64, noteXState, 832, "17 xmm0 160:16 576:16; 32 xmm15 400:16 816:16"},
		{arch.AMD64, noteXState, 831, "31 xmm14 384:16 800:16; 32 xmm15 400:16"},
		{arch.AMD64, noteXState, 833, "17 xmm0 160:16; 32 xmm15 400:16"}, // the upper halves are not in use
		{arch.X86, notePRXFP, 512, "10 register 10 -; 11 st0 32:10; 18 st7 144:10; 19 register 19 -; 20 register 20 -; 21 xmm0 160:16; 28 xmm7 272:16; 29 mm0 32:8; 36 mm7 144:8; 37 register 37 -"},
		{arch.X86, noteXState, 512, "11 st0 32:10; 28 xmm7 272:16"},
		{arch.X86, noteFP, 512, "11 st0 32:10; 18 st7 144:10; 21 xmm0 160:16; 29 mm0 32:8"},
		{arch.X86, noteFP, 511, "11 st0 28:10; 18 st7 98:10; 21 xmm0 -; 29 mm0 -"},
		{arch.X86, noteFP, 108, "11 st0 28:10; 18 st7 98:10; 21 xmm0 -; 29 mm0 -"},
		{arch.X86, noteFP, 107, "17 st6 88:10; 18 st7 -"},
		{arch.ARM64, noteFP, 512, "63 register 63 -; 64 v0 0:16; 95 v31 496:16; 96 register 96 -"},
		{arch.ARM, noteARMVFP, 256, "63 register 63 -; 64 s0 0:4; 65 s1 4:4; 95 s31 124:4; 96 register 96 -; 255 register 255 -; 256 d0 0:8; 287 d31 248:8; 288 register 288 -"},
		{arch.ARM, noteARMVFP, 127, "93 s29 116:4; 94 s30 -; 95 s31 -"},
		{arch.PPC64, noteFP, 256, "32 f0 0:8; 63 f31 248:8; 64 cr -"},
		{arch.PPC64, notePPCVMX, 512, "76 xer -; 77 vr0 0:16; 108 vr31 496:16; 109 ctr -; 1123 register 1123 -; 1124 vr0 0:16; 1155 vr31 496:16; 1156 register 1156 -"},
		{arch.PPC, noteFP, 256, "31 r31 -; 32 f0 0:8; 63 f31 248:8; 64 cr -"},
		{arch.PPC, notePPCVMX, 512, "77 register 77 -; 1123 register 1123 -; 1124 vr0 0:16; 1155 vr31 496:16; 1156 register 1156 -"},
		{arch.S390X, noteFP, 136, "15 r15 -; 16 f0 8:8; 17 f2 24:8; 18 f4 40:8; 19 f6 56:8; 20 f1 16:8; 21 f3 32:8; 22 f5 48:8; 23 f7 64:8; 24 f8 72:8; 25 f10 88:8; 26 f12 104:8; 27 f14 120:8; 28 f9 80:8; 29 f11 96:8; 30 f13 112:8; 31 f15 128:8; 32 register 32 -"},
		{arch.S390X, noteS390High, 256, "67 register 67 -; 68 v16 0:16; 69 v18 32:16; 83 v31 240:16; 84 register 84 -"},
		{arch.S390, noteFP, 136, "16 f0 8:8; 31 f15 128:8; 68 register 68 -"},
		{arch.MIPS64, noteFP, 256, "31 ra -; 32 f0 0:8; 63 f31 248:8; 64 hi -"},
		{arch.MIPS, noteFP, 256, "31 ra -; 32 f0 4:4; 33 f1 0:4; 34 f2 20:4; 35 f3 16:4; 62 f30 244:4; 63 f31 240:4; 64 hi -"},
		{arch.MIPSEL, noteFP, 256, "32 f0 0:4; 33 f1 4:4; 63 f31 244:4"},
		{arch.RISCV64, noteFP, 256, "31 t6 -; 32 f0 0:8; 63 f31 248:8; 64 register 64 -"},
		{arch.Loong64, noteFP, 256, "31 s8 -; 32 f0 0:8; 63 f31 248:8; 64 register 64 -"},
		{arch.SPARC64, noteFP, 256, "32 register 32 -"},
	} {
		p := newHand(c.arch, 8)
		block := noise(c.bytes)
		if c.note == noteXState && c.bytes > fxSize {
			block[fxSize] = 4 // the upper halves are in use
			if c.bytes == 833 {
				block[fxSize] = 3
			}
		}
		p.notes[c.note] = block
		if status, ok := c.arch.RegByName("status"); ok {
			p.regs.Set(status, 0)
		}
		r := New(p, nil)
		a := r.activation(&Function{r: r, fn: dwarf.Func{}}, p.walk(t), 0)
		var got []string
		for row := range strings.SplitSeq(c.want, "; ") {
			var n uint64
			fmt.Sscan(row, &n)
			where := "-"
			if raw, _, ok := a.e.vector(n); ok {
				where = placeIn(block, raw)
			}
			got = append(got, fmt.Sprint(n, " ", r.regName(n), " ", where))
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%s, note %#x of %d bytes:\n%s\nwant\n%s", c.arch.Name, uint32(c.note), c.bytes, got, c.want)
		}
	}
}

// TestSignalFrames: which bytes of a signal frame are the note's registers. The memory ends with
// the last byte that is needed; with one byte less nothing is known.
func TestSignalFrames(t *testing.T) {
	const sp = handBase
	word := func(at, size int, v uint64) func(*handProcess) {
		return func(p *handProcess) { p.put(sp+uint64(at), size, v) }
	}
	fp := func(at, size int, v uint64) []func(*handProcess) { return []func(*handProcess){word(at, size, v)} }
	all := func(list ...[]func(*handProcess)) (out []func(*handProcess)) {
		for _, l := range list {
			out = append(out, l...)
		}
		return out
	}
	xsave := func(at, size int) []func(*handProcess) {
		return all(fp(at+464, 4, fpMagic), fp(at+480, 4, uint64(size)), fp(at+size, 4, fpMagicEnd))
	}
	for _, c := range []struct {
		name string
		arch *arch.Arch
		note note
		fill []func(*handProcess)
		mem  int    // bytes of memory from the stack pointer
		want string // offset and size; "" for nothing
	}{
		{"FXSAVE", arch.AMD64, noteFP, fp(224, 8, sp+256), 768, "256:512"},
		{"no state", arch.AMD64, noteFP, fp(224, 8, 0), 768, ""},
		{"XSAVE", arch.AMD64, noteXState, all(fp(224, 8, sp+256), xsave(256, 832)), 256 + 836, "256:832"},
		{"XSAVE of the smallest size", arch.AMD64, noteXState, all(fp(224, 8, sp+256), xsave(256, 513)), 256 + 517, "256:513"},
		{"XSAVE without anything", arch.AMD64, noteXState, all(fp(224, 8, sp+256), xsave(256, 512)), 256 + 516, ""},
		{"XSAVE of the largest size", arch.AMD64, noteXState, all(fp(224, 8, sp+256), xsave(256, 1<<14)), 256 + 1<<14 + 4, "256:16384"},
		{"XSAVE too large", arch.AMD64, noteXState, all(fp(224, 8, sp+256), xsave(256, 1<<14+1)), 256 + 1<<14 + 5, ""},
		{"XSAVE without its first mark", arch.AMD64, noteXState, all(fp(224, 8, sp+256), xsave(256, 832), fp(256+464, 4, 0)), 256 + 836, ""},
		{"XSAVE without its last mark", arch.AMD64, noteXState, all(fp(224, 8, sp+256), xsave(256, 832), fp(256+832, 4, 0)), 256 + 836, ""},
		{"another note", arch.AMD64, noteARMVFP, all(fp(224, 8, sp+256), xsave(256, 832)), 256 + 836, ""},
		{"without siginfo", arch.X86, noteFP, fp(80, 4, sp+256), 256 + 112, "256:112"},
		{"with siginfo", arch.X86, noteFP, all(fp(4, 4, sp+12), fp(8, 4, sp+140), fp(236, 4, sp+256)), 256 + 112, "256:112"},
		{"with half of siginfo", arch.X86, noteFP, all(fp(4, 4, sp+12), fp(8, 4, 0), fp(80, 4, sp+240), fp(236, 4, sp+256)), 240 + 112, "240:112"},
		{"with the other half", arch.X86, noteFP, all(fp(4, 4, 0), fp(8, 4, sp+140), fp(80, 4, sp+240), fp(236, 4, sp+256)), 240 + 112, "240:112"},
		{"no state", arch.X86, noteFP, fp(80, 4, 0), 512, ""},
		{"FXSAVE behind FSAVE", arch.X86, notePRXFP, all(fp(80, 4, sp+256), fp(256+108, 4, 0x0000ffff)), 256 + 112 + 512, "368:512"},
		{"FSAVE only", arch.X86, notePRXFP, all(fp(80, 4, sp+256), fp(256+108, 4, 0xffff0000)), 1024, ""},
		{"XSAVE behind FSAVE", arch.X86, noteXState, all(fp(80, 4, sp+256), fp(256+108, 4, 0), xsave(368, 832)), 368 + 836, "368:832"},
		{"the first record", arch.ARM64, noteFP, fp(592, 4, 0x46508001), 592 + 528, "608:512"},
		{"behind a record", arch.ARM64, noteFP, all(fp(592, 4, 1), fp(596, 4, 8), fp(600, 4, 0x46508001)), 600 + 528, "616:512"},
		{"behind a record that is too small", arch.ARM64, noteFP, all(fp(592, 4, 1), fp(596, 4, 7), fp(600, 4, 0x46508001)), 600 + 528, ""},
		{"behind a record of nothing", arch.ARM64, noteFP, all(fp(592, 4, 1), fp(596, 4, 0)), 600, ""},
		{"behind the largest record", arch.ARM64, noteFP, all(fp(592, 4, 1), fp(596, 4, 4096-8), fp(592+4096-8, 4, 0x46508001)), 592 + 4096 - 8 + 528, "4696:512"},
		{"behind a record to the end", arch.ARM64, noteFP, all(fp(592, 4, 1), fp(596, 4, 4096), fp(592+4096, 4, 0x46508001)), 592 + 4096 + 528, ""},
		{"behind a record beyond the end", arch.ARM64, noteFP, all(fp(592, 4, 1), fp(596, 4, 4097), fp(592+4097, 4, 0x46508001)), 592 + 4097 + 528, ""},
		{"another note", arch.ARM64, noteARMVFP, fp(592, 4, 0x46508001), 592 + 528, ""},
		{"with siginfo", arch.ARM, noteARMVFP, all(fp(0, 4, 0), fp(232, 4, 0), fp(360, 4, 0x56465001)), 360 + 264, "368:256"},
		{"without siginfo", arch.ARM, noteARMVFP, all(fp(0, 4, 0x5ac3c35a), fp(232, 4, 0x56465001)), 232 + 264, "240:256"},
		{"without siginfo, behind a record", arch.ARM, noteARMVFP, all(fp(0, 4, 0x5ac3c35a), fp(232, 4, 1), fp(236, 4, 8), fp(240, 4, 0x56465001)), 240 + 264, "248:256"},
		{"without siginfo and mark", arch.ARM, noteARMVFP, all(fp(0, 4, 0), fp(232, 4, 0x56465001)), 232 + 264, "240:256"},
		{"behind a record that is too small", arch.ARM, noteARMVFP, all(fp(0, 4, 0x5ac3c35a), fp(232, 4, 1), fp(236, 4, 7), fp(240, 4, 0x56465001)), 240 + 264, ""},
		{"behind a record of nothing", arch.ARM, noteARMVFP, all(fp(0, 4, 0x5ac3c35a), fp(232, 4, 1), fp(236, 4, 0)), 300, ""},
		{"behind the largest record", arch.ARM, noteARMVFP, all(fp(0, 4, 0x5ac3c35a), fp(232, 4, 1), fp(236, 4, 504), fp(736, 4, 0x56465001)), 736 + 264, "744:256"},
		{"behind a record to the end", arch.ARM, noteARMVFP, all(fp(0, 4, 0x5ac3c35a), fp(232, 4, 1), fp(236, 4, 512), fp(744, 4, 0x56465001)), 744 + 264, ""},
		{"behind a record beyond the end", arch.ARM, noteARMVFP, all(fp(0, 4, 0x5ac3c35a), fp(232, 4, 1), fp(236, 4, 513), fp(745, 4, 0x56465001)), 745 + 264, ""},
		{"another note", arch.ARM, noteFP, all(fp(0, 4, 0x5ac3c35a), fp(232, 4, 0x56465001)), 232 + 264, ""},
		{"the kernel's", arch.PPC64, noteFP, fp(352, 8, sp+360), 744 + 264, "744:264"},
		{"qemu's", arch.PPC64, noteFP, all(fp(352, 8, 0), fp(368, 8, sp+376)), 760 + 264, "760:264"},
		{"neither", arch.PPC64, noteFP, fp(352, 8, sp+361), 1100, ""},
		{"vectors", arch.PPC64, notePPCVMX, all(fp(352, 8, sp+360), fp(1008, 8, sp+1016)), 1016 + 512, "1016:512"},
		{"no vectors", arch.PPC64, notePPCVMX, all(fp(352, 8, sp+360), fp(1008, 8, 0)), 1600, ""},
		{"another note", arch.PPC64, noteXState, fp(352, 8, sp+360), 1600, ""},
		{"with siginfo", arch.PPC, noteFP, fp(256, 4, sp+400), 592 + 264, "592:264"},
		{"without siginfo", arch.PPC, noteFP, all(fp(256, 4, 0), fp(92, 4, sp+96)), 288 + 264, "288:264"},
		{"neither", arch.PPC, noteFP, all(fp(256, 4, sp+401), fp(92, 4, sp+97)), 900, ""},
		{"another note", arch.PPC, noteXState, fp(256, 4, sp+400), 900, ""},
		{"with siginfo", arch.S390X, noteFP, fp(168, 8, 0), 544 + 136, "544:136"},
		{"without siginfo", arch.S390X, noteFP, fp(168, 8, sp+176), 384 + 136, "384:136"},
		{"another note", arch.S390X, noteS390High, fp(168, 8, 0), 700, ""},
		{"with siginfo", arch.S390, noteFP, fp(104, 4, 0), 392 + 136, "392:136"},
		{"without siginfo", arch.S390, noteFP, fp(104, 4, sp+112), 248 + 136, "248:136"},
		{"another note", arch.S390, noteS390High, fp(104, 4, 0), 700, ""},
		{"n64", arch.MIPS64, noteFP, fp(0, 4, 0), 448 + 256, "448:256"},
		{"another note", arch.MIPS64, noteXState, fp(0, 4, 0), 704, ""},
		{"o32 with siginfo", arch.MIPS, noteFP, fp(0, 4, 0), 448 + 256, "448:256"},
		{"the frame", arch.RISCV64, noteFP, fp(0, 4, 0), 560 + 256, "560:256"},
		{"another note", arch.RISCV64, noteXState, fp(0, 4, 0), 816, ""},
	} {
		for _, short := range []int{0, 1} {
			p := newHand(c.arch, c.mem)
			copy(p.mem, noise(c.mem))
			for _, fill := range c.fill {
				fill(p)
			}
			p.mem = p.mem[:c.mem-short]
			got := ""
			if b, ok := New(p, nil).machine.interrupted(New(p, nil), p.walk(t)[0], c.note); ok {
				got = placeIn(p.mem, b)
			}
			if want := c.want; short == 0 && got != want || short == 1 && got != "" {
				t.Errorf("%s, %s, %d bytes less: %q, want %q", c.arch.Name, c.name, short, got, want)
			}
		}
	}
}

// TestMIPSPlainSignalFrame: the system call of an o32 handler that takes no siginfo tells its
// frame.
func TestMIPSPlainSignalFrame(t *testing.T) {
	for code, want := range map[uint64]string{0x24021017: "296:256", 0x24021018: "448:256"} {
		p := newHand(arch.MIPS, 704)
		copy(p.mem, noise(704))
		p.put(handBase+16, 4, code)
		p.regs.Set(arch.MIPS.PC, handBase+16)
		b, _ := mipsInterrupted(New(p, nil), p.walk(t)[0], noteFP)
		if got := placeIn(p.mem, b); got != want {
			t.Errorf("%#x: %s, want %s", code, got, want)
		}
	}
	p := newHand(arch.MIPS64, 704)
	copy(p.mem, noise(704))
	p.put(handBase+16, 4, 0x24021017)
	p.regs.Set(arch.MIPS64.PC, handBase+16)
	b, _ := mipsInterrupted(New(p, nil), p.walk(t)[0], noteFP)
	if got := placeIn(p.mem, b); got != "448:256" {
		t.Errorf("n64: %s", got)
	}
}

// TestHighSignalFrames: a stack in the upper half of a 32-bit address space.
func TestHighSignalFrames(t *testing.T) {
	const sp = 0xff000000
	for _, c := range []struct {
		arch *arch.Arch
		at   map[uint64]uint64
		want string
	}{
		{arch.X86, map[uint64]uint64{4: sp + 12, 8: sp + 140, 236: sp + 256}, "256:112"},
		{arch.PPC, map[uint64]uint64{256: sp + 400}, "592:264"},
		{arch.PPC, map[uint64]uint64{92: sp + 96}, "288:264"},
	} {
		p := newHand(c.arch, 900)
		p.base = sp
		p.regs.Set(c.arch.SP, sp)
		copy(p.mem, noise(900))
		for at, v := range c.at {
			p.put(sp+at, 4, v)
		}
		r := New(p, nil)
		top := p.walkBy(t)[0]
		b, _ := r.machine.interrupted(r, top, noteFP)
		if got := placeIn(p.mem, b); got != c.want {
			t.Errorf("%s: %s, want %s", c.arch.Name, got, c.want)
		}
	}
}

// TestMIPSStatus: the status register tells how wide floating-point registers are.
func TestMIPSStatus(t *testing.T) {
	for _, c := range []struct {
		status uint64
		known  bool
		note   int
		want   string
	}{{0, true, 256, "0:4"}, {1, true, 256, "0:4"}, {1 << 26, true, 256, "12:4"}, {0, false, 256, "-"}, {0, true, 7, "-"}} {
		p := newHand(arch.MIPS, 8)
		block := noise(c.note)
		p.notes[noteFP] = block
		if status, ok := p.arch.RegByName("status"); ok && c.known {
			p.regs.Set(status, c.status)
		}
		r := New(p, nil)
		a := r.activation(&Function{r: r}, p.walk(t), 0)
		got := "-"
		if raw, _, ok := a.e.vector(33); ok {
			got = placeIn(block, raw)
		}
		if got != c.want {
			t.Errorf("status %#x, known: %v: %s, want %s", c.status, c.known, got, c.want)
		}
		a.Close()
	}
}

// bare is a process with nothing but what every process has, and maybe notes.
type bare struct{ unwind.ProcessState }

type noted struct {
	bare
	p *handProcess
}

func (n noted) ThreadNote(tid unwind.ThreadID, owner string, typ uint32) ([]byte, bool) {
	return n.p.ThreadNote(tid, owner, typ)
}

type stated struct {
	bare
	p *handProcess
}

func (s stated) FPRegs(unwind.ThreadID) ([]byte, bool) { return s.p.note(noteFP) }
func (s stated) XState(unwind.ThreadID) ([]byte, bool) { return s.p.note(noteXState) }

// TestNotes: where the blocks of registers come from.
func TestNotes(t *testing.T) {
	p := newHand(arch.AMD64, 8)
	for _, n := range []note{noteFP, noteXState, notePRXFP} {
		p.notes[n] = []byte{byte(n)}
	}
	for name, c := range map[string]struct {
		proc unwind.ProcessState
		want string
	}{"all": {p, "true true true"}, "blocks only": {stated{bare{p}, p}, "true true false"}, "notes only": {noted{bare{p}, p}, "false true true"}, "none": {bare{p}, "false false false"}} {
		r := New(c.proc, nil)
		var got []string
		for _, n := range []note{noteFP, noteXState, notePRXFP} {
			b, ok := r.note(1, n)
			if ok && b[0] != byte(n) || !ok && b != nil {
				t.Errorf("%s: note %#x is %x, %v", name, uint32(n), b, ok)
			}
			got = append(got, fmt.Sprint(ok))
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if m := machineOf(nil); m == nil || m.banks != nil {
		t.Error("the machine of no architecture")
	}
}

// TestCallersRegisters: a caller that no signal interrupted has no block of registers, and some
// machines' signal frames have none that is known.
func TestCallersRegisters(t *testing.T) {
	for _, c := range []struct {
		arch   *arch.Arch
		signal bool
		reg    uint64
		known  bool
	}{{arch.AMD64, true, 17, true}, {arch.AMD64, false, 17, false}, {arch.Loong64, true, 32, false}} {
		p := newHand(c.arch, 1024)
		p.put(handBase+224, 8, handBase+256)
		frames := p.walkBy(t, func(in, out *unwind.Frame) {
			if c.signal {
				interrupted(in, out)
			}
		})
		r := New(p, nil)
		a := r.activation(&Function{r: r}, frames, 1)
		if raw, _, ok := a.e.vector(c.reg); ok != c.known || !ok && raw != nil {
			t.Errorf("%s, signal: %v: %v", c.arch.Name, c.signal, ok)
		}
		a.Close()
	}
}
