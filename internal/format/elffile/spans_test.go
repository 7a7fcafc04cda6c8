package elffile

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// Finding a segment or a section does not look at all of them, however many there are: the
// first one, changed after the first look-up to contain every address, is not found.
func TestManySegmentsAndSections(t *testing.T) {
	const n = 1000
	at := func(i uint64) uint64 { return 0x10000 + (i^1)*0x1000 } // not in order
	m := &image{class: 64, typ: ET_DYN, machine: EM_X86_64}
	for i := range uint64(n) {
		m.progs = append(m.progs, Prog{Type: PT_LOAD, Off: i % 64, Vaddr: at(i), Filesz: 8, Memsz: 16})
	}
	f := mustParse(t, m.build(t))
	f.VaddrToOff(0)
	f.whyNot(0, 1)
	f.Progs[0].Vaddr, f.Progs[0].Filesz, f.Progs[0].Memsz = 0, math.MaxUint64, math.MaxUint64
	for i := uint64(2); i < n; i++ {
		if off, ok := f.VaddrToOff(at(i) + 7); !ok || off != i%64+7 {
			t.Fatalf("%#x is at offset %#x, %v", at(i)+7, off, ok)
		}
		if p := f.LoadAt(at(i) + 8); p != nil {
			t.Fatalf("%#x, which the file has no bytes for, is in %+v", at(i)+8, *p)
		}
		if err := f.whyNot(at(i)+8, 1); err.(*AddrError).Err != ErrNoBits {
			t.Fatal(err)
		}
	}
	var list []LayoutSection
	for i := range uint64(n) {
		list = append(list, LayoutSection{Flags: SHF_ALLOC, Addr: at(i), Size: 8})
	}
	f = View(Layout{Class: 64, Sections: list})
	f.SectionAt(0)
	f.sections[1].Addr, f.sections[1].Size = 0, math.MaxUint64
	for i := uint64(2); i < n; i++ {
		if s := f.SectionAt(at(i) + 7); s == nil || s.Addr != at(i) || f.SectionAt(at(i)+8) != nil {
			t.Fatalf("%#x is in %+v", at(i)+7, s)
		}
	}
}

// A file cannot make its section headers take more memory than honest ones do.
func TestTooManySections(t *testing.T) {
	m := &image{class: 64, typ: ET_DYN, machine: EM_X86_64, secs: []sec{{name: ".text", typ: SHT_PROGBITS, data: []byte{1}}}}
	data := m.build(t)
	data = append(data, make([]byte, 64*(maxSections+10))...)
	le := binary.LittleEndian
	shoff := le.Uint64(data[40:])
	le.PutUint16(data[60:], 0) // the number is in the size of section 0
	le.PutUint64(data[shoff+32:], maxSections+5)
	f, err := Parse(data)
	if err != nil || len(f.Sections()) != maxSections || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], "left out") {
		t.Errorf("%v, %d sections, %q", err, len(f.Sections()), f.Warnings)
	}
}
