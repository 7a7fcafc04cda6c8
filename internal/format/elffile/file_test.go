package elffile

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// sample has a bit of everything: a text section, notes, relro, .bss, links to debug files.
func sample(class int, big bool) *image {
	m := &image{class: class, big: big, typ: ET_DYN, machine: EM_386, flags: 0x1234, entry: 0x10400, base: 0x10000}
	id := m.note("GNU", NT_GNU_BUILD_ID, []byte("0123456789abcdefghij"), 4)
	link := enc{m: m, b: []byte("prog.debug\x00\x00")}
	link.u32(0xcafef00d)
	m.secs = []sec{
		{name: ".interp", typ: SHT_PROGBITS, flags: SHF_ALLOC, addr: 0x200, data: []byte("/lib/ld.so\x00")},
		{name: ".note.gnu.build-id", typ: SHT_NOTE, flags: SHF_ALLOC, addr: 0x300, data: id, align: 4},
		{name: ".text", typ: SHT_PROGBITS, flags: SHF_ALLOC | SHF_EXECINSTR, addr: 0x400, data: bytes.Repeat([]byte{0x90}, 0x100)},
		{name: ".bss", typ: SHT_NOBITS, flags: SHF_ALLOC | SHF_WRITE, addr: 0x500, size: 0x80},
		{name: ".gnu_debuglink", typ: SHT_PROGBITS, data: link.b},
		{name: ".gnu_debugaltlink", typ: SHT_PROGBITS, data: []byte("../.dwz/common\x00ABCDE")},
	}
	m.progs = []Prog{
		{Type: PT_LOAD, Flags: PF_R | PF_X, Off: 0, Vaddr: 0x10000, Filesz: 0x500, Memsz: 0x580, Align: 0x1000},
		{Type: PT_INTERP, Off: 0x200, Vaddr: 0x10200, Filesz: 11, Memsz: 11},
		{Type: PT_NOTE, Off: 0x300, Vaddr: 0x10300, Filesz: uint64(len(id)), Memsz: uint64(len(id)), Align: 4},
		{Type: PT_GNU_RELRO, Off: 0x400, Vaddr: 0x10400, Filesz: 0x80, Memsz: 0x80},
	}
	return m
}

func TestParseAllLayouts(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			f := mustParse(t, sample(k.class, k.big).build(t))
			if f.Class != k.class || f.Big() != k.big || f.Type != ET_DYN || f.Machine != EM_386 || f.Flags != 0x1234 || f.Entry != 0x10400 {
				t.Errorf("header: %+v", f)
			}
			if len(f.Warnings) != 0 || len(f.Progs) != 4 || f.Progs[0] != sample(k.class, k.big).progs[0] {
				t.Errorf("program headers %+v, warnings %q", f.Progs, f.Warnings)
			}
			if s := f.Section(".text"); s == nil || s.Addr != 0x10400 || s.Size != 0x100 || s.Name() != ".text" || s.Index != 3 {
				t.Errorf(".text = %+v", s)
			}
			if f.Section(".tex") != nil || f.Section("text") != nil || f.Section("") != nil {
				t.Error("a part of a name found a section")
			}
			if got := string(f.BuildID()); got != "0123456789abcdefghij" {
				t.Errorf("build-id %q", got)
			}
			if name, crc, ok := f.DebugLink(); name != "prog.debug" || crc != 0xcafef00d || !ok {
				t.Errorf("debug link %q %#x %v", name, crc, ok)
			}
			if name, id, ok := f.DebugAltLink(); name != "../.dwz/common" || string(id) != "ABCDE" || !ok {
				t.Errorf("alternate link %q %q %v", name, id, ok)
			}
			if lo, hi, ok := f.Relro(); lo != 0x10400 || hi != 0x10480 || !ok {
				t.Errorf("relro %#x %#x %v", lo, hi, ok)
			}
			if got := f.Interp(); got != "/lib/ld.so" {
				t.Errorf("interpreter %q", got)
			}
			if s := f.SectionAt(0x10410); s == nil || s.Name() != ".text" {
				t.Errorf("section at 0x10410: %+v", s)
			}
		})
	}
}

