package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Tables that many entries share, lie over one another, or say more than their bytes do.

// manyText is the size of the code of a program of one function every 16 bytes, each of which has frames.
const manyText = 1 << 19

// manyFunctions makes such a program, and a core whose frames are each in another function. The program's DWARF is to be added.
func manyFunctions(frames int) (*elfMade, []byte) {
	e := newELF()
	e.text, e.entry = bytes.Repeat([]byte{0x90}, manyText), madeText+manyText-1
	for i := 11; i+5 <= len(e.text); i += 16 {
		copy(e.text[i:], []byte{0xe8, 0, 0, 0, 0})
	}
	e.section(".debug_frame", madeFramesOf(manyText, nil, nil))
	c := corebuild.New()
	var stack []byte
	for i := range frames {
		stack = append(append(stack, u64(madeStack+16*uint64(i+1))...), u64(madeText+16*(1+uint64(i)%(manyText/16-1)))...)
	}
	c.Thread(7, 11, corebuild.AMD64Regs(map[arch.Reg]uint64{arch.RSP: madeStack, arch.RIP: madePC, arch.RBP: madeStack}))
	c.PSInfo(7, "program", "program")
	c.Files(corebuild.Mapping{Start: madeBase, End: madeBase + 0x1000, Path: "/opt/program"}, corebuild.Mapping{Start: madeText, End: madeText + manyText, Offset: 0x1000, Path: "/opt/program"})
	c.Load(madeBase, elffile.PF_R, 0x1000, nil)
	c.Load(madeText, elffile.PF_R|elffile.PF_X, manyText, nil)
	c.Load(madeStack, elffile.PF_R|elffile.PF_W, uint64(len(stack)+4095)&^4095, stack)
	return e, c.Bytes()
}

// madeFramesOf is the call frame information of code at madeText, with more instructions of its CIE and of its FDE.
func madeFramesOf(size uint64, cieMore, fdeMore []byte) []byte {
	le := binary.LittleEndian
	cie := append([]byte{0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0x0c, 6, 16, 0x90, 1, 0x86, 2}, cieMore...)
	b := append(le.AppendUint32(nil, uint32(len(cie))), cie...)
	fde := le.AppendUint64(le.AppendUint64(le.AppendUint32(nil, 0), madeText), size)
	fde = append(fde, fdeMore...)
	return append(le.AppendUint32(b, uint32(len(fde))), fde...)
}

// unit4 makes a unit of DWARF 4 whose abbreviations are at off.
func unit4(off int, body ...[]byte) []byte {
	all := slices.Concat(body...)
	b := le32(uint32(7 + len(all)))
	b = append(b, 4, 0)
	b = append(append(b, le32(uint32(off))...), 8)
	return append(b, all...)
}

// lineTable5 makes a line table of version 5: the format and the entries of its directories and files, and its program.
func lineTable5(tables, program []byte) []byte {
	head := append([]byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}, tables...)
	b := append([]byte{5, 0, 8, 0}, le32(uint32(len(head)))...)
	b = append(append(b, head...), program...)
	return append(le32(uint32(len(b))), b...)
}

