package pefile

import (
	"bytes"
	"testing"
)

// relocImage has code and constants with base relocations in two pages, import
// tables, a load configuration and a section that is writable.
func relocImage(t *testing.T, bits int, mod func(r []byte, at uint32)) *File {
	t.Helper()
	b := &builder{bits: bits, secs: []buildSection{
		{name: ".text", data: make([]byte, 0x2000)},
		{name: ".rdata", data: make([]byte, 0x800)},
		{name: ".data", data: make([]byte, 0x100)},
		{name: ".reloc", data: make([]byte, 0x100)},
	}}
	text, rdata, reloc := b.secs[0].data, b.secs[1].data, b.secs[3].data
	for i := range text {
		text[i] = byte(i>>8) + 1
	}
	for i := range rdata[0x400:] {
		rdata[0x400+i] = 0x55
	}
	le.PutUint64(text[0x10:], 0x1122)
	le.PutUint32(text[0xffe:], 0x10000) // over the pages' border
	at := b.rva(1)
	base, word := uint64(0x180000000), 8
	if bits == 32 {
		base, word = 0x400000, 4
	}
	put := func(off int, v uint64) {
		if bits == 32 {
			le.PutUint32(rdata[off:], uint32(v))
		} else {
			le.PutUint64(rdata[off:], v)
		}
	}
	// Imports: one table with two entries at 0x500; delayed ones at 0x540, their handle at 0x580.
	b.dirs[dirImport] = Range{at, 40}
	le.PutUint32(rdata[0:], at+0x40)
	le.PutUint32(rdata[16:], at+0x500)
	put(0x40, 1)
	put(0x40+word, 2)
	b.dirs[dirDelayImport] = Range{at + 0x80, 64}
	for i, v := range []uint32{1, at + 0x100, at + 0x580, at + 0x540, at + 0x60} {
		le.PutUint32(rdata[0x80+4*i:], v)
	}
	put(0x60, 1)
	// The security cookie at 0x600, the pointer of Control Flow Guard at 0x610.
	b.dirs[dirLoadConfig] = Range{at + 0x200, 0x40}
	le.PutUint32(rdata[0x200:], 0x140)
	words := configWords64[:]
	if bits == 32 {
		words = configWords32[:]
	}
	put(0x200+words[0], base+uint64(at)+0x600)
	put(0x200+words[1], base+uint64(at)+0x610)
	b.dirs[dirIAT] = Range{at + 0x700, 0x10}
	// One relocation each of 8 and 4 bytes in the first page, what pads, and one in .rdata.
	le.PutUint32(reloc[0:], 0x1000)
	le.PutUint32(reloc[4:], 8+8)
	for i, v := range []uint16{relDir64<<12 | 0x10, relHighLow<<12 | 0xffe, 0, 0} {
		le.PutUint16(reloc[8+2*i:], v)
	}
	le.PutUint32(reloc[16:], at)
	le.PutUint32(reloc[20:], 8+4)
	le.PutUint16(reloc[24:], relHighLow<<12|0x480)
	b.dirs[dirReloc] = Range{b.rva(3), 16 + 12}
	if mod != nil {
		mod(rdata, at)
	}
	file, _ := b.build()
	f, err := Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	f.Sections[2].Characteristics |= SectionWritable
	f.Sections[3].Characteristics |= discardable
	return f
}

func TestLoadedAt(t *testing.T) {
	for _, bits := range []int{32, 64} {
		f := relocImage(t, bits, nil)
		word := uint32(bits / 8)
		here, moved := f.LoadedAt(f.ImageBase), f.LoadedAt(f.ImageBase+0x70000)
		text, rdata := f.Sections[0].RVA, f.Sections[1].RVA
		if b := here.At(text); len(b) != 0x2000 || !bytes.Equal(b, f.At(text)) {
			t.Errorf("%d: where it is linked, %#x bytes of code", bits, len(b))
		}
		if b := moved.At(text); len(b) != 0x1000 || le.Uint64(b[0x10:]) != 0x71122 || b[0xffd] != 0x10 || b[0xffe] != 0 || b[0xfff] != 0 {
			t.Errorf("%d: first page, %#x bytes", bits, len(b))
		}
		if b := moved.At(text + 0x1000); len(b) != 0x1000 || le.Uint16(b) != 8 || b[2] != 0x11 {
			t.Errorf("%d: what of the word is in the next page: %#x bytes, %#x", bits, len(b), b[:min(4, len(b))])
		}
		if b := moved.At(rdata + 0x480); len(b) < 4 || le.Uint32(b) != 0x555c5555 {
			t.Errorf("%d: a constant: %x", bits, b[:min(4, len(b))])
		}
		for _, l := range []*Loaded{here, moved} {
			for _, tt := range []struct{ rva, want uint32 }{
				{rdata + 0x500, 0}, {rdata + 0x500 + 3*word, 0x40 - 3*word}, {rdata + 0x500 + 3*word - 1, 0},
				{rdata + 0x540, 0}, {rdata + 0x540 + 2*word, 0x40 - 2*word}, {rdata + 0x580, 0}, {rdata + 0x580 + word, 0x80 - word},
				{rdata + 0x600, 0}, {rdata + 0x600 + word, 0x10 - word}, {rdata + 0x610, 0}, {rdata + 0x610 + word, 0xf0 - word},
				{rdata + 0x700, 0}, {rdata + 0x70f, 0}, {rdata + 0x710, 0xf0},
				{f.Sections[2].RVA, 0}, {f.Sections[3].RVA, 0}, {0, 0}, {0xfffffff0, 0},
			} {
				if b := l.At(tt.rva); len(b) != int(tt.want) {
					t.Errorf("%d, moved by %#x: %#x bytes at %#x, want %#x", bits, l.delta, len(b), tt.rva, tt.want)
				}
			}
		}
		if n := testing.AllocsPerRun(100, func() { moved.At(text + 0x20) }); n != 0 {
			t.Errorf("%d: %v allocations", bits, n)
		}
		f.Characteristics |= relocsStripped
		if b := moved.At(text); b != nil {
			t.Errorf("%d: an image that cannot be moved has %#x bytes elsewhere", bits, len(b))
		}
	}
}

