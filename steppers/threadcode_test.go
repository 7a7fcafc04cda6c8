package steppers_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// isBottom reports whether the frame has no caller, by BottomOfStackStepper.
func isBottom(t *testing.T, p unwind.ProcessState, syms unwind.SymbolReader, ra uint64, top bool) bool {
	t.Helper()
	a := p.Arch()
	w := walker(t, p, syms, must(steppers.NewBottomOfStackStepper(a)))
	in := called(t, w, ra, foreignStack+0x100-a.StackBias, 0)
	if top {
		in = must(w.InitialFrame(1))
	}
	_, err := w.WalkSingleFrame(in)
	return errors.Is(err, unwind.ErrStackBottom)
}

// withCode is a process whose only code is at foreignCode+0x100.
func withCode(a *arch.Arch, code []byte) otherProc {
	p := newForeign(a, nil)
	copy(p.segs[0].data[0x100:], code)
	return p
}

// unlike are the codes that differ from one in a byte.
func unlike(code []byte) [][]byte {
	var all [][]byte
	for i := range code {
		other := append([]byte(nil), code...)
		other[i] ^= 0x80
		all = append(all, other)
	}
	return all
}

// What a thread's first function returns to ends the thread: by the system call exit, whose
// number is in the code. The bytes are those of C libraries and of Go's runtime.
func TestThreadExits(t *testing.T) {
	const ra = foreignCode + 0x100
	for _, c := range []struct {
		a    *arch.Arch
		code string
	}{
		{arch.AMD64, "4889c7 b83c000000 0f05"},
		{arch.AMD64, "bf6f000000 b83c000000 0f05"},
		{arch.AMD64, "89c7 31c0 b03c 0f05"},
		{arch.X32, "4889c7 b83c000040 0f05"},
		{arch.X86, "89c3 b801000000 65ff1510000000"},
		{arch.X86, "89c3 b801000000 cd80"},
		{arch.X86, "89c3 31c0 40 cd80"},
		{arch.ARM64, "le d2800ba8 d4000001"},
		{arch.ARM64, "le 52800de0 d2800ba8 d4000001"},
		{arch.ARM, "4ff00107 00df"},
		{arch.ARM, "le e3a07001 ef000000"},
		{arch.ARM, "le e24dd010 e3a00000 e58d0004"},
		{arch.PPC64LE, "le e8410018 38000001 44000002"},
		{arch.PPC64, "be e8410018 38000001 44000002"},
		{arch.PPC64, "be e8410028 38000001 44000002"},
		{arch.PPC, "be 38000001 44000002"},
		{arch.RISCV64, "le 05d00893 00000073"},
		{arch.Loong64, "le 0381740b 002b0000"},
		{arch.Loong64, "le 0281740b 002b0000"},
		{arch.S390X, "0a01"},
		{arch.S390, "0a01"},
		{arch.MIPS, "be 8fbc001c 00402025 24020fa1 0000000c"},
		{arch.MIPSEL, "le 8fbc001c 00402025 24020fa1 0000000c"},
		{arch.MIPSN32, "be 00402025 240217aa 0000000c"},
		{arch.MIPSN32EL, "le 00402025 240217aa 0000000c"},
		{arch.MIPS64, "be 00402025 240213c2 0000000c"},
		{arch.MIPS64EL, "le 00402025 240213c2 0000000c"},
		{arch.SPARC64, "be 82102001 91d0206d"},
		{arch.M68K, "2200 7001 4e40"},
	} {
		code := codeOf(c.code)
		if !isBottom(t, withCode(c.a, code), nil, ra, false) {
			t.Errorf("%s, %s: not the end of a thread", c.a.Name, c.code)
		}
		p := withCode(c.a, code)
		p.set(map[arch.Reg]uint64{c.a.PC: ra, c.a.SP: foreignStack + 0x100})
		if isBottom(t, p, nil, ra, true) {
			t.Errorf("%s, %s: a frame that was interrupted there is the bottom", c.a.Name, c.code)
		}
		for i, other := range unlike(code) {
			if isBottom(t, withCode(c.a, other), nil, ra, false) {
				t.Errorf("%s, %s: the end of a thread although byte %d differs", c.a.Name, c.code, i)
			}
		}
	}
}

