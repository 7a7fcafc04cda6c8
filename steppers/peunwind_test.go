package steppers_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/libstate"
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
// 0x1000 (push rbx), one at 0x1040 that an exception interrupted, one at 0x1060 whose
// frame pointer is rbx, one at 0x1080 (sub rsp, 24) with a call that ends in the code of a
// return, and one at 0x10a0 (push rax).
func peTable(t *testing.T) *winunwind.Table {
	im := make(peImage, 0x2100)
	copy(im[0x2000:], []byte{1, 6, 3, 0, 6, 2<<4 | 2, 2, 5 << 4, 1, 6 << 4})
	copy(im[0x2010:], []byte{1, 1, 1, 0, 1, 3 << 4})
	copy(im[0x2020:], []byte{1, 0, 1, 0, 0, 10})
	copy(im[0x2030:], []byte{1, 4, 1, 3, 4, 3})
	copy(im[0x2040:], []byte{1, 4, 1, 0, 4, 2<<4 | 2})
	copy(im[0x2050:], []byte{1, 1, 1, 0, 1, 0})
	copy(im[0x1088:], []byte{0xe8, 0, 0, 0, 0xc3})
	var pdata []byte
	for _, v := range []uint32{0x1000, 0x1020, 0x2010, 0x1020, 0x1040, 0x2000, 0x1040, 0x1060, 0x2020, 0x1060, 0x1080, 0x2030, 0x1080, 0x10a0, 0x2040, 0x10a0, 0x10c0, 0x2050} {
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

// behindTrap is a process whose thread has its pc after a breakpoint.
type behindTrap struct{ mapper }

func (behindTrap) BehindTrap(unwind.ThreadID) bool { return true }

// One step from a frame, by the table or as from a leaf that no table describes.
func TestPEUnwindSteps(t *testing.T) {
	const sp, lost = stack + 0x100, 0x9000_0000
	for _, tc := range []struct {
		name    string
		pc      uint64
		called  bool
		trapped bool
		nonCall bool // a frame that was interrupted and has a callee
		rbx     uint64
		stack   map[uint64]uint64 // by offset from sp
		want    string
	}{
		{name: "two pushes and 24 bytes", pc: 0x1030, stack: map[uint64]uint64{24: 0xb9, 32: 0x51, 40: bias + 0x1010},
			want: "0x555500001010 sp 0x7ffe00000130 pe-unwind, rip 0x555500001010 saved at 0x7ffe00000128, rbx 0x0 in rbx, rbp 0xb9 saved at 0x7ffe00000118, rsi 0x51 saved at 0x7ffe00000120, rdi 0x88 in rdi, r12 lost"},
		{name: "after the first push", pc: 0x1001, stack: map[uint64]uint64{0: 0xb0, 8: bias + raCaller},
			want: "0x555500001009 sp 0x7ffe00000110 pe-unwind, rip 0x555500001009 saved at 0x7ffe00000108, rbx 0xb0 saved at 0x7ffe00000100, rbp 0x66 in rbp, rsi 0x77 in rsi, rdi 0x88 in rdi, r12 lost"},
		{name: "interrupted before it", pc: 0x1000, nonCall: true, stack: map[uint64]uint64{0: bias + raCaller, 8: bias + raWrong},
			want: "0x555500001009 sp 0x7ffe00000108 pe-unwind, rip 0x555500001009 saved at 0x7ffe00000100, rbx 0x0 in rbx, rbp 0x66 in rbp, rsi lost, rdi lost, r12 lost"},
		{name: "at a breakpoint before it", pc: 0x1001, trapped: true, stack: map[uint64]uint64{0: bias + raCaller, 8: bias + raWrong},
			want: "0x555500001009 sp 0x7ffe00000108 pe-unwind, rip 0x555500001009 saved at 0x7ffe00000100, rbx 0x0 in rbx, rbp 0x66 in rbp, rsi 0x77 in rsi, rdi 0x88 in rdi, r12 lost"},
		{name: "a call made that ends like a return", pc: 0x108d, called: true, stack: map[uint64]uint64{0: bias + raWrong, 24: bias + raCaller},
			want: "0x555500001009 sp 0x7ffe00000120 pe-unwind, rip 0x555500001009 saved at 0x7ffe00000118, rbx lost, rbp 0x66, rsi lost, rdi lost, r12 lost"},
		{name: "a push of what calls do not keep", pc: 0x10b0, stack: map[uint64]uint64{0: 0xa0, 8: bias + raCaller},
			want: "0x555500001009 sp 0x7ffe00000110 pe-unwind, rip 0x555500001009 saved at 0x7ffe00000108, rbx 0x0 in rbx, rbp 0x66 in rbp, rsi 0x77 in rsi, rdi 0x88 in rdi, r12 lost"},
		{name: "by the frame pointer", pc: 0x1070, rbx: sp + 0x40, stack: map[uint64]uint64{0x40: bias + raCaller},
			want: "0x555500001009 sp 0x7ffe00000148 pe-unwind, rip 0x555500001009 saved at 0x7ffe00000140, rbx 0x7ffe00000140 in rbx, rbp 0x66 in rbp, rsi 0x77 in rsi, rdi 0x88 in rdi, r12 lost"},
		{name: "frame pointer not known", pc: 0x1070, called: true, stack: map[uint64]uint64{0x40: bias + raCaller},
			want: "none; /bin/prog: RVA 0x106f: rbx: register is unknown"},
		{name: "interrupted", pc: 0x1050, stack: map[uint64]uint64{0: bias + 0x1020, 24: sp + 0x200},
			want: "0x555500001020 sp 0x7ffe00000300 pe-unwind, rip 0x555500001020 saved at 0x7ffe00000100, rbx 0x0 in rbx, rbp 0x66 in rbp, rsi 0x77 in rsi, rdi 0x88 in rdi, r12 lost, interrupted"},
		{name: "the bottom", pc: 0x1000, stack: map[uint64]uint64{0: 0},
			want: "bottom"},
		{name: "not on the stack", pc: 0x1070, rbx: 0x10,
			want: "none; /bin/prog: RVA 0x1070: saved rip: memory at 0x10: not mapped"},
		{name: "a leaf", pc: 0x1100, stack: map[uint64]uint64{0: bias + raCaller},
			want: "0x555500001009 sp 0x7ffe00000108 pe-unwind, rip 0x555500001009 saved at 0x7ffe00000100, rbx 0x0 in rbx, rbp 0x66 in rbp, rsi 0x77 in rsi, rdi 0x88 in rdi, r12 lost"},
		{name: "a leaf that returns to lost code", pc: 0x1100, stack: map[uint64]uint64{0: lost + 0x10},
			want: "0x90000010 sp 0x7ffe00000108 pe-unwind, rip 0x90000010 saved at 0x7ffe00000100, rbx 0x0 in rbx, rbp 0x66 in rbp, rsi 0x77 in rsi, rdi 0x88 in rdi, r12 lost"},
		{name: "no leaf", pc: 0x1100, stack: map[uint64]uint64{0: bias + fnCaller},
			want: "none; no table describes 0x555500001100, and 0x555500001000 does not follow a call"},
		{name: "no leaf, at the end", pc: 0x1100,
			want: "none; no table describes 0x555500001100, and 0x0 does not follow a call"},
		{name: "not described, a call made", pc: 0x1100, called: true, stack: map[uint64]uint64{0: bias + raCaller},
			want: "none; /bin/prog: RVA 0x10ff: no function in the unwind table"},
		{name: "no module", pc: 0x100000,
			want: "none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newProc(map[string]uint64{"rip": bias + 0x1070, "rsp": sp, "rbp": 0x66, "rsi": 0x77, "rdi": 0x88, "rbx": sp + 0x40, "rax": 0xaa})
			p.segs = append(p.segs, seg{m: libstate.Mapping{Start: lost, End: lost + 0x1000, Perm: libstate.Read | libstate.Exec}})
			p.put(sp+0x40, bias+raCaller)
			var state unwind.ProcessState = mapper{p}
			if tc.trapped {
				state = behindTrap{mapper{p}}
			}
			w := walker(t, state, nil, must(steppers.NewPEUnwindStepper(arch.AMD64, partsOf(image.Parts{PEUnwind: peTable(t)}))))
			must(w.WalkSingleFrame(must(w.InitialFrame(1)))) // what is known of a frame must not be used for the next
			p.setRegs(map[string]uint64{"rip": bias + tc.pc, "rbx": tc.rbx})
			for off, v := range tc.stack {
				p.put(sp+off, v)
			}
			in := must(w.InitialFrame(1))
			if tc.called {
				in = called(t, w, bias+tc.pc, sp, 0x66)
			}
			if tc.nonCall {
				p.setRegs(map[string]uint64{"rip": 0x10})
				w.AddStepper(fixedCaller{0x10, bias + tc.pc, sp, true})
				in = must(w.WalkSingleFrame(must(w.InitialFrame(1))))
			}
			if got := outcome(w, in, "rip", "rbx", "rbp", "rsi", "rdi", "r12"); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// A leaf of ARM64 has its return address in the link register.
func TestPEUnwindLeafOfARM64(t *testing.T) {
	p := newForeign(arch.ARM64, map[int][]uint32{0x200: {bl(0x200, 0x100)}})
	p.set(map[arch.Reg]uint64{arch.ARM64.PC: foreignCode + 0x100, arch.ARM64SP: foreignStack + 0x100, arch.ARM64LR: foreignCode + 0x204})
	tab := must(winunwind.New(arch.ARM64, make([]byte, 8), make(peImage, 0x1000)))
	w := walker(t, p, nil, must(steppers.NewPEUnwindStepper(arch.ARM64, partsOf(image.Parts{PEUnwind: tab}))))
	const want = "0x10000204 sp 0x20000100 pe-unwind, pc 0x10000204 in x30, x30 lost"
	if got := outcome(w, must(w.InitialFrame(1)), "pc", "x30"); got != want {
		t.Errorf("%s; want %s", got, want)
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
