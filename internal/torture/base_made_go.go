package main

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

func init() {
	// Each look-up goes through the table from the beginning of the function, whose code is megabytes.
	made["Go program with long tables"] = func() ([]byte, []byte) {
		const code = 3 << 20
		return goStack(20_000, code), goProgram(code, func(table []byte) []byte {
			return append(table, bytes.Repeat([]byte{15, 1, 16, 1}, code/2)...)
		}, 1)
	}
	// The functions are one another's records, and the table of frames is the table of names.
	made["Go program whose tables are one"] = func() ([]byte, []byte) {
		const code = 1 << 20
		return goStack(2000, code), goProgram(code, func(table []byte) []byte { return append(table, 16, 0xff, 0xff, 0x3f) }, 100_000)
	}
}

// goProgram makes a program of Go of one function of so much code, or of many with one record. fill adds to what begins the table of
// its frames, files and lines.
func goProgram(code int, fill func(table []byte) []byte, functions int) []byte {
	le := binary.LittleEndian
	e := newELF()
	e.remove(".debug_frame")
	e.text = bytes.Repeat([]byte{0x90}, code+0x1000)
	for i := 11; i+5 < len(e.text); i += 16 {
		copy(e.text[i:], []byte{0xe8, 0, 0, 0, 0})
	}
	names := []byte("main.f\x00_rt0_amd64_linux\x00")
	cus := []byte{0, 0, 0, 0}
	files := []byte("main.go\x00")
	pcs := fill([]byte{0, 34, 1}) // 16 bytes at even addresses, 8 at odd ones, where calls end
	record := func(entry, name uint32) []byte {
		b := le.AppendUint32(le.AppendUint32(nil, entry), name)
		for _, v := range []uint32{0, 0, 1, 1, 1, 0, 0, 1} {
			b = le.AppendUint32(b, v)
		}
		return append(b, 0, 0, 0, 0)
	}
	var index, records []byte
	at := uint32(8*(functions+1) + 4)
	for i := range functions {
		entry := uint32(i * (code / functions))
		index = le.AppendUint32(le.AppendUint32(index, entry), at+uint32(len(records)))
		if functions == 1 || i == 0 {
			records = append(records, record(entry, 0)...)
		}
	}
	index = le.AppendUint32(le.AppendUint32(index, uint32(code)), at+uint32(len(records)))
	records = append(records, record(uint32(code), 7)...)
	index = le.AppendUint32(index, uint32(code+0x100))
	table := append([]byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}, make([]byte, 64)...)
	for i, part := range [][]byte{names, cus, files, pcs, slices.Concat(index, records)} {
		le.PutUint64(table[8+8*(3+i):], uint64(len(table)))
		table = append(table, part...)
	}
	le.PutUint64(table[8:], uint64(functions+1))
	le.PutUint64(table[24:], madeText)
	e.section(".gopclntab", table)
	b := e.bytes()
	le.PutUint64(b[24:], madeText+uint64(code)) // the entry point
	return b
}

// goStack is a core of the program, with frames of 16 bytes at ever other addresses near the end of the function.
func goStack(frames, code int) []byte {
	const sp = madeStack
	c := corebuild.New()
	var stack []byte
	for i := range frames {
		pc := madeText + uint64(code) - 16*(1+uint64(i)%(uint64(code)/32))
		stack = append(append(stack, u64(0)...), u64(pc)...)
	}
	c.Thread(7, 11, corebuild.AMD64Regs(map[arch.Reg]uint64{arch.RSP: sp, arch.RIP: madeText + uint64(code) - 63, arch.RBP: sp}))
	c.PSInfo(7, "program", "program")
	size := uint64(code + 0x1000)
	c.Files(corebuild.Mapping{Start: madeBase, End: madeBase + 0x1000, Path: "/opt/program"}, corebuild.Mapping{Start: madeText, End: madeText + size, Offset: 0x1000, Path: "/opt/program"})
	c.Load(madeBase, elffile.PF_R, 0x1000, nil)
	c.Load(madeText, elffile.PF_R|elffile.PF_X, size, nil)
	c.Load(sp, elffile.PF_R|elffile.PF_W, uint64(len(stack)+4095)&^4095, stack)
	return c.Bytes()
}
