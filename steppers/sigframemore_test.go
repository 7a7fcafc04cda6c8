package steppers_test

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Signal frames as the kernel lays them out, which are not always those of the
// emulator that the fixtures' cores are from. Offsets are from SP at the restorer,
// counted by hand from the kernel's headers.
func TestKernelSignalFrames(t *testing.T) {
	rt64 := map[arch.Reg]uint64{arch.PPCR0: 360, arch.PPCSP: 368, arch.PPCFP: 608, arch.PPCNIP: 616, arch.PPCCTR: 640, arch.PPCLR: 648,
		arch.PPCCCR: 664, arch.PPCF14: 856, arch.PPCF31: 992}
	for _, c := range []struct {
		name  string
		a     *arch.Arch
		code  []byte
		at    map[arch.Reg]uint64
		signo uint64
	}{
		{"ppc64 vDSO", arch.PPC64, []byte{0x38, 0x21, 0, 0x80, 0x38, 0, 0, 0xac, 0x44, 0, 0, 2}, rt64, 328},
		{"ppc64le vDSO", arch.PPC64LE, []byte{0x80, 0, 0x21, 0x38, 0xac, 0, 0, 0x38, 2, 0, 0, 0x44}, rt64, 328},
		{"ppc rt", arch.PPC, []byte{0x38, 0, 0, 0xac, 0x44, 0, 0, 2},
			map[arch.Reg]uint64{arch.PPCR0: 400, arch.PPCSP: 404, arch.PPCNIP: 528, arch.PPCLR: 544, arch.PPCF14: 704}, 80},
		{"ppc", arch.PPC, []byte{0x38, 0, 0, 0x77, 0x44, 0, 0, 2},
			map[arch.Reg]uint64{arch.PPCR0: 96, arch.PPCSP: 100, arch.PPCNIP: 224, arch.PPCLR: 240, arch.PPCF14: 400}, 80},
		{"s390x rt", arch.S390X, []byte{0x0a, 0xad}, map[arch.Reg]uint64{arch.S390PSWM: 336, arch.S390PC: 344, arch.S390R0: 352, arch.S390SP: 472,
			arch.S390A0: 480, arch.S390A1: 484, arch.S390F0: 552, arch.S390F15: 672}, 168},
		{"s390x", arch.S390X, []byte{0x0a, 0x77}, map[arch.Reg]uint64{arch.S390PC: 184, arch.S390R0: 192, arch.S390SP: 312,
			arch.S390A0: 320, arch.S390F0: 392, arch.S390F15: 512}, 520},
		{"s390 rt", arch.S390, []byte{0x0a, 0xad}, map[arch.Reg]uint64{arch.S390PSWM: 256, arch.S390PC: 260, arch.S390R0: 264, arch.S390SP: 324,
			arch.S390A0: 328, arch.S390F0: 400}, 100},
		{"s390", arch.S390, []byte{0x0a, 0x77}, map[arch.Reg]uint64{arch.S390PC: 116, arch.S390R0: 120, arch.S390SP: 180,
			arch.S390A0: 184, arch.S390F0: 256}, 384},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newForeign(c.a, nil)
			copy(p.segs[0].data[0x100:], c.code)
			sp := uint64(foreignStack + 0x80)
			for i := range p.segs[1].data[0x80:] {
				p.segs[1].data[0x80+i] = byte(i/4) ^ byte(i>>8) // every place its own
			}
			put := func(off uint64, size int, v uint64) {
				b := p.segs[1].data[0x80+off:]
				if size == 4 {
					c.a.ByteOrder.PutUint32(b, uint32(v))
				} else {
					c.a.ByteOrder.PutUint64(b, v)
				}
			}
			put(c.signo, 4, 12)
			put(c.at[c.a.PC], c.a.WordSize, foreignCode+0x200)
			put(c.at[c.a.SP], c.a.WordSize, sp+0x600)
			w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(c.a)))
			in := called(t, w, foreignCode+0x100, sp, 0)
			f, err := w.WalkSingleFrame(in)
			if err != nil || f.RA() != foreignCode+0x200 || f.SP() != sp+0x600 || !f.NonCall() {
				t.Fatalf("%v, %v", f, err)
			}
			for r, off := range c.at {
				_, loc, ok := f.Reg(r)
				if !ok || loc != unwind.AtAddress(sp+off) {
					t.Errorf("%s: %v at %s, want SP+%d", c.a.RegName(r), ok, loc.Describe(c.a), off)
				}
			}
			if n, ok := steppers.SignalAt(in); !ok || n.Number != 12 || !n.Sure {
				t.Errorf("signal %+v, %v", n, ok)
			}
		})
	}
}

