package steppers_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// indexed is an ELF file of ARM whose exception index gives the function at 0x100 the
// instructions given, three bytes, and those behind it none.
func indexed(tb testing.TB, ops [3]byte) *image.Image {
	tb.Helper()
	const index, size = 0x800, 0x1000
	le := binary.LittleEndian
	head := bytes.NewBuffer(nil)
	head.WriteString("\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	binary.Write(head, le, struct {
		Type, Machine                                              uint16
		Version, Entry, Phoff, Shoff, Flags                        uint32
		Ehsize, Phentsize, Phnum, Shentsize, Shnum, StringsSection uint16
	}{3, 40, 1, 0, 52, 0, 0x5000000, 52, 32, 2, 40, 0, 0})
	binary.Write(head, le, [...]uint32{1, 0, 0, 0, size, size, 5, 0x1000})
	binary.Write(head, le, [...]uint32{0x70000001, index, index, index, 16, 16, 4, 4}) // PT_ARM_EXIDX
	data := make([]byte, size)
	copy(data, head.Bytes())
	prel31 := func(at, to uint32) uint32 { return (to - at) & 0x7fffffff }
	le.PutUint32(data[index:], prel31(index, 0x100))
	le.PutUint32(data[index+4:], 0x80000000|uint32(ops[0])<<16|uint32(ops[1])<<8|uint32(ops[2]))
	le.PutUint32(data[index+8:], prel31(index+8, 0x140))
	le.PutUint32(data[index+12:], 1) // EXIDX_CANTUNWIND
	im, err := image.FromMemory(data, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return im
}

