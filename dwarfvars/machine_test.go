package dwarfvars

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// regx is DW_OP_regx, bitPiece DW_OP_bit_piece.
func regx(n uint64) []byte { return binary.AppendUvarint([]byte{0x90}, n) }
func bitPiece(size, off uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint([]byte{0x9d}, size), off)
}

func f32(f float32) uint64 { return uint64(math.Float32bits(f)) }
func f64(f float64) uint64 { return math.Float64bits(f) }

// A handRegister is a value in a block of registers.
type handRegister struct {
	note note
	off  int
	size int
	v    uint64
}

// TestMachineRegisters reads values of the registers outside the general file of a
// thread's youngest frame, as each machine has them in its notes.
func TestMachineRegisters(t *testing.T) {
	float, double, long := base("float", types.EncFloat, 4), base("double", types.EncFloat, 8), base("long double", types.EncFloat, 16)
	for _, tc := range []struct {
		name string
		arch *arch.Arch
		regs []handRegister
		reg  uint64
		typ  *handDIE
		want string
	}{
		{"xmm0", arch.AMD64, []handRegister{{noteFP, fxXMM, 4, f32(1.5)}, {noteFP, 511, 1, 0}}, 17, float, "1.5"},
		{"st0", arch.X86, []handRegister{{noteFP, 28, 8, 1 << 63}, {noteFP, 36, 2, 0x4000}, {noteFP, 107, 1, 0}}, 11, base("long double", types.EncFloat, 12), "2"},
		{"st1 of FXSAVE", arch.X86, []handRegister{{notePRXFP, fxST + 16, 8, 1 << 63}, {notePRXFP, fxST + 24, 2, 0x3fff}, {notePRXFP, 511, 1, 0}}, 12, base("long double", types.EncFloat, 12), "1"},
		{"xmm1", arch.X86, []handRegister{{notePRXFP, fxXMM + 16, 8, f64(-2.25)}, {notePRXFP, 511, 1, 0}}, 22, double, "-2.25"},
		{"v3", arch.ARM64, []handRegister{{noteFP, 3 * 16, 8, f64(3.5)}, {noteFP, 527, 1, 0}}, 67, double, "3.5"},
		{"v9, of which frames have a half", arch.ARM64, []handRegister{{noteFP, 9*16 + 8, 8, 0x3fff_8000_0000_0000}, {noteFP, 527, 1, 0}}, 73, long, "1.5"},
		{"d5", arch.ARM, []handRegister{{noteARMVFP, 5 * 8, 8, f64(0.125)}, {noteARMVFP, 259, 1, 0}}, 261, double, "0.125"},
		{"s11", arch.ARM, []handRegister{{noteARMVFP, 5*8 + 4, 4, f32(7.5)}, {noteARMVFP, 259, 1, 0}}, 75, float, "7.5"},
		{"f1 holds floats as doubles", arch.PPC64, []handRegister{{noteFP, 8, 8, f64(2.5)}, {noteFP, 263, 1, 0}}, 33, float, "2.5"},
		{"f1, a number", arch.PPC64, []handRegister{{noteFP, 8, 8, f64(2.5)}, {noteFP, 263, 1, 0}}, 33, base("int", types.EncSigned, 4), "0"},
		{"mm0, too small", arch.AMD64, []handRegister{{noteFP, fxST, 8, 1}, {noteFP, 511, 1, 0}}, 41, base("__int128", types.EncSigned, 16), "<corrupt location: 8 bytes for 128 bits>"},
		{"st0 of 16 bytes", arch.AMD64, []handRegister{{noteFP, fxST, 8, 1 << 63}, {noteFP, fxST + 8, 2, 0x3fff}, {noteFP, 511, 1, 0}}, 33, base("long double", types.EncFloat, 16), "1"},
		{"st0, too small", arch.AMD64, []handRegister{{noteFP, fxST, 8, 1 << 63}, {noteFP, 511, 1, 0}}, 33, base("wide", types.EncUnsigned, 32), "<corrupt location: 10 bytes for 256 bits>"},
		{"r3, too small", arch.PPC64, nil, 3, base("__int128", types.EncSigned, 16), "<r3 not recovered>"},
		{"f1, little-endian", arch.PPC64LE, []handRegister{{noteFP, 8, 8, f64(2.5)}, {noteFP, 263, 1, 0}}, 33, float, "2.5"},
		{"f1, a double", arch.PPC, []handRegister{{noteFP, 8, 8, f64(2.5)}, {noteFP, 263, 1, 0}}, 33, double, "2.5"},
		{"vr2, gcc's number", arch.PPC64LE, []handRegister{{notePPCVMX, 32, 8, 7}, {notePPCVMX, 543, 1, 0}}, 1126, base("long", types.EncSigned, 8), "7"},
		{"vr2, the ABI's number", arch.PPC64LE, []handRegister{{notePPCVMX, 32, 8, 7}, {notePPCVMX, 543, 1, 0}}, 79, base("long", types.EncSigned, 8), "7"},
		{"f0 has floats at its front", arch.S390X, []handRegister{{noteFP, 8, 4, f32(1.25)}, {noteFP, 135, 1, 0}}, 16, float, "1.25"},
		{"f2 is number 17", arch.S390X, []handRegister{{noteFP, 8 + 16, 8, f64(6)}, {noteFP, 135, 1, 0}}, 17, double, "6"},
		{"v18", arch.S390X, []handRegister{{noteS390High, 32, 4, f32(9)}, {noteS390High, 255, 1, 0}}, 69, float, "9"},
		{"f12", arch.MIPS64, []handRegister{{noteFP, 12*8 + 4, 4, f32(4.5)}, {noteFP, 263, 1, 0}}, 44, float, "4.5"},
		{"f12 of o32", arch.MIPSEL, []handRegister{{noteFP, 12 * 8, 4, f32(4.5)}, {noteFP, 263, 1, 0}}, 44, float, "4.5"},
		{"f13 of o32, half of a pair", arch.MIPS, []handRegister{{noteFP, 12 * 8, 4, f32(5.5)}, {noteFP, 263, 1, 0}}, 45, float, "5.5"},
		{"fa0", arch.RISCV64, []handRegister{{noteFP, 10 * 8, 4, f32(8.5)}, {noteFP, 263, 1, 0}}, 42, float, "8.5"},
		{"fa0", arch.Loong64, []handRegister{{noteFP, 0, 8, f64(8.5)}, {noteFP, 271, 1, 0}}, 32, double, "8.5"},
		{"no note", arch.ARM64, nil, 64, double, "<v0 not recovered>"},
		{"a short note", arch.ARM64, []handRegister{{noteFP, 3, 1, 0}}, 64, double, "<v0 not recovered>"},
	} {
		p := newHand(tc.arch, 8)
		if status, ok := tc.arch.RegByName("status"); ok {
			p.regs.Set(status, 0)
		}
		for _, r := range tc.regs {
			for len(p.notes[r.note]) < r.off+r.size {
				p.notes[r.note] = append(p.notes[r.note], 0)
			}
			copy(p.notes[r.note][r.off:], bytesOf(tc.arch.ByteOrder, r.v, r.size))
		}
		if got := handValue(t, p, p.walk(t), 0, dwarf.LangC99, regx(tc.reg), tc.typ); got != tc.want {
			t.Errorf("%s, %s: %s, want %s", tc.arch.Name, tc.name, got, tc.want)
		}
	}
}