// Unknown bytes are left out: a page with another machine's relocation, and everything if
// the system may have changed code.
func TestLoadedAtUnknown(t *testing.T) {
	f := relocImage(t, 64, nil)
	list, data := f.relocs()
	le.PutUint16(data[list[0].off:], relThumbMov32<<12)
	moved := f.LoadedAt(0)
	if b := moved.At(f.Sections[0].RVA + 0x800); b != nil {
		t.Errorf("%#x bytes of a page with an unknown relocation", len(b))
	}
	if b := moved.At(f.Sections[0].RVA + 0x1800); len(b) != 0x800 {
		t.Errorf("%#x bytes of a page without", len(b))
	}
	dynamic := func(kind uint32, payload ...uint32) *File {
		return relocImage(t, 64, func(r []byte, at uint32) {
			le.PutUint32(r[0x200+0xe0:], 0x780)
			le.PutUint16(r[0x200+0xe4:], 2)
			for i, v := range append([]uint32{1, uint32(12 + 4*len(payload)), kind, 0, uint32(4 * len(payload))}, payload...) {
				le.PutUint32(r[0x780+4*i:], v)
			}
		})
	}
	for name, tt := range map[string]struct {
		f           *File
		first, next int
	}{
		"a page":            {dynamic(dynamicARM64X, 0x1000, 12, 0x10), 0, 0x2000 - 0x1008},
		"functions":         {dynamic(dynamicOverride, 16+4+12, 0, 0, 4, 12, 0x1000, 0x1000, 12, 0x10), 0, 0x2000 - 0x1008},
		"a cut list":        {dynamic(dynamicOverride, 60, 0, 0, 4, 12), 0, 0},
		"of an unkown kind": {dynamic(99), 0, 0},
		"none of them":      {relocImage(t, 64, nil), 0x2000, 0x2000 - 0x1008},
	} {
		l := tt.f.LoadedAt(tt.f.ImageBase)
		text := tt.f.Sections[0].RVA
		if a, b := len(l.At(text)), len(l.At(text+0x1008)); a != tt.first || b != tt.next {
			t.Errorf("%s: %#x and %#x bytes, want %#x and %#x", name, a, b, tt.first, tt.next)
		}
	}
}

// Instructions as llvm-mc encodes them.
func TestARMRelocations(t *testing.T) {
	f := relocImage(t, 32, nil)
	f.Machine = MachineARMNT
	text := f.At(f.Sections[0].RVA)
	list, data := f.relocs()
	le.PutUint16(data[list[0].off:], relThumbMov32<<12|0x20)
	le.PutUint16(data[list[0].off+2:], relARMMov32<<12|0x30)
	copy(text[0x20:], "\x4a\xf6\xcd\x30\xc1\xf2\x34\x20") // movw r0, #0xabcd; movt r0, #0x1234
	copy(text[0x30:], "\xcd\x1b\x0a\xe3\x34\x12\x41\xe3") // movw r1, #0xabcd; movt r1, #0x1234
	b := f.LoadedAt(f.ImageBase + 0xf0000).At(f.Sections[0].RVA)
	if want := "\x4a\xf6\xcd\x30\xc1\xf2\x43\x20"; string(b[0x20:0x28]) != want {
		t.Errorf("Thumb: %x, want %x", b[0x20:0x28], want)
	}
	if want := "\xcd\x1b\x0a\xe3\x43\x12\x41\xe3"; string(b[0x30:0x38]) != want {
		t.Errorf("ARM: %x, want %x", b[0x30:0x38], want)
	}
	for v := range uint32(0x10000) {
		var th [4]byte
		copy(th[:], text[0x20:])
		setThumbMov(th[:], v)
		if thumbMov(th[:]) != v || armMov(setARMMov(0xe3a01bcd, v)) != v || le.Uint16(th[:])&^0x40f != 0xf240 {
			t.Fatalf("%#x does not come back", v)
		}
	}
}

func FuzzLoadedAt(f *testing.F) {
	for _, bits := range []int{32, 64} {
		file, _ := sample(bits).build()
		f.Add(file, uint32(0x1010))
		f.Add(relocImage(&testing.T{}, bits, nil).Data, uint32(0x1010))
	}
	f.Fuzz(func(t *testing.T, data []byte, rva uint32) {
		p, err := Parse(data)
		if err != nil {
			return
		}
		for _, base := range []uint64{p.ImageBase, 0x7ffe12340000} {
			l := p.LoadedAt(base)
			l.At(rva)
			for _, s := range p.Sections[:min(len(p.Sections), 8)] {
				l.At(s.RVA)
				l.At(s.RVA + 0xfff)
			}
		}
	})
}