// The exception index leads to callers that made a call and are on the stack. It is asked
// late about a frame that was interrupted, for it tells of places where calls are.
func TestExidx(t *testing.T) {
	const fn, ra, sp, top = foreignCode + 0x108, foreignCode + 0x204, foreignStack + 0x100, foreignStack + foreignSize
	const finish = 0xb0
	for _, c := range []struct {
		name   string
		ops    [3]byte
		pc, sp uint64
		lr     uint64 // in the thread's registers
		words  []uint64
		top    bool   // the frame was interrupted, and the stepper is for such
		want   string // "" for no caller
		note   string
	}{
		{name: "pop r4, lr", ops: [3]byte{0xa8, finish, finish}, words: []uint64{0x44, ra},
			want: "0x10000204 sp 0x20000108 exidx, r4 0x44 saved at 0x20000100, r5 lost, pc 0x10000204 saved at 0x20000104"},
		{name: "pop r4, r5, lr", ops: [3]byte{0xa9, finish, finish}, words: []uint64{0x44, 0x55, ra},
			want: "0x10000204 sp 0x2000010c exidx, r4 0x44 saved at 0x20000100, r5 0x55 saved at 0x20000104, pc 0x10000204 saved at 0x20000108"},
		{name: "pop r4, pc", ops: [3]byte{0x88, 0x01, finish}, words: []uint64{0x44, ra},
			want: "0x10000204 sp 0x20000108 exidx, r4 0x44 saved at 0x20000100, r5 lost, pc 0x10000204 saved at 0x20000104"},
		{name: "return address in the link register", ops: [3]byte{0x00, finish, finish}, lr: ra, top: true,
			want: "0x10000204 sp 0x20000104 exidx, r4 0x4, r5 0x5, pc 0x10000204 in lr"},
		{name: "in the link register, a call made", ops: [3]byte{0x00, finish, finish}, lr: ra},
		{name: "to no call", ops: [3]byte{0xa8, finish, finish}, words: []uint64{0x44, ra + 4}, note: "does not follow a call"},
		{name: "to a signal's restorer", ops: [3]byte{0xa8, finish, finish}, words: []uint64{0x44, foreignCode + 0x300},
			want: "0x10000300 sp 0x20000108 exidx, r4 0x44 saved at 0x20000100, r5 lost, pc 0x10000300 saved at 0x20000104"},
		{name: "to zero", ops: [3]byte{0xa8, finish, finish}, words: []uint64{0x44, 0}, note: "return address is zero"},
		{name: "the stack's last words", ops: [3]byte{0xa8, finish, finish}, sp: top - 8, words: []uint64{0x44, ra},
			want: "0x10000204 sp 0x20001000 exidx, r4 0x44 saved at 0x20000ff8, r5 lost, pc 0x10000204 saved at 0x20000ffc"},
		{name: "beyond the stack", ops: [3]byte{0xa8, 0x00, finish}, sp: top - 8, words: []uint64{0x44, ra}, note: "not on the stack"},
		{name: "below SP", ops: [3]byte{0xa8, 0x42, finish}, words: []uint64{0x44, ra}, note: "not on the stack"},
		{name: "no function that can be left", ops: [3]byte{0xa8, finish, finish}, pc: foreignCode + 0x148, words: []uint64{0x44, ra}},
		{name: "before all functions", ops: [3]byte{0xa8, finish, finish}, pc: foreignCode + 0xf8, words: []uint64{0x44, ra}},
		{name: "no library", ops: [3]byte{0xa8, finish, finish}, pc: 0x10, words: []uint64{0x44, ra}, note: "no exception index"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newForeign(arch.ARM, map[int][]uint32{0x200: {0xeb000000}, 0x300: {0xe3a070ad, 0xef000000}}) // bl; a restorer
			lib, _ := p.libs.LibraryAt(foreignCode)
			lib.LoadBias = foreignCode
			pc, at := uint64(fn), uint64(sp)
			if c.pc != 0 {
				pc = c.pc
			}
			if c.sp != 0 {
				at = c.sp
			}
			p.putWords(at, c.words...)
			p.set(map[arch.Reg]uint64{arch.ARMPC: pc, arch.ARMSP: at, arch.ARMLR: c.lr, 4: 4, 5: 5, arch.ARM.Mode: 0})
			for _, interrupted := range []bool{false, true} {
				s := must(steppers.NewExidxStepper(fileOfAll{indexed(t, c.ops)}, interrupted))
				w := walker(t, p, nil, s)
				in := called(t, w, pc, at, 0)
				if c.top {
					in = must(w.InitialFrame(1))
				} else {
					in.SetReg(arch.ARMLR, c.lr, unwind.InRegister(arch.ARMLR))
				}
				f, err := w.WalkSingleFrame(in)
				if c.want == "" || interrupted != c.top {
					if err == nil {
						t.Errorf("for interrupted frames %v: %v; want no caller", interrupted, f)
					}
					if text := strings.Join(notes(in), "\n"); interrupted == c.top && !strings.Contains(text, c.note) {
						t.Errorf("notes %q do not say %q", text, c.note)
					}
					continue
				}
				if err != nil {
					t.Fatal(err, notes(in))
				}
				got := frameText(f, "r4", "r5", "pc")
				got = strings.NewReplacer("0x4 in r4", "0x4", "0x5 in r5", "0x5").Replace(got)
				if got != c.want {
					t.Errorf("%s; want %s", got, c.want)
				}
				if cfa, ok := in.CFA(); !ok || cfa != f.SP() {
					t.Errorf("CFA %#x, %v", cfa, ok)
				}
			}
		})
	}
}

// Vector registers that the index says are saved are read from the stack.
func TestExidxVectors(t *testing.T) {
	const sp = foreignStack + 0x100
	p := newForeign(arch.ARM, map[int][]uint32{0x200: {0xeb000000}})
	lib, _ := p.libs.LibraryAt(foreignCode)
	lib.LoadBias = foreignCode
	p.putWords(sp, 0xd8, 0, 0xd9, 0, 0x44, foreignCode+0x204)
	s := must(steppers.NewExidxStepper(fileOfAll{indexed(t, [3]byte{0xd1, 0xa8, 0xb0})}, false)) // vpop d8-d9; pop r4, lr
	w := walker(t, p, nil, s)
	in := called(t, w, foreignCode+0x108, sp, 0)
	f, err := w.WalkSingleFrame(in)
	if err != nil {
		t.Fatal(err, notes(in))
	}
	for i, want := range []uint64{0xd8, 0xd9, 0} {
		v, loc, ok := f.Reg(arch.ARMD8 + arch.Reg(i))
		if ok != (want != 0) || ok && (v != want || loc != unwind.AtAddress(sp+8*uint64(i))) {
			t.Errorf("d%d = %#x at %s, %v; want %#x", 8+i, v, loc.Describe(arch.ARM), ok, want)
		}
	}
}

