package steppers_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// regBlock is the general register block of an architecture, with the registers
// given at their places in it: found by trying, for only unwind/arch knows them.
func regBlock(tb testing.TB, a *arch.Arch, values map[arch.Reg]uint64) []byte {
	tb.Helper()
	block := make([]byte, a.GRegSetSize())
	for r, v := range values {
		if at := placeOf(a, r); at >= 0 && a.RegSize == 8 {
			a.ByteOrder.PutUint64(block[at:], v)
		} else if at >= 0 {
			a.ByteOrder.PutUint32(block[at:], uint32(v))
		} else {
			tb.Fatalf("%s has no place in the block", a.RegName(r))
		}
	}
	return block
}

// placeOf is where the block has r: the offset whose byte changes r alone.
func placeOf(a *arch.Arch, r arch.Reg) int {
	const mark = 0x5a
	low := 0
	if a.Big() {
		low = a.RegSize - 1
	}
	for at := 0; at+a.RegSize <= a.GRegSetSize(); at += a.RegSize {
		block := make([]byte, a.GRegSetSize())
		block[at+low] = mark &^ byte(a.CodeMask)
		if s, err := a.DecodeGRegSet(block); err == nil {
			if v, ok := s.Get(r); ok && v == mark&^uint64(byte(a.CodeMask)) {
				return at
			}
		}
	}
	return -1
}

// coreOf is smallCore for any architecture, with some registers.
func coreOf(tb testing.TB, a *arch.Arch, machine uint16, regs map[arch.Reg]uint64, code, stack []byte) *corestate.ELFCore {
	b := corebuild.New()
	if a.WordSize == 4 {
		b = corebuild.New32(machine, a.ByteOrder)
	}
	b.Machine, b.Order = machine, a.ByteOrder
	return smallCore(tb, b, regBlock(tb, a, regs), code, stack)
}