// TestInterrupted reads floating-point registers of a frame that a signal
// interrupted, from what the kernel left on the stack for the handler.
func TestInterrupted(t *testing.T) {
	double := base("double", types.EncFloat, 8)
	const sp = handBase
	for _, tc := range []struct {
		name string
		arch *arch.Arch
		fill func(p *handProcess)
		reg  uint64
		typ  *handDIE
		want string
	}{
		{"FXSAVE", arch.AMD64, func(p *handProcess) {
			p.put(sp+224, 8, sp+1024)
			p.put(sp+1024+fxXMM+16, 8, f64(1.5))
		}, 18, double, "1.5"},
		{"no state", arch.AMD64, func(p *handProcess) {}, 18, double, "<xmm1 not recovered>"},
		{"state outside of memory", arch.AMD64, func(p *handProcess) { p.put(sp+224, 8, 5) }, 18, double, "<xmm1 not recovered>"},
		{"XSAVE", arch.AMD64, func(p *handProcess) {
			p.put(sp+224, 8, sp+1024)
			p.put(sp+1024+fxXMM, 8, 1)
			p.put(sp+1024+464, 4, fpMagic)
			p.put(sp+1024+480, 4, 832)
			p.put(sp+1024+832, 4, fpMagicEnd)
			p.put(sp+1024+512, 8, 7)
			p.put(sp+1024+avxYMM, 8, 2)
		}, 17, base("wide", types.EncUnsigned, 32), "680564733841876926926749214863536422913"},
		{"XSAVE without its end", arch.AMD64, func(p *handProcess) {
			p.put(sp+224, 8, sp+1024)
			p.put(sp+1024+464, 4, fpMagic)
			p.put(sp+1024+480, 4, 832)
		}, 17, base("wide", types.EncUnsigned, 32), "<corrupt location: 16 bytes for 256 bits>"},
		{"with description", arch.X86, func(p *handProcess) {
			p.put(sp+4, 4, sp+12)
			p.put(sp+8, 4, sp+140)
			p.put(sp+236, 4, sp+1024)
			p.put(sp+1024+112+fxXMM, 8, f64(2.5))
		}, 21, double, "2.5"},
		{"without", arch.X86, func(p *handProcess) {
			p.put(sp+80, 4, sp+1024)
			p.put(sp+1024+112+fxXMM, 8, f64(3.5))
		}, 21, double, "3.5"},
		{"FSAVE only", arch.X86, func(p *handProcess) {
			p.put(sp+80, 4, sp+1024)
			p.put(sp+1024+108, 4, 0xffff0000)
			p.put(sp+1024+28+7, 1, 0x80)
			p.put(sp+1024+36, 2, 0x3fff)
		}, 11, base("long double", types.EncFloat, 12), "1"},
		{"behind another record", arch.ARM64, func(p *handProcess) {
			p.put(sp+592, 4, 0x45535201)
			p.put(sp+596, 4, 16)
			p.put(sp+608, 4, aarch64FPSIMD)
			p.put(sp+612, 4, 528)
			p.put(sp+624+2*16, 8, f64(4.5))
		}, 66, double, "4.5"},
		{"no such record", arch.ARM64, func(p *handProcess) {}, 66, double, "<v2 not recovered>"},
		{"with description", arch.ARM, func(p *handProcess) {
			p.put(sp+360, 4, armVFP)
			p.put(sp+368+8, 8, f64(5.5))
		}, 257, double, "5.5"},
		{"without", arch.ARM, func(p *handProcess) {
			p.put(sp, 4, armPlainMark)
			p.put(sp+232, 4, armVFP)
			p.put(sp+240+8, 8, f64(6.5))
		}, 257, double, "6.5"},
		{"fp_regs", arch.PPC64LE, func(p *handProcess) {
			p.put(sp+352, 8, sp+360)
			p.put(sp+744+8, 8, f64(7.5))
		}, 33, double, "7.5"},
		{"fp_regs by qemu", arch.PPC64LE, func(p *handProcess) {
			p.put(sp+368, 8, sp+376)
			p.put(sp+760+8, 8, f64(7.5))
		}, 33, double, "7.5"},
		{"not a signal frame", arch.PPC64LE, func(p *handProcess) { p.put(sp+744+8, 8, f64(7.5)) }, 33, double, "<f1 not recovered>"},
		{"v_regs", arch.PPC64, func(p *handProcess) {
			p.put(sp+352, 8, sp+360)
			p.put(sp+1008, 8, sp+1100)
			p.put(sp+1100+16+12, 4, 11)
		}, 78, base("int", types.EncSigned, 4), "11"},
		{"with description", arch.PPC, func(p *handProcess) {
			p.put(sp+256, 4, sp+400)
			p.put(sp+592+8, 8, f64(7.25))
		}, 33, double, "7.25"},
		{"without", arch.PPC, func(p *handProcess) {
			p.put(sp+92, 4, sp+96)
			p.put(sp+288+8, 8, f64(7.75))
		}, 33, double, "7.75"},
		{"with description", arch.S390, func(p *handProcess) { p.put(sp+392+8, 8, f64(8.25)) }, 16, double, "8.25"},
		{"without", arch.S390, func(p *handProcess) {
			p.put(sp+104, 4, sp+112)
			p.put(sp+248+8, 8, f64(8.75))
		}, 16, double, "8.75"},
		{"with description", arch.S390X, func(p *handProcess) { p.put(sp+544+8, 8, f64(8.5)) }, 16, double, "8.5"},
		{"without", arch.S390X, func(p *handProcess) {
			p.put(sp+168, 8, sp+176)
			p.put(sp+384+8, 8, f64(9.5))
		}, 16, double, "9.5"},
		{"n64", arch.MIPS64EL, func(p *handProcess) { p.put(sp+448+8, 8, f64(10.5)) }, 33, double, "10.5"},
		{"fpregs", arch.RISCV64, func(p *handProcess) { p.put(sp+560+8, 8, f64(11.5)) }, 33, double, "11.5"},
	} {
		p := newHand(tc.arch, 4096)
		tc.fill(p)
		if got := handValue(t, p, p.walk(t), 1, dwarf.LangC99, regx(tc.reg), tc.typ); got != tc.want {
			t.Errorf("%s, %s: %s, want %s", tc.arch.Name, tc.name, got, tc.want)
		}
	}
}

