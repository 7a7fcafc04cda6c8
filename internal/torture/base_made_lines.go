package main

import (
	"bytes"
	"fmt"
	"slices"
)

// Lines, files and units that are looked up for each frame, and cost much each time.

// lineTable4 makes a line table of version 4 with directories, files and a program.
func lineTable4(names, program []byte) []byte {
	head := append([]byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}, names...)
	b := append([]byte{4, 0}, le32(uint32(len(head)))...)
	b = append(append(b, head...), program...)
	return append(le32(uint32(len(b))), b...)
}

// rootLines are the abbreviations of units that have code and a line table.
var rootLines = []byte{1, 0x11, 0, 0x11, 1, 0x12, 7, 0x10, 0x17, 0, 0, 0}

// oneUnit has all code of manyFunctions, and the line table at the beginning.
func oneUnit() []byte { return unit4(0, []byte{1}, u64(madeText), u64(manyText), le32(0)) }

func setAddress(a uint64) []byte { return append([]byte{0, 9, 2}, u64(a)...) }

func withLines(frames int, table []byte) ([]byte, []byte) {
	e, core := manyFunctions(frames)
	e.section(".debug_abbrev", rootLines)
	e.section(".debug_info", oneUnit())
	e.section(".debug_line", table)
	return core, e.bytes()
}

func init() {
	made["line program of instructions without rows"] = func() ([]byte, []byte) {
		program := slices.Concat(setAddress(madeText), []byte{1}, bytes.Repeat([]byte{6}, 8<<20), []byte{0x2}, uleb(manyText-1), []byte{1, 0, 1, 1})
		return withLines(30_000, lineTable4([]byte{0, 'a', 0, 0, 0, 0, 0}, program))
	}
	made["lines that go back"] = func() ([]byte, []byte) {
		var program []byte
		for i := range 1_000_000 {
			program = append(append(program, setAddress(madeText+manyText-uint64(i)%manyText)...), 1)
		}
		return withLines(30_000, lineTable4([]byte{0, 'a', 0, 0, 0, 0, 0}, append(program, 0, 1, 1)))
	}
	made["files in one long directory"] = func() ([]byte, []byte) {
		names := append(bytes.Repeat([]byte("d"), 4<<20), 0, 0)
		program := setAddress(madeText)
		for i := range manyText / 16 {
			names = append(append(names, fmt.Sprint(i)...), 0, 1, 0, 0)
			program = append(append(append(program, 4), uleb(uint64(i+1))...), 0x12+16*14-13*16, 2, 16)
		}
		return withLines(30_000, lineTable4(append(names, 0), append(program, 1, 0, 1, 1)))
	}
	made["files of one long name"] = func() ([]byte, []byte) {
		names := append(bytes.Repeat([]byte("d"), 4<<20), 0, 0)
		program := setAddress(madeText)
		for i := range manyText / 256 {
			names = append(append(names, bytes.Repeat([]byte{byte('a' + i%26)}, 1<<16)...), 0, 1, 0, 0)
			program = append(append(append(program, 4), uleb(uint64(i+1))...), 1, 2, 0x80, 2)
		}
		return withLines(30_000, lineTable4(append(names, 0), append(program, 1, 0, 1, 1)))
	}
	made["unit under the ranges of another"] = func() ([]byte, []byte) {
		e, core := manyFunctions(30_000)
		var ranges []byte
		for i := range manyText / 2 { // between all addresses that are looked up
			ranges = append(append(ranges, u64(madeText+2*uint64(i))...), u64(madeText+2*uint64(i)+1)...)
		}
		info := slices.Concat(unit4(0, []byte{1}, u64(madeText), u64(manyText), le32(0)), unit4(0, []byte{2}, le32(0)))
		e.section(".debug_abbrev", append(rootLines[:len(rootLines)-1:len(rootLines)-1], 2, 0x11, 0, 0x55, 0x17, 0, 0, 0))
		e.section(".debug_info", info)
		e.section(".debug_ranges", append(ranges, make([]byte, 16)...))
		e.section(".debug_line", lineTable4([]byte{0, 'a', 0, 0, 0, 0, 0}, slices.Concat(setAddress(madeText), []byte{1, 2}, uleb(manyText), []byte{0, 1, 1})))
		return core, e.bytes()
	}
	made["function under others"] = func() ([]byte, []byte) {
		e, core := manyFunctions(30_000)
		d := newDWARF()
		d.die(0x2e, false, 0x03, 0x08, str("all"), 0x11, 0x01, u64(madeText), 0x12, 0x07, u64(manyText))
		for i := range manyText / 4 {
			d.die(0x2e, false, 0x03, 0x08, str("f"), 0x11, 0x01, u64(madeText+4*uint64(i)), 0x12, 0x07, u64(1))
		}
		d.end(1)
		copy(d.info[11+1+7+1+8:], u64(manyText))
		d.into(e)
		return core, e.bytes()
	}
	made["array of a wide enumeration"] = func() ([]byte, []byte) {
		return withDWARF(200, func(d *dwarfMade) {
			wide := d.die(0x04, true, 0x03, 0x08, str("wide"), 0x0b, 0x0b, []byte{4})
			for i := range 16_000 {
				d.die(0x28, false, 0x03, 0x08, str("m"), 0x1c, 0x0f, uleb(uint64(i+1)<<32))
			}
			d.end(1)
			arr := d.die(0x01, true, 0x49, 0x13, ref(wide))
			d.die(0x21, false, 0x2f, 0x06, []byte{255, 255, 0, 0})
			d.end(1)
			d.function()
			for i := range 100 {
				d.variable(0x34, fmt.Sprint("v", i), arr)
			}
			d.end(2)
		})
	}
	made["aranges over one another"] = func() ([]byte, []byte) {
		e, core := manyFunctions(30_000)
		d := newDWARF()
		d.end(1)
		d.into(e)
		var sets []byte
		for i := range 20_000 { // each holds all sets that follow
			left := 32 * (20_000 - i)
			sets = append(sets, le32(uint32(left-4))...)
			sets = append(sets, 2, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0)
			sets = append(append(sets, u64(1)...), u64(2)...)
		}
		e.section(".debug_aranges", sets)
		return core, e.bytes()
	}
}
