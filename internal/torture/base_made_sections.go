package main

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// What a section of a bomb repeats becomes so large: more than is believed, and as much as is.
const bombSection, likelySection = 512 << 20, 32 << 20

// compress makes a section of a header, which has the size, and of what begins it and what is repeated behind that.
func (e *elfMade) compress(name string, kind uint32, pack func([]byte) []byte, begin, repeat []byte, size int) {
	le := binary.LittleEndian
	if e.packed == nil {
		e.packed = map[string]bool{}
	}
	e.packed[name] = true
	data := slices.Concat(begin, bytes.Repeat(repeat, max(size-len(begin), 0)/len(repeat)))
	h := le.AppendUint32(le.AppendUint32(nil, kind), 0)
	h = le.AppendUint64(le.AppendUint64(h, uint64(len(data))), 1)
	e.section(name, append(h, pack(data)...))
}

func init() {
	const chZlib, chZstd = 1, 2
	for kind, how := range map[string]struct {
		method uint32
		pack   func([]byte) []byte
		size   int
	}{"zlib": {chZlib, zl, bombSection}, "zstd": {chZstd, zs, likelySection}} {
		with := func(fill func(e *elfMade, d *dwarfMade, put func(name string, begin, repeat []byte))) func() ([]byte, []byte) {
			return func() ([]byte, []byte) {
				e, d := newELF(), newDWARF()
				d.function()
				d.end(2)
				d.into(e)
				fill(e, d, func(name string, begin, repeat []byte) {
					e.compress(name, how.method, how.pack, begin, repeat, how.size)
				})
				return newCore(10).bytes(), e.bytes()
			}
		}
		made["sections of zeros in "+kind] = with(func(e *elfMade, _ *dwarfMade, put func(string, []byte, []byte)) {
			for _, name := range []string{".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_aranges", ".debug_frame", ".debug_types"} {
				put(name, nil, []byte{0})
			}
		})
		made["units of nothing in "+kind] = with(func(e *elfMade, d *dwarfMade, put func(string, []byte, []byte)) {
			unit := []byte{8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 0} // version 4, no entry
			put(".debug_info", unit, unit)
		})
		made["entries of one unit in "+kind] = with(func(e *elfMade, d *dwarfMade, put func(string, []byte, []byte)) {
			info := bytes.Clone(d.info)
			binary.LittleEndian.PutUint32(info, uint32(how.size-8))
			put(".debug_info", info[:len(info)-2], []byte{0x0, 0x0})
		})
		made["ranges in "+kind] = with(func(e *elfMade, _ *dwarfMade, put func(string, []byte, []byte)) {
			set := []byte{12, 0, 0, 0, 2, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0}
			put(".debug_aranges", set, set)
		})
		made["frames in "+kind] = with(func(e *elfMade, _ *dwarfMade, put func(string, []byte, []byte)) {
			all := madeFrames(nil)
			fde := all[20:]
			put(".debug_frame", all, fde)
		})
		made["symbols in "+kind] = with(func(e *elfMade, _ *dwarfMade, put func(string, []byte, []byte)) {
			symbol := append(append([]byte{1, 0, 0, 0, 0x12, 0, 1, 0}, u64(madeText)...), u64(0x400)...)
			put(".symtab", make([]byte, 24), symbol)
			e.section(".strtab", []byte("\x00name\x00"))
		})
	}
	made["bomb of .gnu_debugdata"] = func() ([]byte, []byte) {
		e := newELF()
		e.section(".gnu_debugdata", xzip(make([]byte, 255<<20)))
		return newCore(10).bytes(), e.bytes()
	}
	made["symbols in .gnu_debugdata"] = func() ([]byte, []byte) {
		mini := newELF()
		symbol := append(append([]byte{1, 0, 0, 0, 0x12, 0, 1, 0}, u64(madeText)...), u64(0x400)...)
		mini.section(".symtab", bytes.Repeat(symbol, 200<<20/24))
		mini.section(".strtab", []byte("\x00name\x00"))
		e := newELF()
		e.section(".gnu_debugdata", xzip(mini.bytes()))
		return newCore(10).bytes(), e.bytes()
	}
	// Each claims to have the rest of memory, and 2^40 bytes.
	made["JIT files of 2^40 bytes"] = func() ([]byte, []byte) {
		core, exe := jitList(60_000, false)
		le := binary.LittleEndian
		entry := u64(madeData + 0x200) // symfile_addr
		at := bytes.Index(core, le.AppendUint64(bytes.Clone(entry), jitFileSize()))
		for range 60_000 {
			le.PutUint64(core[at+8:], 1<<40)
			at += 32
		}
		return core, exe
	}
}

// jitFileSize is the size of the file of jitList.
func jitFileSize() uint64 {
	object := newELF().bytes()
	return 64 + uint64(len(object)) - binary.LittleEndian.Uint64(object[40:])
}