// TestSavedDoubles: callers have the double registers of ARM that calls preserve, which are pairs
// of single ones.
func TestSavedDoubles(t *testing.T) {
	p := newHand(arch.ARM, 8)
	d8, _ := arch.ARM.FromDWARF(264)
	frames := p.walkBy(t, func(_, out *unwind.Frame) { out.SetReg(d8, f32(2.5)<<32|f32(1.5), unwind.Location{}) })
	float, double := base("float", types.EncFloat, 4), base("long long", types.EncUnsigned, 8)
	for _, c := range []struct {
		reg  uint64
		typ  *handDIE
		want string
	}{{80, float, "1.5"}, {81, float, "2.5"}, {79, float, "<s15 not recovered>"}, {82, float, "<s18 not recovered>"}, {264, double, fmt.Sprint(f32(2.5)<<32 | f32(1.5))}, {265, double, "<d9 not recovered>"}} {
		if got := handValue(t, p, frames, 1, dwarf.LangC99, regx(c.reg), c.typ); got != c.want {
			t.Errorf("%d: %s, want %s", c.reg, got, c.want)
		}
	}
}

// TestWideRegisters reads parts of registers, and objects wider than one.
func TestWideRegisters(t *testing.T) {
	integer, wide := base("int", types.EncUnsigned, 4), base("__int128", types.EncUnsigned, 16)
	for _, a := range []*arch.Arch{arch.X86, arch.PPC} {
		p := newHand(a, 8)
		r3, _ := a.FromDWARF(3)
		p.regs.Set(r3, 7)
		if got := handValue(t, p, p.walk(t), 0, dwarf.LangC99, []byte{0x53}, base("long long", types.EncSigned, 8)); got != "<corrupt location: 4 bytes for 64 bits>" {
			t.Errorf("%s: %s", a.Name, got)
		}
	}
	for _, a := range []*arch.Arch{arch.AMD64, arch.PPC64} {
		p := newHand(a, 8)
		r3, _ := a.FromDWARF(3)
		p.regs.Set(r3, 0x1122334455667788)
		for _, c := range []struct {
			name  string
			place []byte
			typ   *handDIE
			want  string
		}{
			{"upper half", append([]byte{0x53}, bitPiece(32, 32)...), integer, fmt.Sprint(0x11223344)},
			{"lower half", append([]byte{0x53}, bitPiece(32, 0)...), integer, fmt.Sprint(0x55667788)},
			{"beyond it", append([]byte{0x53}, bitPiece(32, 33)...), integer, "<corrupt location: 8 bytes for 65 bits>"},
			{"too wide", []byte{0x53}, wide, "<corrupt location: 8 bytes for 128 bits>"},
			{"computed", []byte{0x35, 0x9f}, wide, "5"},
		} {
			if got := handValue(t, p, p.walk(t), 0, dwarf.LangC99, c.place, c.typ); got != c.want {
				t.Errorf("%s, %s: %s, want %s", a.Name, c.name, got, c.want)
			}
		}
	}
}