// TestSignalFramesOfMachines restores registers from signal frames whose words are
// numbered, and compares with where the kernel's structures have each register.
func TestSignalFramesOfMachines(t *testing.T) {
	const at = 0x100 // of SP on the stack
	for _, tc := range []struct {
		name    string
		arch    *arch.Arch
		machine uint16
		code    []byte
		bias    uint64 // of SP below the frame
		pointer uint64 // where in the frame its context's address is; 0 for nowhere
		size    int    // of the numbered fields
		want    map[arch.Reg]uint64
	}{
		{"x32", arch.X32, elffile.EM_X86_64, []byte{0x48, 0xc7, 0xc0, 1, 2, 0, 0x40, 0x0f, 5}, 0, 0, 8,
			map[arch.Reg]uint64{arch.R8: 24, arch.R15: 80, arch.RDI: 88, arch.RBP: 104, arch.RAX: 128, arch.RSP: 144, arch.RIP: 152, arch.EFLAGS: 160}},
		{"amd64 of FreeBSD", arch.AMD64, elffile.EM_X86_64, []byte{0x48, 0x8d, 0x7c, 0x24, 0x10, 0x6a, 0, 0x48, 0xc7, 0xc0, 0xa1, 1, 0, 0, 0x0f, 5}, 0, 0, 8,
			map[arch.Reg]uint64{arch.RDI: 40, arch.RBP: 104, arch.R15: 152, arch.RIP: 192, arch.RSP: 216}},
		{"amd64 of OpenBSD", arch.AMD64, elffile.EM_X86_64, []byte{0x48, 0x89, 0xe7, 0x57, 0x48, 0xc7, 0xc0, 0x67, 0, 0, 0, 0x0f, 5}, 0, 0, 8,
			map[arch.Reg]uint64{arch.RDI: 0, arch.RBP: 96, arch.RIP: 168, arch.RSP: 192}},
		{"i386 of FreeBSD", arch.X86, elffile.EM_386, []byte{0x8d, 0x44, 0x24, 0x20, 0x50, 0xf7, 0x40, 0x54, 0, 0, 2, 0}, 0, 0, 4,
			map[arch.Reg]uint64{arch.EDI: 68, arch.EBP: 76, arch.EIP: 108, arch.ESP: 120}},
		{"m68k, RT", arch.M68K, elffile.EM_68K, []byte{0x70, 0x52, 0x46, 0, 0x4e, 0x40}, 0, 8, 4,
			map[arch.Reg]uint64{arch.M68KD0: 24, arch.M68KA0: 56, arch.M68KFP: 80, arch.M68KSP: 84, arch.M68KPC: 88}},
		{"alpha, RT", arch.Alpha, elffile.EM_ALPHA, []byte{0x10, 4, 0xfe, 0x47, 0x5f, 1, 0x1f, 0x20, 0x83, 0, 0, 0}, 0, 0, 8,
			map[arch.Reg]uint64{arch.AlphaPC: 192, arch.AlphaR0: 208, arch.AlphaFP: 208 + 8*15, arch.AlphaSP: 208 + 8*30}},
		{"alpha", arch.Alpha, elffile.EM_ALPHA, []byte{0x10, 4, 0xfe, 0x47, 0x67, 0, 0x1f, 0x20, 0x83, 0, 0, 0}, 0, 0, 8,
			map[arch.Reg]uint64{arch.AlphaPC: 16, arch.AlphaR0: 32, arch.AlphaSP: 32 + 8*30}},
		{"sparc64", arch.SPARC64, elffile.EM_SPARCV9, []byte{0x82, 0x10, 0x20, 0x65, 0x91, 0xd0, 0x20, 0x6d}, 2047, 0, 8,
			map[arch.Reg]uint64{arch.SPARCL0: 0, arch.SPARCI7: 120, arch.SPARCG7: 320 + 56, arch.SPARCO0: 384, arch.SPARCSP: 432,
				arch.SPARCTSt: 448, arch.SPARCPC: 456, arch.SPARCNPC: 464}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			frame := uint64(smallStack + at)
			stack := make([]byte, 0x400)
			for off := 0; off+tc.size <= 0x300; off += tc.size {
				v := 0x40000000 + uint64(off)
				if tc.size == 4 {
					tc.arch.ByteOrder.PutUint32(stack[at+off:], uint32(v))
				} else {
					tc.arch.ByteOrder.PutUint64(stack[at+off:], v)
				}
			}
			base := uint64(0) // of the context, from the frame on
			if tc.pointer != 0 {
				tc.arch.ByteOrder.PutUint32(stack[at-0x40+int(tc.pointer):], uint32(frame))
				frame -= 0x40
				base = 0x40
			}
			sp := frame - tc.bias
			c := coreOf(t, tc.arch, tc.machine, map[arch.Reg]uint64{tc.arch.PC: smallCode + 16, tc.arch.SP: sp}, append(make([]byte, 16), tc.code...), stack)
			w := walker(t, c, nil, must(steppers.NewSigHandlerStepper(tc.arch)))
			in := called(t, w, smallCode+16, sp, 0)
			f, err := w.WalkSingleFrame(in)
			if err != nil {
				t.Fatal(err, notes(in))
			}
			for r, off := range tc.want {
				v, loc, ok := f.Reg(r)
				if want := 0x40000000 + off; !ok || v != want || loc != unwind.AtAddress(frame+base+off) {
					t.Errorf("%s = %#x at %v, %v; want %#x at %#x", tc.arch.RegName(r), v, loc, ok, want, frame+base+off)
				}
			}
			if !f.NonCall() || f.Trust() != unwind.TrustSignal {
				t.Errorf("non-call %v, trust %v", f.NonCall(), f.Trust())
			}
		})
	}
}

// A non-RT signal frame of m68k has some registers only: the others are the
// handler's, which has restored them.
func TestSignalFrameM68K(t *testing.T) {
	stack := make([]byte, 0x200)
	const sp, context = smallStack + 0x100, 0x180
	binary.BigEndian.PutUint32(stack[0x100:], 10)
	binary.BigEndian.PutUint32(stack[0x108:], smallStack+context)
	for off, v := range map[int]uint32{4: smallStack + 0x800, 8: 0xd0, 12: 0xd1, 16: 0xa0, 20: 0xa1, 26: smallCode + 0x40} {
		binary.BigEndian.PutUint32(stack[context+off:], v)
	}
	code := append(make([]byte, 16), 0x70, 0x77, 0x4e, 0x40)
	c := coreOf(t, arch.M68K, elffile.EM_68K, map[arch.Reg]uint64{arch.M68KPC: smallCode + 18, arch.M68KSP: sp, 5: 0x55, arch.M68KFP: 0x66}, code, stack)
	w := walker(t, c, nil, must(steppers.NewSigHandlerStepper(arch.M68K)))
	f, err := w.WalkSingleFrame(must(w.InitialFrame(1)))
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range map[arch.Reg]uint64{0: 0xd0, 1: 0xd1, arch.M68KA0: 0xa0, arch.M68KA0 + 1: 0xa1, 5: 0x55, arch.M68KFP: 0x66,
		arch.M68KSP: smallStack + 0x800, arch.M68KPC: smallCode + 0x40} {
		if v, _, ok := f.Reg(r); !ok || v != want {
			t.Errorf("%s = %#x, %v; want %#x", arch.M68K.RegName(r), v, ok, want)
		}
	}
}

