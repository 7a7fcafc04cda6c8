package steppers_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A peImage is the bytes of a PE image by RVA.
type peImage []byte

func (m peImage) At(rva uint32) []byte {
	if uint64(rva) >= uint64(len(m)) {
		return nil
	}
	return m[rva:]
}

// peTable describes a function at 0x1020 (push rsi; push rbp; sub rsp, 24), one at
// 0x1000 (push rbx), and one at 0x1040 that an exception interrupted.
func peTable(t *testing.T) *winunwind.Table {
	im := make(peImage, 0x2100)
	copy(im[0x2000:], []byte{1, 6, 3, 0, 6, 2<<4 | 2, 2, 5 << 4, 1, 6 << 4})
	copy(im[0x2010:], []byte{1, 1, 1, 0, 1, 3 << 4})
	copy(im[0x2020:], []byte{1, 0, 1, 0, 0, 10})
	var pdata []byte
	for _, v := range []uint32{0x1000, 0x1020, 0x2010, 0x1020, 0x1040, 0x2000, 0x1040, 0x1060, 0x2020} {
		pdata = binary.LittleEndian.AppendUint32(pdata, v)
	}
	tab, err := winunwind.New(arch.AMD64, pdata, im)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestPEUnwind(t *testing.T) {
	const sp = stack + 0x100
	tab := peTable(t)
	stepper := must(steppers.NewPEUnwindStepper(arch.AMD64, partsOf(image.Parts{PEUnwind: tab})))
	p := newProc(map[string]uint64{"rip": bias + 0x1030, "rsp": sp, "rbp": 0x66, "rsi": 0x77, "rdi": 0x88, "rbx": 0x99, "rax": 0xaa})
	p.put(sp+24, 0xb9, 0x51, bias+0x1010) // rbp, rsi, return address
	p.put(sp+48, 0xb0, bias+0x1050)       // rbx, return address
	p.put(sp+64, bias+0x1020, 0, 0, sp+0x200)
	p.put(sp+0x200, 0)
	s, err := walker(t, p, nil, stepper).WalkStack(1)
	if err != nil {
		t.Fatal(err)
	}
	type frame struct {
		pc, sp  uint64
		nonCall bool
	}
	want := []frame{{bias + 0x1030, sp, false}, {bias + 0x1010, sp + 48, false}, {bias + 0x1050, sp + 64, false}, {bias + 0x1020, sp + 0x200, true}}
	var got []frame
	for i, f := range s.Frames {
		got = append(got, frame{f.RA(), f.SP(), f.NonCall()})
		if i > 0 && f.Trust() != unwind.TrustPEUnwind {
			t.Errorf("frame %d: %v", i, f.Trust())
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%+v, %v", got, s.End)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("frame %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if s.End != unwind.EndBottom {
		t.Errorf("the walk ends with %v", s.End)
	}
	caller := s.Frames[1]
	for r, want := range map[arch.Reg]reg{arch.RSI: {0x51, sp + 32}, arch.RBP: {0xb9, sp + 24}, arch.RDI: {0x88, 0}, arch.RBX: {0x99, 0}, arch.RIP: {bias + 0x1010, sp + 40}} {
		v, l, ok := caller.Reg(r)
		if !ok || v != want.v || want.at != 0 && l != unwind.AtAddress(want.at) {
			t.Errorf("%s: %#x %+v %t, want %#x", arch.AMD64.RegName(r), v, l, ok, want.v)
		}
	}
	if v, _, ok := caller.Reg(arch.RAX); ok {
		t.Errorf("rax is %#x in the caller", v)
	}
}

func TestPEUnwindParameters(t *testing.T) {
	if _, err := steppers.NewPEUnwindStepper(arch.AMD64, nil); !errors.Is(err, unwind.ErrBadParam) {
		t.Error(err)
	}
	if _, err := steppers.NewPEUnwindStepper(arch.X86, noFile); !errors.Is(err, unwind.ErrBadParam) {
		t.Error(err)
	}
	p := newProc(map[string]uint64{"rip": bias + 0x1030, "rsp": stack + 0x100})
	if s, _ := walker(t, p, nil, must(steppers.NewPEUnwindStepper(arch.AMD64, noFile))).WalkStack(1); len(s.Frames) != 1 {
		t.Errorf("%d frames without a table", len(s.Frames))
	}
}

// The default group asks it where there are PE images.
func TestPEUnwindInGroup(t *testing.T) {
	tab := peTable(t)
	p := newProc(map[string]uint64{"rip": bias + 0x1000, "rsp": stack + 0x100})
	p.put(stack+0x100, bias+0x1030)
	for _, a := range []*arch.Arch{arch.AMD64, arch.ARM64, arch.PPC64LE} {
		if _, err := steppers.DefaultGroup(a, partsOf(image.Parts{PEUnwind: tab})); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
	}
	g := must(steppers.DefaultGroup(arch.AMD64, partsOf(image.Parts{PEUnwind: tab})))
	w := must(unwind.NewWalker(p, unwind.WithGroup(g)))
	s := must(w.WalkStack(1))
	if len(s.Frames) < 2 || s.Frames[1].Trust() != unwind.TrustPEUnwind || s.Frames[1].RA() != bias+0x1030 {
		t.Errorf("%v", s.Frames)
	}
}
