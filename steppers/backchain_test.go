package steppers_test

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// otherProc is a process of another architecture than the fake program's.
type otherProc struct {
	*proc
	a *arch.Arch
}

func (p otherProc) Arch() *arch.Arch { return p.a }

func (p otherProc) ReadWord(addr arch.Address) (uint64, error) {
	b := make([]byte, p.a.WordSize)
	if n, err := p.ReadMem(addr, b); err != nil || n < len(b) {
		return 0, err
	}
	return p.a.Word(b), nil
}

func (p otherProc) MappingAt(addr arch.Address) (libstate.Mapping, bool) {
	return mapper{p.proc}.MappingAt(addr)
}

// putWords writes the architecture's words from addr on.
func (p otherProc) putWords(addr arch.Address, words ...uint64) {
	s := p.at(addr)
	for i, w := range words {
		b := s.data[addr-s.m.Start+uint64(i*p.a.WordSize):]
		if p.a.WordSize == 4 {
			p.a.ByteOrder.PutUint32(b, uint32(w))
		} else {
			p.a.ByteOrder.PutUint64(b, w)
		}
	}
}

const (
	foreignCode  = 0x10000000
	foreignStack = 0x20000000
	foreignSize  = 0x1000
)

// newForeign maps code, as words of 32 bits, and a stack.
func newForeign(a *arch.Arch, code map[int][]uint32) otherProc {
	p := otherProc{&proc{}, a}
	b := make([]byte, foreignSize)
	for at, words := range code {
		for i, w := range words {
			a.ByteOrder.PutUint32(b[at+4*i:], w)
		}
	}
	p.add(foreignCode, libstate.Read|libstate.Exec, b)
	p.add(foreignStack, libstate.Read|libstate.Write, make([]byte, foreignSize))
	lib := &libstate.Library{Path: "/bin/prog", Kind: libstate.SharedLibrary, Start: foreignCode, End: foreignCode + foreignSize}
	lib.Mappings = append(lib.Mappings, p.segs[0].m)
	p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
	return p
}

func (p otherProc) set(values map[arch.Reg]uint64) {
	for r, v := range values {
		p.regs.Set(r, v)
	}
}

// Code of PowerPC: a leaf without a frame, one with a frame, and who calls them.
var ppcCode = map[int][]uint32{
	0x100: {0x90890018, 0x4e800020},                                     // stw r4,24(r9); blr
	0x200: {0x9421ffe0, 0x90890018, 0x38210020, 0x4e800020},             // stwu r1,-32(r1); stw; addi; blr
	0x300: {0x7c0802a6, 0x4bfffdfd, 0x4bfffef9, 0x60000000, 0x4e800020}, // mflr r0; bl 0x100; bl 0x200; nop; blr
	0x400: {0x4bffff01, 0x60000000, 0x4e800020},                         // bl 0x300; nop; blr
}

// A leaf's return address is in the link register, whether it has a frame or
// not; the back chain alone would skip its caller.
func TestBackChainLeaf(t *testing.T) {
	const lrOfLeaf, lrOfFramed, raOfCaller = foreignCode + 0x308, foreignCode + 0x30c, foreignCode + 0x404
	sp := uint64(foreignStack + 0x100)
	for _, c := range []struct {
		name   string
		pc, lr uint64
		words  map[uint64]uint64 // on the stack, from SP
		ra, sp uint64
	}{
		{"without a frame", foreignCode + 0x100, lrOfLeaf, map[uint64]uint64{0: sp + 0x40, 0x44: raOfCaller}, lrOfLeaf, sp},
		{"with a frame", foreignCode + 0x204, lrOfFramed, map[uint64]uint64{0: sp + 0x20, 0x20: sp + 0x60, 0x24: 0, 0x64: raOfCaller}, lrOfFramed, sp + 0x20},
		{"that has saved its link register", foreignCode + 0x310, foreignCode + 0x30c, map[uint64]uint64{0: sp + 0x40, 0x44: raOfCaller}, raOfCaller, sp + 0x40},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newForeign(arch.PPC, ppcCode)
			for at, v := range c.words {
				p.putWords(sp+at, v)
			}
			p.set(map[arch.Reg]uint64{arch.PPCNIP: c.pc, arch.PPCSP: sp, arch.PPCLR: c.lr})
			w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(arch.PPC, nil)))
			f, err := w.WalkSingleFrame(must(w.InitialFrame(1)))
			if err != nil || f.RA() != c.ra || f.SP() != c.sp {
				t.Fatalf("%v, %v; want %#x with SP %#x", f, err, c.ra, c.sp)
			}
		})
	}
}

// The back chain ends with zero, at SP or where the return address is zero too.
func TestBackChainEnd(t *testing.T) {
	const ra = foreignCode + 0x404
	sp := uint64(foreignStack + 0x100)
	for _, c := range []struct {
		name  string
		words []uint64
		want  bool
	}{
		{"null", []uint64{0}, true},
		{"null behind", []uint64{sp + 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0}, true},
		{"no chain", []uint64{sp + 0x20, 0, 0, 0, 0, 0, 0, 0, 0x1234, 0}, false},
		{"downwards", []uint64{sp - 0x20}, false},
	} {
		p := newForeign(arch.PPC, ppcCode)
		p.putWords(sp, c.words...)
		w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(arch.PPC, nil)))
		_, err := w.WalkSingleFrame(called(t, w, ra, sp, 0))
		if got := errors.Is(err, unwind.ErrStackBottom); got != c.want {
			t.Errorf("%s: %v, want the bottom: %v", c.name, err, c.want)
		}
	}
}

// A function of S/390 that calls others saves its stack pointer beside the return
// address; what lies at SP itself was saved by the function it called. With 31
// bits, the highest bit of a return address is the addressing mode.
func TestSavedStackPointer(t *testing.T) {
	for _, c := range []struct {
		a    *arch.Arch
		area uint64 // of r14, from the stack pointer
		mode uint64
	}{{arch.S390X, 112, 0}, {arch.S390, 56, 1 << 31}} {
		const ra1, ra2 = foreignCode + 0x206, foreignCode + 0x306
		p := newForeign(c.a, nil)
		code := p.segs[0].data
		copy(code[0x200:], []byte{0xc0, 0xe5, 0, 0, 0, 0}) // brasl %r14,.
		copy(code[0x300:], []byte{0xc0, 0xe5, 0xff, 0xff, 0xff, 0x80})
		sp := uint64(foreignStack + 0x100)
		p.putWords(sp+c.area, c.mode|ra1, sp)           // the called function's
		p.putWords(sp+0x100+c.area, c.mode|ra2, sp+8)   // not in its place
		p.putWords(sp+0x200+c.area, c.mode|ra2, sp+512) // the function's own
		w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(c.a, nil)))
		in := called(t, w, ra1, sp, 0)
		f, err := w.WalkSingleFrame(in)
		if err != nil || f.RA() != ra2 || f.SP() != sp+512 {
			t.Fatalf("%s: %v, %v", c.a.Name, f, err)
		}
		if cfa, ok := in.CFA(); !ok || cfa != f.SP()+c.a.CFAOffset {
			t.Errorf("%s: CFA %#x, %v; want it above the caller's SP %#x", c.a.Name, cfa, ok, f.SP())
		}
	}
}