// TestLongDoubles reads 1.5 as each machine writes it in 16 bytes.
func TestLongDoubles(t *testing.T) {
	const quad, pair, x87 = 0x3fff8000_00000000, 0x3ff80000_00000000, 0x3fff
	for _, c := range []struct {
		arch        *arch.Arch
		first, last uint64 // words of memory
	}{
		{arch.AMD64, 0xc000000000000000, x87}, {arch.ARM64, 0, quad}, {arch.RISCV64, 0, quad}, {arch.Loong64, 0, quad}, {arch.MIPS64EL, 0, quad},
		{arch.MIPS64, quad, 0}, {arch.S390X, quad, 0}, {arch.S390, quad, 0}, {arch.PPC64, pair, 0}, {arch.PPC, pair, 0}, {arch.PPC64LE, pair, 0},
	} {
		p := newHand(c.arch, 16)
		p.put(handBase, 8, c.first)
		p.put(handBase+8, 8, c.last)
		place := append([]byte{0x03}, bytesOf(c.arch.ByteOrder, handBase, c.arch.WordSize)...)
		if got := handValue(t, p, p.walk(t), 0, dwarf.LangC99, place, base("long double", types.EncFloat, 16)); got != "1.5" {
			t.Errorf("%s: %s", c.arch.Name, got)
		}
	}
}