// The child of a system call that made a thread is where the parent is too: a register,
// which has the parent's result, is zero.
func TestThreadBirths(t *testing.T) {
	for _, c := range []struct {
		a      *arch.Arch
		code   string
		pc     uint64 // behind the system call
		result arch.Reg
	}{
		{arch.AMD64, "0f05 4885c0 7c", 2, arch.RAX},
		{arch.AMD64, "0f05 85c0 750f 31ed", 2, arch.RAX},
		{arch.X32, "0f05 4885c0 7c", 2, arch.RAX},
		{arch.X32, "0f05 85c0 7c", 2, arch.RAX},
		{arch.X86, "cd80 5f5e5b 85c0 0f8c", 2, arch.EAX},
		{arch.X86, "cd80 85c0 7409 5e5b", 2, arch.EAX},
		{arch.X86, "cd80 85c0 750e 89e8 31ed", 2, arch.EAX},
		{arch.ARM64, "le d4000001 f100001f", 4, arch.ARM64X0},
		{arch.ARM64, "le d4000001 eb1f001f", 4, arch.ARM64X0},
		{arch.ARM64, "le d4000001 b4000040 d65f03c0", 4, arch.ARM64X0},
		{arch.ARM, "00df 0028 03d0", 2, arch.ARMR0},
		{arch.ARM, "00ef 000010e1 0100000a", 2, arch.ARMR0},
		{arch.ARM, "00ef 000050e3 0100000a", 2, arch.ARMR0},
		{arch.PPC64LE, "le 44000002 2ca30000 4c861902", 4, arch.PPCR0 + 3},
		{arch.PPC64, "be 44000002 2ca30000 4c861902", 4, arch.PPCR0 + 3},
		{arch.PPC, "be 44000002 2c830000 4c861902", 4, arch.PPCR0 + 3},
		{arch.RISCV64, "le 00000073 00054563", 4, arch.RISCVA0},
		{arch.S390X, "0a78 b9020022", 2, arch.S390R0 + 2},
		{arch.S390, "0a78 1222", 2, arch.S390R0 + 2},
		{arch.MIPS, "be 0000000c 14e00006", 4, arch.MIPSR0 + 2},
		{arch.MIPSEL, "le 0000000c 14e00007", 4, arch.MIPSR0 + 2},
		{arch.MIPS64, "be 0000000c 14e00006", 4, arch.MIPSR0 + 2},
		{arch.M68K, "4e40 c589 281f", 2, arch.M68KD0},
	} {
		born := func(code []byte, pc uint64, result uint64) bool {
			p := withCode(c.a, code)
			for r := range c.a.NumRegs() {
				p.regs.Set(arch.Reg(r), 4242)
			}
			if c.a.Mode != arch.NoReg {
				p.regs.Set(c.a.Mode, 0)
			}
			p.set(map[arch.Reg]uint64{c.a.PC: foreignCode + 0x100 + pc, c.a.SP: foreignStack + 0x100, c.result: result})
			return isBottom(t, p, nil, 0, true)
		}
		code := codeOf(c.code)
		if !born(code, c.pc, 0) || born(code, c.pc, 1) || born(code, 0, 0) || born(code, c.pc+2, 0) {
			t.Errorf("%s, %s: %v; the parent %v, at the system call %v, on %v", c.a.Name, c.code, born(code, c.pc, 0), born(code, c.pc, 1), born(code, 0, 0), born(code, c.pc+2, 0))
		}
		for i, other := range unlike(code) {
			if born(other, c.pc, 0) {
				t.Errorf("%s, %s: a new thread although byte %d differs", c.a.Name, c.code, i)
			}
		}
	}
}