func TestDataByAddress(t *testing.T) {
	m := sample(64, false)
	m.progs[0].Memsz = 0x600
	data := m.build(t)
	for _, c := range []struct {
		cut     int
		addr, n uint64
		err     error
	}{
		{0, 0x10400, 0x100, nil},
		{0, 0x10000, 0x500, nil},
		{0, 0x104ff, 2, ErrNoBits},
		{0, 0x10500, 1, ErrNoBits},
		{0, 0x10600, 1, ErrNotFound},
		{0, 0x105ff, 2, ErrNotFound},
		{0, 0xffff, 1, ErrNotFound},
		{0, 1 << 63, 1 << 63, ErrNotFound},
		{0, 0x10400, 1<<64 - 1, ErrNotFound},
		{0x480, 0x10400, 0x80, nil},
		{0x480, 0x10400, 0x81, ErrTruncated},
		{0x480, 0x10490, 1, ErrTruncated},
	} {
		d := data
		if c.cut != 0 {
			d = data[:c.cut]
		}
		b, err := mustParse(t, d).DataAt(c.addr, c.n)
		if !errors.Is(err, c.err) || err == nil && uint64(len(b)) != c.n {
			t.Errorf("%d bytes at %#x of a file cut to %#x: %d bytes, %v, want %v", c.n, c.addr, c.cut, len(b), err, c.err)
		}
	}
	f := mustParse(t, data)
	if off, ok := f.VaddrToOff(0x10412); off != 0x412 || !ok {
		t.Errorf("VaddrToOff = %#x, %v", off, ok)
	}
	if _, ok := f.VaddrToOff(0x10500); ok {
		t.Error("an address in .bss has a file offset")
	}
	if _, err := f.SectionData(f.Section(".bss")); !errors.Is(err, ErrNoBits) {
		t.Errorf(".bss: %v", err)
	}
	if _, err := f.SectionData(f.Section(".none")); !errors.Is(err, ErrNotFound) {
		t.Errorf("no section: %v", err)
	}
}

func TestNotELF(t *testing.T) {
	good := sample(64, false).build(t)
	bad := func(i int, v byte) []byte { b := bytes.Clone(good); b[i] = v; return b }
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte("#!/bin/sh\necho hello\n"), "short": good[:40], "magic": bad(0, 0),
		"class": bad(4, 3), "order": bad(5, 0),
	} {
		if _, err := Parse(data); !errors.Is(err, ErrNotELF) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse(good[:40]); !errors.Is(err, ErrTruncated) {
		t.Errorf("short header: %v", err)
	}
}

func TestCutTables(t *testing.T) {
	data := sample(64, true).build(t)
	f := mustParse(t, data[:len(data)-100])
	if len(f.Warnings) != 1 || len(f.Sections()) != 6 || len(f.Progs) != 4 {
		t.Errorf("cut section table: %q, %d sections, %d program headers", f.Warnings, len(f.Sections()), len(f.Progs))
	}
	f = mustParse(t, data[:0x380])
	if len(f.Warnings) != 1 || f.Sections() != nil || len(f.Progs) != 4 || f.BuildID() == nil {
		t.Errorf("no section table: %q, %d sections", f.Warnings, len(f.Sections()))
	}
	f = mustParse(t, data[:64+56+55])
	if len(f.Warnings) != 2 || len(f.Progs) != 1 {
		t.Errorf("cut program headers: %q, %d left", f.Warnings, len(f.Progs))
	}
	small := bytes.Clone(data)
	small[55] = 8 // e_phentsize
	if f = mustParse(t, small); len(f.Progs) != 0 || len(f.Warnings) != 1 {
		t.Errorf("small program headers: %q", f.Warnings)
	}
}

func TestExtendedNumbering(t *testing.T) {
	const n = 70000
	m := &image{class: 64, typ: ET_CORE, machine: EM_X86_64, ext: true}
	end := uint64(64 + 56*n)
	for i := range uint64(n) {
		m.progs = append(m.progs, Prog{Type: PT_LOAD, Off: end + i, Vaddr: 0x1000 * i, Filesz: 1, Memsz: 1})
	}
	m.secs = []sec{{name: ".data", typ: SHT_PROGBITS, data: make([]byte, n)}}
	data := m.build(t)
	f := mustParse(t, data)
	if len(f.Progs) != n || len(f.Warnings) != 0 || f.Progs[n-1].Vaddr != 0x1000*(n-1) {
		t.Fatalf("%d program headers, %q", len(f.Progs), f.Warnings)
	}
	if len(f.Sections()) != 3 || f.Section(".data") == nil {
		t.Errorf("%d sections", len(f.Sections()))
	}
	// The count is at the end of a core and missing if the core is truncated.
	f = mustParse(t, data[:end+100])
	if len(f.Progs) != n || len(f.Warnings) != 2 {
		t.Errorf("truncated: %d program headers, %q", len(f.Progs), f.Warnings)
	}
}