// The entry point of an ELFv1 program is a descriptor: the code it leads to is the
// bottom, and nothing beside it.
func TestEntryDescriptor(t *testing.T) {
	p := newForeign(arch.PPC64, map[int][]uint32{
		0x100: {0x38000000, 0xf821ffc1, 0x480000f9, 0x38000001, 0x44000002}, // li; stdu; bl 0x200; li r0,1; sc
		0x114: {0x60000000, 0x480000e9},                                     // another function: nop; bl 0x200
	})
	copy(p.segs[0].data, "\x7fELF\x02\x02\x01")
	arch.PPC64.ByteOrder.PutUint64(p.segs[0].data[0x18:], foreignStack+0x10) // .opd is data
	p.putWords(foreignStack+0x10, foreignCode+0x100, 0, 0)
	lib := &libstate.Library{Path: "/bin/prog", Kind: libstate.Executable, HeaderAddr: foreignCode, Start: foreignCode, End: foreignStack + foreignSize}
	for i := range p.segs {
		lib.Mappings = append(lib.Mappings, p.segs[i].m)
	}
	p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
	for pc, want := range map[uint64]bool{foreignCode + 0x10c: true, foreignCode + 0x11c: false} {
		w := walker(t, p, nil, must(steppers.NewBottomOfStackStepper(arch.PPC64)))
		_, err := w.WalkSingleFrame(called(t, w, pc, foreignStack+0x100, 0))
		if got := errors.Is(err, unwind.ErrStackBottom); got != want {
			t.Errorf("%#x: %v, want the bottom: %v", pc, err, want)
		}
	}
}

// A core of 31 bits: the highest bit of code pointers, of the PSW too, is the
// addressing mode. A leaf is interrupted, whose callers have the usual frames.
func TestWalk31Bits(t *testing.T) {
	const mode = 1 << 31
	code := make([]byte, 0x100)
	for at, b := range map[int][]byte{
		// stm %r14,%r15,56(%r15); ahi %r15,-96; brasl %r14,leaf; lm %r14,%r15,152(%r15); br %r14
		0x40: {0x90, 0xef, 0xf0, 56, 0xa7, 0xfa, 0xff, 0xa0, 0xc0, 0xe5, 0, 0, 0, 0x0c, 0x98, 0xef, 0xf0, 152, 0x07, 0xfe},
		0x60: {0x90, 0xef, 0xf0, 56, 0xa7, 0xfa, 0xff, 0xa0, 0xc0, 0xe5, 0, 0, 0, 0x0c, 0x98, 0xef, 0xf0, 152, 0x07, 0xfe},
		0x80: {0x50, 0x20, 0x30, 0, 0x07, 0xfe}, // st %r2,0(%r3); br %r14
	} {
		copy(code[at:], b)
	}
	const sp = smallStack + 0x100
	stack := make([]byte, 0x400)
	put := func(at uint64, v uint32) { arch.S390.ByteOrder.PutUint32(stack[at-smallStack:], v) }
	put(sp+96+56, mode|smallCode+0x4e)
	put(sp+96+60, sp+96)
	put(sp+192+60, sp+192) // r14 was 0 in start-up code
	c := coreOf(t, arch.S390, elffile.EM_S390, map[arch.Reg]uint64{arch.S390PC: mode | smallCode + 0x80,
		arch.S390LR: mode | smallCode + 0x6e, arch.S390SP: sp}, code, stack)
	w := walker(t, c, nil, must(steppers.NewFrameFuncStepper(arch.S390, nil)), must(steppers.NewAnalysisStepper(arch.S390, noFile)))
	f := must(w.InitialFrame(1))
	for i, want := range []struct{ pc, sp uint64 }{{smallCode + 0x80, sp}, {smallCode + 0x6e, sp}, {smallCode + 0x4e, sp + 96}} {
		if f.RA() != want.pc || f.SP() != want.sp {
			t.Fatalf("frame %d is %v; want %#x with SP %#x", i, f, want.pc, want.sp)
		}
		next, err := w.WalkSingleFrame(f)
		if err != nil {
			if i != 2 {
				t.Fatalf("after frame %d: %v %v", i, err, notes(f))
			}
			break
		}
		f = next
	}
}
