package elffile

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// object builds a relocatable file: .text at textAddr, .debug of 24 bytes without an
// address, and relocations of typ for its first bytes against symbol 1 (in .text at
// offset 4) with addend 2.
func object(machine uint16, textAddr, ehAddr uint64, typs ...uint32) []byte {
	le := binary.LittleEndian
	b := make([]byte, 0x400)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], ET_REL)
	le.PutUint16(b[18:], machine)
	le.PutUint64(b[40:], 0x200)
	le.PutUint16(b[58:], 64)
	le.PutUint16(b[60:], 6)
	section := func(i int, typ uint32, flags, addr, off, size uint64, link, info uint32, ent uint64) {
		s := b[0x200+64*i:]
		le.PutUint32(s[4:], typ)
		for k, v := range []uint64{flags, addr, off, size} {
			le.PutUint64(s[8+8*k:], v)
		}
		le.PutUint32(s[40:], link)
		le.PutUint32(s[44:], info)
		le.PutUint64(s[56:], ent)
	}
	section(1, SHT_PROGBITS, SHF_ALLOC|SHF_EXECINSTR, textAddr, 0x40, 0x20, 0, 0, 0)
	section(2, SHT_PROGBITS, SHF_ALLOC, ehAddr, 0x80, 24, 0, 0, 0)
	section(3, SHT_SYMTAB, 0, 0, 0xa0, 48, 4, 0, 24)
	section(4, SHT_STRTAB, 0, 0, 0xd0, 8, 0, 0, 0)
	section(5, SHT_RELA, 0, 0, 0x100, uint64(24*len(typs)), 3, 2, 24)
	copy(b[0xd0:], "\x00fn\x00")
	le.PutUint32(b[0xa0+24:], 1)
	b[0xa0+28] = STT_FUNC
	le.PutUint16(b[0xa0+30:], 1)
	le.PutUint64(b[0xa0+32:], 4)
	le.PutUint64(b[0xa0+40:], 8)
	for i, typ := range typs {
		r := b[0x100+24*i:]
		le.PutUint64(r, uint64(8*i))
		le.PutUint64(r[8:], 1<<32|uint64(typ))
		le.PutUint64(r[16:], 2)
	}
	return b
}

// TestPlaced: symbols get addresses and relocations are applied, in a copy.
func TestPlaced(t *testing.T) {
	const text, eh = 0x7f00_0000_1000, 0x7f00_0000_2000
	data := object(EM_X86_64, text, eh, 1, 2, 10)
	f, err := ParsePlaced(data)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := f.LookupSym(text + 4)
	if !ok || s.Name() != "fn" || s.Value != text+4 || f.Type != ET_EXEC {
		t.Errorf("%+v, %v, type %d", s, ok, f.Type)
	}
	got, err := f.SectionData(&f.Sections()[2])
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	if v := le.Uint64(got); v != text+6 {
		t.Errorf("absolute: %#x", v)
	}
	diff := int64(text) + 6 - (eh + 8)
	if v := le.Uint32(got[8:]); v != uint32(int32(diff)) {
		t.Errorf("relative: %#x", v)
	}
	if v := le.Uint32(got[16:]); v != uint32(text&0xffffffff+6) {
		t.Errorf("absolute, 4 bytes: %#x", v)
	}
	if le.Uint16(data[16:]) != ET_REL || le.Uint64(data[0x80:]) != 0 {
		t.Error("the bytes given were changed")
	}
}

// TestPlacedWithoutAddress: a loaded section without an address gets one within reach of
// the code.
func TestPlacedWithoutAddress(t *testing.T) {
	const text = 0x7f00_0000_1000
	f, err := ParsePlaced(object(EM_X86_64, text, 0, 2))
	if err != nil {
		t.Fatal(err)
	}
	eh := &f.Sections()[2]
	got, err := f.SectionData(eh)
	if err != nil || eh.Addr < text+0x20 || eh.Addr > text+0x1000 {
		t.Fatalf("at %#x, %v", eh.Addr, err)
	}
	if v := eh.Addr + uint64(int32(binary.LittleEndian.Uint32(got))); v != text+6 {
		t.Errorf("%#x", v)
	}
}

// TestPlacedUnknown: unknown relocations are not applied, with a warning.
func TestPlacedUnknown(t *testing.T) {
	for _, data := range [][]byte{object(EM_X86_64, 0x1000, 0x2000, 99), object(EM_68K, 0x1000, 0x2000, 1)} {
		f, err := ParsePlaced(data)
		if err != nil || len(f.Warnings) != 1 {
			t.Errorf("%v, %q", err, f.Warnings)
		}
	}
}

// TestPlacedOther: files that are already linked are not changed.
func TestPlacedOther(t *testing.T) {
	data, err := os.ReadFile(fixture.Get(t, "amd64-pie").Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	f, err := ParsePlaced(data)
	if err != nil || f.Type != ET_DYN || &f.Data[0] != &data[0] {
		t.Errorf("%v", err)
	}
}

func FuzzPlaced(f *testing.F) {
	f.Add(object(EM_X86_64, 0x7f00_0000_1000, 0, 1, 2, 10))
	f.Add(object(EM_ARM, 0x1000, 0x2000, 2))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := append([]byte(nil), data...)
		p, err := ParsePlaced(data)
		if string(before) != string(data) {
			t.Fatal("the bytes given were changed")
		}
		if err == nil {
			p.LookupSym(0x1000)
		}
	})
}
