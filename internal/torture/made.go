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

// A program of x86-64 made in code: one function at madeText, with frames of 16 bytes, and what a
// hostile author says about it.
const (
	madeBase  = 0x400000
	madeText  = 0x401000
	madePC    = madeText + 16
	madeEnd   = madeText + 0x400
	madeStack = 0x7ffd00000000
	madeData  = 0x600000
	madeJIT   = 0x300000
)

// An elfMade is an ELF file being made.
type elfMade struct {
	names    []string
	sections map[string][]byte
	packed   map[string]bool // SHF_COMPRESSED
	text     []byte
	entry    uint64
}

func newELF() *elfMade {
	text := make([]byte, 0x1000)
	copy(text, []byte{0x55, 0x48, 0x89, 0xe5}) // push %rbp; mov %rsp,%rbp
	for i := 4; i < len(text); i++ {
		text[i] = 0x90
	}
	copy(text[11:], []byte{0xe8, 0xf0, 0xff, 0xff, 0xff}) // call the function itself; it returns to madePC
	e := &elfMade{sections: map[string][]byte{}, text: text, entry: madeEnd + 0x100}
	e.section(".debug_frame", madeFrames(nil))
	return e
}

func (e *elfMade) section(name string, data []byte) {
	if e.sections[name] == nil {
		e.names = append(e.names, name)
	}
	e.sections[name] = data
}

func (e *elfMade) remove(name string) {
	delete(e.sections, name)
	e.names = slices.DeleteFunc(e.names, func(s string) bool { return s == name })
}

// madeFrames is the call frame information of the function, with more instructions at its end.
func madeFrames(more []byte) []byte {
	le := binary.LittleEndian
	cie := []byte{0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0x0c, 6, 16, 0x90, 1, 0x86, 2}
	b := le.AppendUint32(nil, uint32(len(cie)))
	b = append(b, cie...)
	fde := le.AppendUint32(nil, 0)
	fde = le.AppendUint64(fde, madeText)
	fde = le.AppendUint64(fde, madeEnd-madeText)
	fde = append(fde, more...)
	b = le.AppendUint32(b, uint32(len(fde)))
	return append(b, fde...)
}

// bytes lays the file out.
func (e *elfMade) bytes() []byte {
	le := binary.LittleEndian
	out := make([]byte, 0x1000)
	out = append(out, e.text...)
	names := []byte{0}
	var table []byte
	header := func(name string, typ uint32, flags, addr, off, size uint64, link uint32, entry uint64) {
		table = le.AppendUint32(table, uint32(len(names)))
		names = append(append(names, name...), 0)
		table = le.AppendUint32(table, typ)
		for _, v := range []uint64{flags, addr, off, size} {
			table = le.AppendUint64(table, v)
		}
		table = le.AppendUint32(le.AppendUint32(table, link), 0)
		table = le.AppendUint64(le.AppendUint64(table, 1), entry)
	}
	header("", 0, 0, 0, 0, 0, 0, 0)
	header(".text", elffile.SHT_PROGBITS, elffile.SHF_ALLOC|elffile.SHF_EXECINSTR, madeText, 0x1000, uint64(len(e.text)), 0, 0)
	for i, name := range e.names {
		typ, entry, link := uint32(elffile.SHT_PROGBITS), uint64(0), uint32(0)
		switch name {
		case ".symtab":
			typ, entry, link = elffile.SHT_SYMTAB, 24, uint32(2+i+1) // .strtab follows
		case ".strtab":
			typ = elffile.SHT_STRTAB
		}
		flags := uint64(0)
		if e.packed[name] {
			flags = elffile.SHF_COMPRESSED
		}
		header(name, typ, flags, 0, uint64(len(out)), uint64(len(e.sections[name])), link, entry)
		out = append(out, e.sections[name]...)
	}
	shstr := len(e.names) + 2
	header(".shstrtab", elffile.SHT_STRTAB, 0, 0, uint64(len(out)), uint64(len(names)+10), 0, 0)
	out = append(append(out, names...), make([]byte, 16)...)
	copy(out, corebuild.Header{Class: 64, Order: le, Type: elffile.ET_EXEC, Machine: elffile.EM_X86_64, Entry: e.entry, Sections: shstr + 1, SectionOffset: uint64(len(out)),
		Progs: []elffile.Prog{{Type: elffile.PT_LOAD, Flags: 5, Off: 0, Vaddr: madeBase, Filesz: uint64(0x1000 + len(e.text)), Memsz: uint64(0x1000 + len(e.text)), Align: 4096},
			{Type: elffile.PT_DYNAMIC, Flags: 6, Vaddr: madeData, Memsz: 32}}}.Bytes())
	le.PutUint16(out[62:], uint16(shstr))
	return append(out, table...)
}

// A madeCore is a core of the program.
type madeCore struct {
	*corebuild.Core
	frames int
	data   []byte // at madeData
	jit    bool   // it died in code that is in no file
	// Instead of frames, and of the function's page:
	stack    []byte
	textSize int
}

func newCore(frames int) *madeCore {
	return &madeCore{Core: corebuild.New(), frames: frames, textSize: 0x1000}
}