// What the index's instructions cannot do, or leave alone.
func TestExidxRegisters(t *testing.T) {
	const sp, ra, hidden = foreignStack + 0x100, foreignCode + 0x204, 0x30000000
	const top = foreignStack + foreignSize
	for _, c := range []struct {
		name  string
		ops   [3]byte
		sp    uint64
		top   bool
		words []uint64
		want  string // registers of the caller; "" for no caller
		note  string
	}{
		{"pop r0 to r3, pop lr", [3]byte{0xb1, 0x0f, 0xb0}, sp, true, []uint64{1, 2, 3, 4},
			"r0 0x1 saved at 0x20000100, r3 0x4 saved at 0x2000010c, d8 0xd8 in d8, pc 0x10000204 in lr", ""},
		{"SP from r0", [3]byte{0x90, 0xb0, 0xb0}, sp, true, nil, "d8 0xd8 in d8, pc 0x10000204 in lr", ""},
		{"a register that is not known", [3]byte{0x99, 0xb0, 0xb0}, sp, true, nil, "", "Exidx: "},
		{"refuses", [3]byte{0x80, 0x00, 0xb0}, sp, false, nil, "", "Exidx: "},
		{"reads where nothing is", [3]byte{0xa8, 0xb0, 0xb0}, top - 4, false, []uint64{1}, "", "memory at 0x20001000"},
		{"code that is not there", [3]byte{0xa8, 0xb0, 0xb0}, sp, false, []uint64{4, hidden + 0x40}, "d8 0xd8 in d8, pc 0x30000040 saved at 0x20000104", ""},
		{"vector registers at the end of the stack", [3]byte{0xa8, 0xd0, 0xb0}, top - 16, false, []uint64{4, ra, 0x88, 0x99},
			"d8 0x9900000088 saved at 0x20000ff8, pc 0x10000204 saved at 0x20000ff4", ""},
		{"vector registers behind what was recorded of the stack", [3]byte{0xa8, 0xd0, 0xb0}, top - 8, false, []uint64{4, ra},
			"d8 lost, pc 0x10000204 saved at 0x20000ffc", ""},
	} {
		p := newForeign(arch.ARM, map[int][]uint32{0x200: {0xeb000000}}) // bl
		if strings.Contains(c.name, "recorded") {
			p.segs[1].m.End += 0x100
		}
		p.segs = append(p.segs, seg{m: libstate.Mapping{Start: hidden, End: hidden + foreignSize, Perm: libstate.Read | libstate.Exec}})
		lib, _ := p.libs.LibraryAt(foreignCode)
		lib.LoadBias = foreignCode
		p.putWords(c.sp, c.words...)
		p.set(map[arch.Reg]uint64{arch.ARMPC: foreignCode + 0x108, arch.ARMSP: c.sp, arch.ARMLR: ra, arch.ARMR0: sp + 0x40, arch.ARMD8: 0xd8, arch.ARM.Mode: 0})
		s := must(steppers.NewExidxStepper(fileOfAll{indexed(t, c.ops)}, c.top))
		w := walker(t, p, nil, s)
		in := called(t, w, foreignCode+0x108, c.sp, 0)
		in.SetReg(arch.ARMD8, 0xd8, unwind.InRegister(arch.ARMD8))
		if c.top {
			in = must(w.InitialFrame(1))
		}
		f, err := w.WalkSingleFrame(in)
		if c.want == "" {
			if text := strings.Join(notes(in), "\n"); err == nil || !strings.Contains(text, c.note) {
				t.Errorf("%s: %v, %v; notes %q", c.name, f, err, text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v, %q", c.name, err, notes(in))
			continue
		}
		var names []string
		for part := range strings.SplitSeq(c.want, ", ") {
			name, _, _ := strings.Cut(part, " ")
			names = append(names, name)
		}
		if got := frameText(f, names...); !strings.HasSuffix(got, ", "+c.want) {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
		if c.ops[0] == 0x90 && f.SP() != sp+0x40 {
			t.Errorf("%s: SP %#x", c.name, f.SP())
		}
	}
}