// TestMemberFunctions: which part of a pointer to a member function tells that it is virtual.
func TestMemberFunctions(t *testing.T) {
	for _, c := range []struct {
		arch          *arch.Arch
		first, adjust uint64
	}{
		{arch.AMD64, 9, 0}, {arch.PPC64, 9, 0}, {arch.S390X, 9, 0}, {arch.RISCV64, 9, 0}, {arch.X86, 9, 0},
		{arch.ARM64, 8, 1}, {arch.ARM, 8, 1}, {arch.MIPS, 8, 1}, {arch.MIPS64, 8, 1},
	} {
		p := newHand(c.arch, 16)
		w := c.arch.WordSize
		p.put(handBase, w, c.first)
		p.put(handBase+uint64(w), w, c.adjust)
		fn, class := die(dwarf.TagSubroutineType), structure("s", 1)
		pointer := die(dwarf.TagPtrToMemberType, handAttr{dwarf.AttrType, fn}, handAttr{dwarf.AttrContainingType, class})
		place := append([]byte{0x03}, bytesOf(c.arch.ByteOrder, handBase, w)...)
		if got := handValue(t, p, p.walk(t), 0, dwarf.LangCPlusPlus, place, pointer, fn, class); got != "&virtual table offset 8, this adjustment 0" {
			t.Errorf("%s: %s", c.arch.Name, got)
		}
	}
}