func (m *madeCore) bytes() []byte {
	sp := uint64(madeStack)
	stack := m.stack
	if stack == nil {
		stack = make([]byte, 16*m.frames+64)
	}
	for i := range m.frames {
		binary.LittleEndian.PutUint64(stack[16*i:], sp+16*uint64(i+1))
		binary.LittleEndian.PutUint64(stack[16*i+8:], madePC)
	}
	pc := uint64(madePC)
	if m.jit {
		pc = madeJIT + 16
		m.Load(madeJIT, elffile.PF_R|elffile.PF_X, 0x1000, bytes.Repeat([]byte{0x90}, 0x1000))
	}
	m.Thread(7, 11, corebuild.AMD64Regs(map[arch.Reg]uint64{arch.RSP: sp, arch.RIP: pc, arch.RBP: sp}))
	m.PSInfo(7, "program", "program")
	m.AuxVector(3, madeBase+64, 4, 56, 5, 2, 9, madeEnd+0x100) // AT_PHDR, AT_PHENT, AT_PHNUM, AT_ENTRY
	m.Files(corebuild.Mapping{Start: madeBase, End: madeBase + 0x1000, Path: "/opt/program"}, corebuild.Mapping{Start: madeText, End: madeText + uint64(m.textSize), Offset: 0x1000, Path: "/opt/program"})
	m.Load(madeBase, elffile.PF_R, 0x1000, nil)
	m.Load(madeText, elffile.PF_R|elffile.PF_X, uint64(m.textSize), nil)
	if m.data != nil {
		m.Load(madeData, elffile.PF_R|elffile.PF_W, uint64(len(m.data)+4095)&^4095, m.data)
	}
	m.Load(sp, elffile.PF_R|elffile.PF_W, uint64(len(stack)+4095)&^4095, stack)
	return m.Bytes()
}

// A dwarfMade is a unit of DWARF 4 being made, and its abbreviations.
type dwarfMade struct {
	info, abbrev []byte
	codes        map[string]uint64
}

func newDWARF() *dwarfMade {
	d := &dwarfMade{codes: map[string]uint64{}}
	d.info = append(d.info, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8)
	d.die(0x11, true, 0x03, 0x08, str("made.c"), 0x13, 0x0b, []byte{12}, 0x11, 0x01, u64(madeText), 0x12, 0x07, u64(madeEnd-madeText))
	return d
}

func str(s string) []byte { return append([]byte(s), 0) }
func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
func ref(v int) []byte    { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }
func uleb(v uint64) []byte {
	return binary.AppendUvarint(nil, v)
}
func block(b ...byte) []byte { return append(uleb(uint64(len(b))), b...) }

// die adds an entry with attributes: code, form and encoded value of each. It returns its offset.
func (d *dwarfMade) die(tag uint64, children bool, attrs ...any) int {
	shape := fmt.Append(nil, tag, children)
	for i := 0; i < len(attrs); i += 3 {
		shape = fmt.Append(shape, " ", attrs[i], attrs[i+1])
	}
	key := string(shape)
	code := d.codes[key]
	if code == 0 {
		code = uint64(len(d.codes) + 1)
		d.codes[key] = code
		d.abbrev = append(append(d.abbrev, uleb(code)...), uleb(tag)...)
		if children {
			d.abbrev = append(d.abbrev, 1)
		} else {
			d.abbrev = append(d.abbrev, 0)
		}
		for i := 0; i < len(attrs); i += 3 {
			d.abbrev = append(append(d.abbrev, uleb(uint64(attrs[i].(int)))...), uleb(uint64(attrs[i+1].(int)))...)
		}
		d.abbrev = append(d.abbrev, 0, 0)
	}
	off := len(d.info)
	d.info = append(d.info, uleb(code)...)
	for i := 2; i < len(attrs); i += 3 {
		d.info = append(d.info, attrs[i].([]byte)...)
	}
	return off
}

func (d *dwarfMade) end(n int) { d.info = append(d.info, make([]byte, n)...) }

// function begins the function.
func (d *dwarfMade) function() int {
	return d.die(0x2e, true, 0x03, 0x08, str("function"), 0x11, 0x01, u64(madeText), 0x12, 0x07, u64(madeEnd-madeText), 0x40, 0x18, block(0x9c), 0x27, 0x19, []byte(nil))
}

func (d *dwarfMade) integer() int {
	return d.die(0x24, false, 0x03, 0x08, str("int"), 0x0b, 0x0b, []byte{4}, 0x3e, 0x0b, []byte{5})
}

// variable adds a variable at CFA-16.
func (d *dwarfMade) variable(tag uint64, name string, typ int, expr ...byte) {
	if expr == nil {
		expr = []byte{0x91, 0x70}
	}
	d.die(tag, false, 0x03, 0x08, str(name), 0x49, 0x13, ref(typ), 0x02, 0x18, block(expr...))
}

func (d *dwarfMade) into(e *elfMade) {
	binary.LittleEndian.PutUint32(d.info, uint32(len(d.info)-4))
	e.section(".debug_abbrev", append(d.abbrev, 0))
	e.section(".debug_info", d.info)
}