func init() {
	made["abbreviations over one another"] = func() ([]byte, []byte) {
		e, core := manyFunctions(30_000)
		const units = 30_000
		var abbrev, info []byte
		for i := range units { // each unit's table is the rest of all
			off := len(abbrev)
			abbrev = append(append(abbrev, uleb(uint64(i+1))...), 0x11, 0, 0x11, 1, 0x12, 7, 0x03, 8, 0, 0)
			info = append(info, unit4(off, uleb(uint64(i+1)), u64(madeText+16*uint64(i)), u64(16), str("u"))...)
		}
		e.section(".debug_abbrev", append(abbrev, 0))
		e.section(".debug_info", info)
		return core, e.bytes()
	}
	made["line tables over one another"] = func() ([]byte, []byte) {
		e, core := manyFunctions(30_000)
		const units = 30_000
		const entry = 4 + 2 + 4 + 6 + 12 + 2
		program := append(setAddress(madeText), bytes.Repeat([]byte{0x20}, 1<<20)...)
		program = append(program, 0, 1, 1)
		var lines, info []byte
		for i := range units {
			left := entry * (units - i)
			b := append(le32(uint32(left-4+len(program))), 4, 0)
			b = append(append(b, le32(uint32(left-10))...), 1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0)
			lines = append(lines, b[:entry]...)
			info = append(info, unit4(0, []byte{1}, u64(madeText+16*uint64(i)), u64(16), le32(uint32(entry*i)))...)
		}
		e.section(".debug_abbrev", rootLines)
		e.section(".debug_info", info)
		e.section(".debug_line", append(lines, program...))
		return core, e.bytes()
	}
	made["file names of attributes without bytes"] = func() ([]byte, []byte) {
		e, core := manyFunctions(30_000)
		const units, tables = 2000, 5
		// Each file has 254 attributes without bytes, and one of a byte.
		format := []byte{1, 1, 8, 1, 0, 255} // one directory, "", and the format of the files
		for range 253 {
			format = append(format, 7, 0x19)
		}
		format = append(format, 1, 8, 2, 0x0b)
		names := slices.Concat(format, uleb(1<<20), bytes.Repeat([]byte{0, 0}, 1<<20))
		one := lineTable5(names, slices.Concat(setAddress(madeText), bytes.Repeat([]byte{0x4b}, manyText/4), []byte{0, 1, 1}))
		var info []byte
		for i := range units {
			info = append(info, unit4(0, []byte{1}, u64(madeText+256*uint64(i)), u64(256), le32(uint32(len(one)*(i%tables))))...)
		}
		e.section(".debug_abbrev", rootLines)
		e.section(".debug_info", info)
		e.section(".debug_line", bytes.Repeat(one, tables))
		return core, e.bytes()
	}
	made["location list of all variables"] = func() ([]byte, []byte) {
		e, d := newELF(), newDWARF()
		typ := d.integer()
		d.function()
		for i := range 2000 {
			d.die(0x34, false, 0x03, 0x08, str(fmt.Sprint("v", i)), 0x49, 0x13, ref(typ), 0x02, 0x17, le32(0))
		}
		d.end(2)
		d.into(e)
		e.section(".debug_loc", append(bytes.Repeat(slices.Concat(u64(0), u64(1), []byte{1, 0, 0x50}), 500_000), make([]byte, 16)...))
		return newCore(1000).bytes(), e.bytes()
	}
	made["ranges of all blocks"] = func() ([]byte, []byte) {
		e, d := newELF(), newDWARF()
		typ := d.integer()
		d.function()
		for i := range 20_000 {
			d.die(0x0b, true, 0x55, 0x17, le32(0))
			d.variable(0x34, fmt.Sprint("v", i), typ)
			d.end(1)
		}
		d.end(2)
		d.into(e)
		e.section(".debug_ranges", append(bytes.Repeat(slices.Concat(u64(1), u64(2)), 500_000), make([]byte, 16)...))
		return newCore(1000).bytes(), e.bytes()
	}
	made["ranges of all units"] = func() ([]byte, []byte) {
		e, core := manyFunctions(1000)
		var info []byte
		for range 50_000 {
			info = append(info, unit4(0, []byte{1}, le32(0))...)
		}
		e.section(".debug_abbrev", []byte{1, 0x11, 0, 0x55, 0x17, 0, 0, 0})
		e.section(".debug_info", info)
		e.section(".debug_ranges", append(bytes.Repeat(slices.Concat(u64(1), u64(2)), 500_000), make([]byte, 16)...))
		return core, e.bytes()
	}
	made["pieces of variables"] = func() ([]byte, []byte) {
		return withDWARF(1000, func(d *dwarfMade) {
			typ := d.integer()
			d.function()
			for i := range 100 {
				d.variable(0x34, fmt.Sprint("v", i), typ, bytes.Repeat([]byte{0x50, 0x93, 0}, 10_000)...)
			}
			d.end(2)
		})
	}
	made["implicit pointers in a circle"] = func() ([]byte, []byte) {
		return withDWARF(1000, func(d *dwarfMade) {
			typ := d.integer()
			ptr := d.die(0x0f, false, 0x49, 0x13, ref(len(d.info)))
			d.function()
			for i := range 100 {
				self := le32(uint32(len(d.info)))
				d.variable(0x34, fmt.Sprint("v", i), ptr, append(append([]byte{0xa0}, self...), 0)...)
			}
			d.variable(0x34, "w", typ)
			d.end(2)
		})
	}
	made["forms that name forms"] = func() ([]byte, []byte) {
		return withDWARF(1000, func(d *dwarfMade) {
			typ := d.integer()
			d.function()
			for i := range 10 {
				d.die(0x34, false, 0x03, 0x08, str(fmt.Sprint("v", i)), 0x49, 0x13, ref(typ), 0x02, 0x16, append(bytes.Repeat([]byte{0x16}, 1<<20), 0x18, 2, 0x91, 0x70))
			}
			d.end(2)
		})
	}
	made["functions that are one another"] = func() ([]byte, []byte) {
		return withDWARF(1000, func(d *dwarfMade) {
			at := len(d.info)
			size := 1 + 4 + 4 + 8 + 8
			for i := range 50_000 {
				next := at + size*((i+1)%50_000)
				d.die(0x2e, false, 0x31, 0x13, ref(next), 0x47, 0x13, ref(next), 0x11, 0x01, u64(madeText), 0x12, 0x07, u64(madeEnd-madeText))
			}
			d.end(1)
		})
	}
	made["units that import themselves"] = func() ([]byte, []byte) {
		return withDWARF(1000, func(d *dwarfMade) {
			typ := d.integer()
			for range 100_000 {
				d.die(0x3d, false, 0x18, 0x10, le32(11)) // DW_TAG_imported_unit, DW_AT_import
			}
			d.function()
			d.variable(0x34, "v", typ)
			d.end(2)
		})
	}
	made["type units of one signature"] = func() ([]byte, []byte) {
		return withDWARF(1000, func(d *dwarfMade) {
			d.function()
			for i := range 1000 {
				d.die(0x34, false, 0x03, 0x08, str(fmt.Sprint("v", i)), 0x49, 0x20, u64(7), 0x02, 0x18, block(0x91, 0x70))
			}
			d.end(2)
		})
	}
	made["frames of one long CIE"] = func() ([]byte, []byte) {
		e, core := manyFunctions(30_000)
		e.section(".debug_frame", madeFramesOf(manyText, bytes.Repeat([]byte{0x0a, 0x0b}, 1<<20), nil))
		return core, e.bytes()
	}
	made["frames of which each has a long CIE"] = func() ([]byte, []byte) {
		e, core := manyFunctions(30_000)
		le := binary.LittleEndian
		b := madeFramesOf(16, bytes.Repeat([]byte{0x0a, 0x0b}, 1<<19), nil)
		for i := range manyText / 16 {
			b = append(b, le.AppendUint64(le.AppendUint64(le32(20, 0), madeText+16*uint64(i)), 16)...)
		}
		e.section(".debug_frame", b)
		return core, e.bytes()
	}
	made["augmentations without an end"] = func() ([]byte, []byte) {
		e, core := manyFunctions(30_000)
		le := binary.LittleEndian
		cie := slices.Concat([]byte{0xff, 0xff, 0xff, 0xff, 1}, []byte("z"), bytes.Repeat([]byte("B"), 1<<20), []byte{0, 1, 0x78, 16, 0, 0x0c, 6, 16, 0x90, 1, 0x86, 2})
		b := append(le.AppendUint32(nil, uint32(len(cie))), cie...)
		for i := range manyText / 16 {
			b = append(b, le.AppendUint64(le.AppendUint64(le32(21, 0), madeText+16*uint64(i)), 16)...)
			b = append(b, 0)
		}
		e.section(".debug_frame", b)
		return core, e.bytes()
	}
	made["arrays of nothing"] = func() ([]byte, []byte) {
		return withDWARF(1000, func(d *dwarfMade) {
			none := d.die(0x13, false, 0x03, 0x08, str("none"), 0x0b, 0x0b, []byte{0})
			arr := d.die(0x01, true, 0x49, 0x13, ref(none))
			for range 8 {
				d.die(0x21, false, 0x2f, 0x06, []byte{255, 255, 255, 127})
			}
			d.end(1)
			d.function()
			for i := range 1000 {
				d.variable(0x34, fmt.Sprint("v", i), arr)
			}
			d.end(2)
		})
	}
	made["parameters of call sites"] = func() ([]byte, []byte) {
		return withDWARF(30_000, func(d *dwarfMade) {
			typ := d.integer()
			d.function()
			for i := range 100 {
				d.variable(0x05, fmt.Sprint("v", i), typ, 0xa3, 1, 0x55, 0x9f)
			}
			d.die(0x48, true, 0x7d, 0x01, u64(madePC))
			for range 20_000 {
				d.die(0x49, false, 0x02, 0x18, block(0x54), 0x7e, 0x18, block(0xa3, 1, 0x55))
			}
			d.end(1)
			d.end(2)
		})
	}
	made["variants of one variable"] = func() ([]byte, []byte) {
		return withDWARF(1000, func(d *dwarfMade) {
			typ := d.integer()
			wide := d.die(0x13, true, 0x03, 0x08, str("Enum"), 0x0b, 0x0b, []byte{8})
			at := len(d.info)
			d.die(0x33, true, 0x15, 0x13, ref(at+5))
			d.die(0x0d, false, 0x49, 0x13, ref(typ), 0x38, 0x0b, []byte{0})
			for i := range 200_000 {
				d.die(0x19, true, 0x16, 0x0f, uleb(uint64(i)+1<<20))
				d.die(0x0d, false, 0x03, 0x08, str("V"), 0x49, 0x13, ref(wide), 0x38, 0x0b, []byte{0})
				d.end(1)
			}
			d.end(2)
			d.function()
			for i := range 100 {
				d.variable(0x34, fmt.Sprint("v", i), wide)
			}
			d.end(2)
		})
	}
}
