package pefile

import "encoding/binary"

// A builder makes PE images. Sections follow one another, each aligned in memory
// to 0x1000 bytes and in the file to 0x200.
type builder struct {
	bits     int
	secs     []buildSection
	dirs     [maxDirectories]Range
	symbols  []buildSymbol
	nstrings int // bytes of names that nothing uses, before the others
}

type buildSection struct {
	name    string
	data    []byte
	virtual uint32 // 0 for len(data)
}

type buildSymbol struct {
	name    string
	value   uint32
	section int16
	typ     uint16
	class   uint8
	aux     uint8
}

const buildHeaders = 0x400

var le = binary.LittleEndian

// rva is where section i begins.
func (b *builder) rva(i int) uint32 {
	at := uint32(0x1000)
	for _, s := range b.secs[:i] {
		at += (max(uint32(len(s.data)), s.virtual) + 0xfff) &^ 0xfff
	}
	return at
}

// strings collects the COFF string table.
type strtab []byte

func (t *strtab) add(s string) uint32 {
	at := uint32(len(*t))
	*t = append(append(*t, s...), 0)
	return at
}

// build returns the image as a file, and as it lies in memory.
func (b *builder) build() (file, memory []byte) {
	names := strtab(make([]byte, 4+b.nstrings))
	var heads []byte
	off := uint32(buildHeaders)
	for i, s := range b.secs {
		name := s.name
		if len(name) > 8 {
			name = "/" + itoa(names.add(name))
		}
		var h [sectionSize]byte
		copy(h[:8], name)
		size := max(s.virtual, uint32(len(s.data)))
		raw := (uint32(len(s.data)) + 0x1ff) &^ 0x1ff
		for j, v := range []uint32{size, b.rva(i), raw, off} {
			le.PutUint32(h[8+4*j:], v)
		}
		le.PutUint32(h[36:], SectionCode|SectionRead)
		heads = append(heads, h[:]...)
		off += raw
	}
	var syms []byte
	for _, s := range b.symbols {
		var r [symbolSize]byte
		if copy(r[:8], s.name); len(s.name) > 8 {
			le.PutUint32(r[:], 0)
			le.PutUint32(r[4:], names.add(s.name))
		}
		le.PutUint32(r[8:], s.value)
		le.PutUint16(r[12:], uint16(s.section))
		le.PutUint16(r[14:], s.typ)
		r[16], r[17] = s.class, s.aux
		syms = append(append(syms, r[:]...), make([]byte, int(s.aux)*symbolSize)...)
	}
	le.PutUint32(names, uint32(len(names)))
	file = append(b.headers(off, len(syms)/symbolSize), heads...)
	file = append(file, make([]byte, buildHeaders-len(file))...)
	memory = append(memory, file...)
	for i, s := range b.secs {
		file = append(file, s.data...)
		file = append(file, make([]byte, -len(s.data)&0x1ff)...)
		memory = append(memory, make([]byte, int(b.rva(i))-len(memory))...)
		memory = append(memory, s.data...)
	}
	memory = append(memory, make([]byte, int(b.rva(len(b.secs)))-len(memory))...)
	return append(append(file, syms...), names...), memory
}

func (b *builder) headers(symOff uint32, nsyms int) []byte {
	d := make([]byte, 0x80)
	copy(d, "MZ")
	le.PutUint32(d[dosLfanew:], 0x80)
	d = append(d, "PE\x00\x00"...)
	machine, fixed := uint16(MachineAMD64), 112
	if b.bits == 32 {
		machine, fixed = MachineI386, 96
	}
	opt := make([]byte, fixed+8*maxDirectories)
	d = le.AppendUint16(d, machine)
	d = le.AppendUint16(d, uint16(len(b.secs)))
	d = le.AppendUint32(d, 0x6B02142D)
	d = le.AppendUint32(d, symOff)
	d = le.AppendUint32(d, uint32(nsyms))
	d = le.AppendUint16(d, uint16(len(opt)))
	d = le.AppendUint16(d, 0x22)
	le.PutUint32(opt[16:], 0x1004)
	if b.bits == 32 {
		le.PutUint16(opt, magicPE32)
		le.PutUint32(opt[28:], 0x400000)
	} else {
		le.PutUint16(opt, magicPE32P)
		le.PutUint64(opt[24:], 0x180000000)
	}
	le.PutUint32(opt[32:], 0x1000)
	le.PutUint32(opt[36:], 0x200)
	le.PutUint32(opt[56:], b.rva(len(b.secs)))
	le.PutUint32(opt[60:], buildHeaders)
	le.PutUint32(opt[64:], 0xabcd)
	le.PutUint16(opt[68:], 3)
	le.PutUint32(opt[fixed-4:], maxDirectories)
	for i, r := range b.dirs {
		le.PutUint32(opt[fixed+8*i:], r.RVA)
		le.PutUint32(opt[fixed+8*i+4:], r.Size)
	}
	return append(d, opt...)
}

func itoa(n uint32) string {
	if n < 10 {
		return string('0' + byte(n))
	}
	return itoa(n/10) + string('0'+byte(n%10))
}

// sample is an image with everything that the package reads.
func sample(bits int) *builder {
	b := &builder{bits: bits, secs: []buildSection{
		{name: ".text", data: make([]byte, 0x300), virtual: 0x1800},
		{name: ".rdata", data: make([]byte, 0x400)},
		{name: ".debug_info", data: []byte("information")},
	}, symbols: []buildSymbol{
		{name: ".file", section: -2, class: 103, aux: 1},
		{name: "_ZN4longer5namesEv", value: 0x10, section: 1, typ: 0x20, class: ClassExternal},
		{name: "local", value: 0x10, section: 1, typ: 0x20, class: ClassStatic},
		{name: "exactly8", value: 0x40, section: 1, typ: 0x20, class: ClassStatic, aux: 1},
		{name: "data", value: 0x50, section: 1, class: ClassExternal},
	}}
	r := b.secs[1].data
	at := b.rva(1)
	put := func(off int, v ...uint32) {
		for i, x := range v {
			le.PutUint32(r[off+4*i:], x)
		}
	}
	// Exports 5 to 9: f, nothing, by number only, a forwarder, and f's other name.
	b.dirs[DirExport] = Range{at, 0x100}
	put(12, at+0xa0, 5, 5, 3, at+0x40, at+0x60, at+0x80)
	put(0x40, 0x1010, 0, 0x1020, at+0xb0, 0x1010)
	put(0x60, at+0xc0, at+0xd0, at+0xe0)
	copy(r[0x80:], "\x00\x00\x03\x00\x04\x00")
	copy(r[0xa0:], "sample.dll")
	copy(r[0xb0:], "ntdll.RtlF")
	copy(r[0xc0:], "f")
	copy(r[0xd0:], "forwarded")
	copy(r[0xe0:], "second")
	// Two debug entries, the second a CodeView record.
	b.dirs[DirDebug] = Range{at + 0x100, 2 * debugEntrySize}
	put(0x100+12, 16, 4, at+0x140, 0)
	put(0x100+debugEntrySize+12, debugCodeView, 24+6, at+0x150, buildHeaders+0x400+0x150)
	copy(r[0x150:], "RSDS\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x1a\x00\x00\x00a.pdb\x00")
	b.dirs[DirException] = Range{at + 0x200, 24}
	put(0x200, 0x1010, 0x1020, at+0x300, 0x1020, 0x1030, at+0x300)
	return b
}