// Goroutines return to runtime.goexit, contexts to the end of makecontext.
func TestOtherEnds(t *testing.T) {
	goexit := symbols{{Name: "runtime.goexit.abi0", Addr: foreignCode + 0x100, Size: 16}}
	for _, c := range []struct {
		a    *arch.Arch
		code string
		ra   uint64 // from the code on
		syms symbols
	}{
		{arch.AMD64, "90 e8", 1, goexit},
		{arch.X86, "90 e8", 1, goexit},
		{arch.ARM64, "le aa0003e0", 4, goexit},
		{arch.ARM, "le e1a00000", 4, goexit},
		{arch.AMD64, "4889dc 488b3c24 4885ff", 0, nil},
		{arch.X86, "8d249c 833c2400", 0, nil},
	} {
		ra, code := foreignCode+0x100+c.ra, codeOf(c.code)
		if !isBottom(t, withCode(c.a, code), c.syms, ra, false) {
			t.Errorf("%s, %s: not the bottom", c.a.Name, c.code)
		}
		if isBottom(t, withCode(c.a, code), c.syms, ra+4, false) {
			t.Errorf("%s, %s: further on is the bottom too", c.a.Name, c.code)
		}
		for i, other := range unlike(code) {
			if isBottom(t, withCode(c.a, other), c.syms, ra, false) {
				t.Errorf("%s, %s: the bottom although byte %d differs", c.a.Name, c.code, i)
			}
		}
		if c.syms != nil && (isBottom(t, withCode(c.a, code), nil, ra, false) || !isBottom(t, withCode(c.a, code), c.syms.renamed("runtime.goexit.abi0", "runtime.goexit"), ra, false)) {
			t.Errorf("%s, %s: the name does not decide", c.a.Name, c.code)
		}
	}
}

// nops are instructions that do nothing, where a zero is one that nothing follows.
var nops = map[*arch.Arch]string{arch.ARM64: "le d503201f", arch.RISCV64: "le 00000013"}

// Start-up code is as long as that of the C libraries, where nothing tells its end.
func TestEntryCode(t *testing.T) {
	for _, c := range []struct {
		a               *arch.Arch
		program, loader uint64
	}{
		{arch.AMD64, 0x30, 0x40}, {arch.X32, 0x30, 0x40}, {arch.X86, 0x30, 0x50}, {arch.ARM64, 0x40, 0x50}, {arch.ARM, 0x38, 0x60},
		{arch.PPC64LE, 0x38, 0x40}, {arch.PPC64, 0x38, 0x40}, {arch.PPC, 0x3c, 0x40}, {arch.RISCV64, 0x30, 0x40}, {arch.Loong64, 0x40, 0x60},
		{arch.S390X, 0x50, 0x60}, {arch.S390, 0x50, 0x60}, {arch.MIPS, 0x60, 0x80}, {arch.MIPS64EL, 0x60, 0x80}, {arch.SPARC64, 0x2c, 0x60},
		{arch.M68K, 0x2a, 0x38}, {arch.Alpha, 0x3c, 0x44}, {arch.HPPA, 0x44, 0xb4},
	} {
		for kind, size := range map[libstate.Kind]uint64{libstate.Executable: c.program, libstate.Interpreter: c.loader, libstate.SharedLibrary: 0} {
			for _, at := range []uint64{0, size - 2, size} {
				p := withCode(c.a, bytes.Repeat(codeOf(nops[c.a]), 0x40))
				lib, _ := p.libs.LibraryAt(foreignCode)
				lib.Kind, lib.HeaderAddr = kind, foreignCode
				p.putWords(foreignCode+0x18, 0x100)
				lib.LoadBias = foreignCode
				pc := foreignCode + 0x100 + at
				p.set(map[arch.Reg]uint64{c.a.PC: pc, c.a.SP: foreignStack + 0x100 - c.a.StackBias})
				if got, want := isBottom(t, p, nil, pc, true), at < size; got != want {
					t.Errorf("%s, %v: byte %#x of the entry point's code is the bottom: %v", c.a.Name, kind, at, got)
				}
			}
		}
	}
}