func TestCompressedSections(t *testing.T) {
	for _, k := range kinds {
		m := &image{class: k.class, big: k.big, typ: ET_DYN}
		h := enc{m: m}
		h.u32(uint32(Zstd))
		if k.class == 64 {
			h.u32(0)
		}
		h.word(6)
		h.word(1)
		m.secs = []sec{
			{name: ".debug_info", typ: SHT_PROGBITS, flags: SHF_COMPRESSED, data: append(h.b, "abc"...)},
			{name: ".zdebug_line", typ: SHT_PROGBITS, data: []byte("ZLIB\x00\x00\x00\x00\x00\x00\x00\x04xy")},
			{name: ".debug_str", typ: SHT_PROGBITS, data: []byte("ZLIB, a string\x00")},
			{name: ".debug_abbrev", typ: SHT_PROGBITS, flags: SHF_COMPRESSED, data: h.b[:7]},
		}
		f := mustParse(t, m.build(t))
		if _, err := f.DebugSection("info"); !errors.Is(err, ErrCompressed) {
			t.Errorf("%s: without a decompressor: %v", k.name, err)
		}
		calls := 0
		f = mustParse(t, f.Data)
		f.Decompress = func(p Packed) (Inflated, error) {
			calls++
			return inflated(strings.Repeat(string(p.Data), int(p.Method)))[:p.Size], nil
		}
		for range 2 {
			if d, err := f.DebugSection("info"); string(d) != "abcabc" || err != nil {
				t.Errorf("%s: .debug_info = %q, %v", k.name, d, err)
			}
		}
		if calls != 1 {
			t.Errorf("%s: decompressed %d times", k.name, calls)
		}
		if d, need, err := f.LazyDebugSection("info"); string(d) != "abcabc" || err != nil || need(0, 3) != nil {
			t.Errorf("%s: lazy .debug_info = %q, %v", k.name, d, err)
		}
		f.Decompress = func(p Packed) (Inflated, error) {
			return inflated(bytes.Repeat(p.Data, 2)), nil
		}
		if d, err := f.DebugSection("line"); string(d) != "xyxy" || err != nil {
			t.Errorf("%s: .zdebug_line = %q, %v", k.name, d, err)
		}
		if d, err := f.DebugSection("str"); string(d) != "ZLIB, a string\x00" || err != nil {
			t.Errorf("%s: .debug_str = %q, %v", k.name, d, err)
		}
		if _, err := f.DebugSection("abbrev"); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: cut header: %v", k.name, err)
		}
		g := mustParse(t, f.Data)
		g.MaxSection, g.Decompress = 5, f.Decompress
		if _, err := g.DebugSection("info"); !errors.Is(err, ErrCompressed) {
			t.Errorf("%s: above the bound: %v", k.name, err)
		}
		g = mustParse(t, f.Data)
		g.Decompress = func(Packed) (Inflated, error) { return inflated("short"), nil }
		if _, err := g.DebugSection("info"); !errors.Is(err, ErrCompressed) {
			t.Errorf("%s: wrong size: %v", k.name, err)
		}
	}
}

// inflated is decompressed from the start.
type inflated []byte

func (d inflated) Data() []byte              { return d }
func (d inflated) Need(uint64, uint64) error { return nil }

func TestSeparateDebugFile(t *testing.T) {
	m := sample(64, false)
	for i := range m.secs {
		if s := &m.secs[i]; s.name == ".text" || s.name == ".interp" {
			s.typ, s.size, s.data = SHT_NOBITS, uint64(len(s.data)), nil
		}
	}
	m.progs[2].Off = 0x10 // as eu-strip leaves it
	f := mustParse(t, m.build(t))
	if !f.DebugOnly() || mustParse(t, sample(64, false).build(t)).DebugOnly() {
		t.Error("DebugOnly")
	}
	if got := string(f.BuildID()); got != "0123456789abcdefghij" {
		t.Errorf("build-id %q", got)
	}
}

// TestOwnBinary reads the running test, where that is an ELF file.
func TestOwnBinary(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skip(err)
	}
	f, err := Parse(data)
	if errors.Is(err, ErrNotELF) {
		t.Skip("the test binary is not an ELF file")
	}
	if err != nil || len(f.Warnings) != 0 {
		t.Fatal(err, f.Warnings)
	}
	s, ok := f.SymByName("testing.tRunner")
	if !ok {
		t.Skip("the test binary is stripped")
	}
	if got, ok := f.LookupSym(s.Value + 1); !ok || got.Name() != "testing.tRunner" {
		t.Errorf("symbol at %#x: %q", s.Value+1, got.Name())
	}
	if _, err := f.DataAt(s.Value, s.Size); err != nil {
		t.Error(err)
	}
}
