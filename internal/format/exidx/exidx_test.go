package exidx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// state formats Run's result: restored registers with their locations, stack pointer and
// return address.
func state(f *Frame) string {
	var b strings.Builder
	for r := range 16 {
		if f.Restored>>r&1 != 0 {
			fmt.Fprintf(&b, "r%d@%#x ", r, f.Saved[r])
		}
	}
	for r := range 32 {
		if f.RestoredD>>r&1 != 0 {
			fmt.Fprintf(&b, "d%d@%#x ", r, f.SavedD[r])
		}
	}
	fmt.Fprintf(&b, "sp=%#x pc=%#x", f.Reg[sp], f.Reg[pc])
	return b.String()
}

// Each word of memory contains its own address plus 0x100000. r0 to r15 contain 0x2000 plus
// their number, except sp, which is 0x1000.
func TestRun(t *testing.T) {
	for _, test := range []struct {
		ops  string
		want string
		err  error
	}{
		{ops: "", want: "sp=0x1000 pc=0x200e"},
		{ops: "b0", want: "sp=0x1000 pc=0x200e"},
		{ops: "00 3f 40", want: "sp=0x1100 pc=0x200e"},
		{ops: "84 00", want: "r14@0x1000 sp=0x1004 pc=0x101000"},
		{ops: "88 01", want: "r4@0x1000 r15@0x1004 sp=0x1008 pc=0x101004"},
		{ops: "82 00", want: "r13@0x1000 sp=0x101000 pc=0x200e"},
		{ops: "80 00", err: ErrRefused},
		{ops: "9b 41 84 80 b0 88", want: "r11@0x2003 r14@0x2007 sp=0x200b pc=0x102007"},
		{ops: "9d", err: ErrSpare},
		{ops: "9f", err: ErrSpare},
		{ops: "a9", want: "r4@0x1000 r5@0x1004 r14@0x1008 sp=0x100c pc=0x101008"},
		{ops: "a1", want: "r4@0x1000 r5@0x1004 sp=0x1008 pc=0x200e"},
		{ops: "b1 09", want: "r0@0x1000 r3@0x1004 sp=0x1008 pc=0x200e"},
		{ops: "b1 00", err: ErrSpare},
		{ops: "b1 10", err: ErrSpare},
		{ops: "b2 04", want: "sp=0x1214 pc=0x200e"},
		{ops: "b2 81 01", want: "sp=0x1408 pc=0x200e"},
		{ops: "b3 81", want: "d8@0x1000 d9@0x1008 sp=0x1014 pc=0x200e"},
		{ops: "b4 b5", want: "sp=0x1004 pc=0x200e"},
		{ops: "b6", err: ErrSpare},
		{ops: "b9", want: "d8@0x1000 d9@0x1008 sp=0x1014 pc=0x200e"},
		{ops: "c1", want: "sp=0x1010 pc=0x200e"},
		{ops: "c6 a1", want: "sp=0x1010 pc=0x200e"},
		{ops: "c7 05", want: "sp=0x1008 pc=0x200e"},
		{ops: "c7 00", err: ErrSpare},
		{ops: "c8 00", want: "d16@0x1000 sp=0x1008 pc=0x200e"},
		{ops: "c8 f1", err: ErrSpare},
		{ops: "c9 81", want: "d8@0x1000 d9@0x1008 sp=0x1010 pc=0x200e"},
		{ops: "ca", err: ErrSpare},
		{ops: "d0 84 00", want: "r14@0x1008 d8@0x1000 sp=0x100c pc=0x101008"},
		{ops: "e0", err: ErrSpare},
		{ops: "b2 ff ff ff ff ff ff ff", want: "sp=0x1200 pc=0x200e"},
	} {
		var ops []byte
		for _, s := range strings.Fields(test.ops) {
			var b byte
			fmt.Sscanf(s, "%x", &b)
			ops = append(ops, b)
		}
		f := Frame{Known: 0xffff}
		for r := range f.Reg {
			f.Reg[r] = 0x2000 + uint32(r)
		}
		f.Reg[sp] = 0x1000
		err := Run(ops, &f, func(addr uint32) (uint32, error) { return addr + 0x100000, nil })
		if !errors.Is(err, test.err) {
			t.Errorf("%s: error %v, want %v", test.ops, err, test.err)
		} else if got := state(&f); err == nil && got != test.want {
			t.Errorf("%s: %s, want %s", test.ops, got, test.want)
		}
	}
}