// TestRegisterWindows walks SPARC's windows without call frame information.
func TestRegisterWindows(t *testing.T) {
	const (
		bias       = 2047
		sp         = smallStack + 0x100 - bias
		callerSP   = smallStack + 0x200 - bias
		save, call = 0x9de3bf50, 0x40000000
		nop        = 0x01000000
	)
	// f begins at 0x20; the call in its caller, at 0x80, leads to it.
	text := func(f ...uint32) []byte {
		code := make([]byte, 0x100)
		for i, w := range f {
			binary.BigEndian.PutUint32(code[0x20+4*i:], w)
		}
		binary.BigEndian.PutUint32(code[0x80:], call|(1<<30-(0x80-0x20)/4)&(1<<30-1))
		return code
	}
	const caller = smallCode + 0x80
	for _, tc := range []struct {
		name   string
		code   []byte
		pc     uint64
		o7     uint64
		i6, i7 uint64
		want   uint64 // the caller's pc; 0 for none
		sp     uint64
		bottom bool
	}{
		{"with a window", text(save, nop, nop), 0x28, smallCode, callerSP, caller, caller + 8, callerSP, false},
		{"at save", text(save, nop, nop), 0x20, caller, callerSP, smallCode, caller + 8, sp, false},
		{"without one", text(nop, nop, nop), 0x28, caller, callerSP, smallCode, caller + 8, sp, false},
		{"the first", text(save, nop), 0x28, smallCode, 0, 0, 0, 0, true},
		{"returns to no call", text(save, nop), 0x28, smallCode, callerSP, caller - 4, 0, 0, false},
		{"caller below", text(save, nop), 0x28, smallCode, sp - 0x80, caller, 0, 0, false},
		{"caller not aligned", text(save, nop), 0x28, smallCode, callerSP + 4, caller, 0, 0, false},
		{"caller off the stack", text(save, nop), 0x28, smallCode, callerSP + 0x10000, caller, 0, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stack := make([]byte, 0x400)
			for i := range 16 { // the caller's window
				binary.BigEndian.PutUint64(stack[0x200+8*i:], 0x1000+uint64(i))
			}
			c := coreOf(t, arch.SPARC64, elffile.EM_SPARCV9, map[arch.Reg]uint64{arch.SPARCPC: smallCode + tc.pc, arch.SPARCSP: sp,
				arch.SPARCO7: tc.o7, arch.SPARCFP: tc.i6, arch.SPARCI7: tc.i7, arch.SPARCI0: 0x77, arch.SPARCL0: 0x88}, tc.code, stack)
			w := walker(t, c, nil, must(steppers.NewFrameFuncStepper(arch.SPARC64, nil)))
			in := must(w.InitialFrame(1))
			f, err := w.WalkSingleFrame(in)
			if bottom := errors.Is(err, unwind.ErrStackBottom); bottom != tc.bottom || (err == nil) != (tc.want != 0) {
				t.Fatalf("%v; %q", err, notes(in))
			}
			if err != nil {
				return
			}
			if f.RA() != tc.want || f.SP() != tc.sp {
				t.Errorf("caller at %#x, SP %#x; want %#x, %#x", f.RA(), f.SP(), tc.want, tc.sp)
			}
			l0, o0 := uint64(0x88), uint64(0)
			if tc.sp == callerSP {
				l0, o0 = 0x1000, 0x77
			}
			if v, _, ok := f.Reg(arch.SPARCL0); !ok || v != l0 {
				t.Errorf("l0 = %#x, %v; want %#x", v, ok, l0)
			}
			if v, _, ok := f.Reg(arch.SPARCO0); o0 != 0 && (!ok || v != o0) {
				t.Errorf("o0 = %#x, %v; want %#x", v, ok, o0)
			}
		})
	}
}

// Where stacks grow up, what lies above SP is no caller's.
func TestWandererOfStackThatGrowsUp(t *testing.T) {
	code := make([]byte, 0x40)
	binary.BigEndian.PutUint32(code[0x20:], 0xe85f1f9d) // b,l
	stack := make([]byte, 0x200)
	binary.BigEndian.PutUint32(stack[0x120:], smallCode+0x28)
	c := coreOf(t, arch.HPPA, elffile.EM_PARISC, map[arch.Reg]uint64{arch.HPPAPC: smallCode + 4, arch.HPPASP: smallStack + 0x100}, code, stack)
	w := walker(t, c, nil, must(steppers.NewStepperWanderer(arch.HPPA, nil)))
	if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); err == nil {
		t.Errorf("a caller at %#x", f.RA())
	}
}