// TestByteOrder reads values narrower than a register, pieces and bit-fields of
// machines of both byte orders.
func TestByteOrder(t *testing.T) {
	short, integer := base("short", types.EncSigned, 2), base("int", types.EncUnsigned, 4)
	member := func(name string, typ *handDIE, bits, at int) *handDIE {
		return die(dwarf.TagMember, handAttr{dwarf.AttrName, name}, handAttr{dwarf.AttrType, typ},
			handAttr{dwarf.AttrBitSize, bits}, handAttr{dwarf.AttrDataBitOffset, at})
	}
	fields := die(dwarf.TagStructureType, handAttr{dwarf.AttrName, "fields"}, handAttr{dwarf.AttrByteSize, 4}).with(
		member("a", integer, 3, 0), member("b", integer, 13, 3), member("c", integer, 16, 16))
	old := die(dwarf.TagStructureType, handAttr{dwarf.AttrName, "old"}, handAttr{dwarf.AttrByteSize, 4}).with(
		die(dwarf.TagMember, handAttr{dwarf.AttrName, "a"}, handAttr{dwarf.AttrType, integer}, handAttr{dwarf.AttrByteSize, 4},
			handAttr{dwarf.AttrBitSize, 4}, handAttr{dwarf.AttrBitOffset, 4}, handAttr{dwarf.AttrDataMemberLoc, 0}))
	reg := func(a *arch.Arch, n uint64) []byte { return []byte{0x50 + byte(n)} }
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	for _, tc := range []struct {
		name        string
		place       func(a *arch.Arch) []byte
		typ         *handDIE
		more        []*handDIE
		memory      []byte
		little, big string
	}{
		{"short in a register", func(a *arch.Arch) []byte { return reg(a, 3) }, short, nil, nil, "-2", "-2"},
		{"short, computed", func(a *arch.Arch) []byte { return []byte{0x09, 0xfd, 0x9f} }, short, nil, nil, "-3", "-3"},
		{"two registers", func(a *arch.Arch) []byte {
			return join(reg(a, 3), []byte{0x93, 4}, reg(a, 4), []byte{0x93, 4})
		}, base("long long", types.EncUnsigned, 8), nil, nil, "1311768443376107518", "18374686471387108978"},
		{"a part of a register", func(a *arch.Arch) []byte {
			return join(reg(a, 3), bitPiece(8, 8), reg(a, 3), bitPiece(8, 0))
		}, base("unsigned short", types.EncUnsigned, 2), nil, nil, "65279", "65534"},
		{"bit-fields in memory", func(a *arch.Arch) []byte { return nil }, fields, []*handDIE{integer}, []byte{0x31, 0x40, 0x23, 0x01}, "{a = 1, b = 2054, c = 291}", "{a = 1, b = 4416, c = 8961}"},
		{"bit-field of DWARF 2", func(a *arch.Arch) []byte { return nil }, old, []*handDIE{integer}, []byte{0x25, 0, 0, 0x12}, "{a = 2}", "{a = 5}"},
	} {
		for _, a := range []*arch.Arch{arch.AMD64, arch.X86, arch.S390X, arch.PPC, arch.MIPS64} {
			p := newHand(a, 64)
			r3, _ := a.FromDWARF(3)
			r4, _ := a.FromDWARF(4)
			p.regs.Set(r3, a.Truncate(0xffffffff_fefffffe))
			p.regs.Set(r4, a.Truncate(0x12345678_12345672))
			copy(p.mem, tc.memory)
			place := tc.place(a)
			if place == nil {
				place = append([]byte{0x03}, bytesOf(a.ByteOrder, handBase, a.WordSize)...)
			}
			want := tc.little
			if a.Big() {
				want = tc.big
			}
			if got := handValue(t, p, p.walk(t), 0, dwarf.LangC99, place, tc.typ, tc.more...); got != want {
				t.Errorf("%s, %s: %s, want %s", a.Name, tc.name, got, want)
			}
		}
	}
}