func TestRunUnknown(t *testing.T) {
	read := func(uint32) (uint32, error) { return 0, errors.New("no memory") }
	f := Frame{Known: 1 << sp}
	if err := Run([]byte{0x9b}, &f, read); !errors.Is(err, ErrUnknownReg) {
		t.Errorf("sp from r11: %v", err)
	}
	f = Frame{Known: 1 << sp}
	if err := Run(nil, &f, read); !errors.Is(err, ErrUnknownReg) {
		t.Errorf("return by lr: %v", err)
	}
	f = Frame{Known: 0xffff}
	if err := Run([]byte{0xa8}, &f, read); err == nil || !strings.Contains(err.Error(), "saved r4: no memory") {
		t.Errorf("no memory: %v", err)
	}
}

// words are little-endian.
func words(w ...uint32) (b []byte) {
	for _, v := range w {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func TestEntries(t *testing.T) {
	const index, extab = 0x8000, 0x9000
	rel := func(at, to uint32) uint32 { return (to - at) & 0x7fffffff }
	code := func(i int, to uint32) uint32 { return rel(index+uint32(8*i), to) }
	ext := func(i int, off uint32) uint32 { return rel(index+uint32(8*i)+4, extab+off) }
	table := New(words(
		code(0, 0x1000), 0x80a8b0b0,
		code(1, 0x1101), 1, // its code is T32
		code(2, 0x1200), ext(2, 0),
		code(3, 0x1300), ext(3, 4),
		code(4, 0x1400), ext(4, 12),
		code(5, 0x1500), 0x81000000,
		code(6, 0x1600), ext(6, 24),
		code(7, 0x1700), ext(7, 28),
		code(8, 0x1800), ext(8, 1000),
		0x80001900, 1,
		0xdead, // half an entry
	), index, binary.LittleEndian, func(addr uint64) []byte {
		data := words(
			0x80010203,
			0x81010405, 0x06070809, // one more word
			rel(extab+12, 0x5000), 0x01aabbcc, 0xddeeff00,
			0x83000000,
			0x81ff0000)
		if addr < extab || addr-extab >= uint64(len(data)) {
			return nil
		}
		return data[addr-extab:]
	})
	for _, test := range []struct {
		pc   uint64
		want string
		err  error
	}{
		{0xfff, "", ErrNotFound},
		{0x1000, "a8 b0 b0", nil},
		{0x10ff, "a8 b0 b0", nil},
		{0x1100, "", ErrCantUnwind},
		{0x1200, "01 02 03", nil},
		{0x1300, "04 05 06 07 08 09", nil},
		{0x1400, "aa bb cc dd ee ff 00", nil},
		{0x1500, "", ErrCorrupt},
		{0x1600, "", ErrCorrupt},
		{0x1700, "", ErrCorrupt},
		{0x1800, "", ErrCorrupt},
	} {
		var e Entry
		err := table.Find(test.pc, &e)
		if !errors.Is(err, test.err) {
			t.Errorf("%#x: error %v, want %v", test.pc, err, test.err)
		} else if got := fmt.Sprintf("% x", e.Ops()); err == nil && got != test.want {
			t.Errorf("%#x: %s, want %s", test.pc, got, test.want)
		}
		if test.pc == 0x1400 && (!e.Generic || e.Personality != 0x5000) {
			t.Errorf("personality %#x", e.Personality)
		}
	}
	var e Entry
	if err := table.entry(9, &e); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a word with bit 31: %v", err)
	}
}

// FuzzTable reads and executes entries of arbitrary bytes.
func FuzzTable(f *testing.F) {
	f.Add(words(0x1000, 0x80a8b0b0, 0x1100, 0x10), words(0x81010405, 0x06070809), uint64(0x9000))
	f.Fuzz(func(t *testing.T, index, extab []byte, pc uint64) {
		table := New(index, 0x8000, binary.LittleEndian, func(addr uint64) []byte {
			return extab[min(addr%64, uint64(len(extab))):]
		})
		var e Entry
		if table.Find(pc, &e) != nil {
			return
		}
		fr := Frame{Known: 0xffff}
		reads := 0
		Run(e.Ops(), &fr, func(addr uint32) (uint32, error) { reads++; return addr, nil })
		if reads > 16*maxOps {
			t.Errorf("%d reads", reads)
		}
	})
}
