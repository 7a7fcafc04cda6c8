package pefile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// images are the sample in all forms.
func images(t testing.TB) map[string]*File {
	all := map[string]*File{}
	for _, bits := range []int{32, 64} {
		file, memory := sample(bits).build()
		for name, parsed := range map[string]func() (*File, error){
			"file":   func() (*File, error) { return Parse(file) },
			"memory": func() (*File, error) { return ParseMemory(memory) },
		} {
			f, err := parsed()
			if err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprint(name, bits)] = f
		}
	}
	return all
}

func TestHeaders(t *testing.T) {
	for name, f := range images(t) {
		if len(f.Warnings) != 0 || f.CodeID() != "6B02142D5000" || f.Entry != 0x1004 || f.CheckSum != 0xabcd || f.Subsystem != 3 || f.Characteristics != 0x22 {
			t.Errorf("%s: %q, code %s, entry %#x, checksum %#x, subsystem %d, characteristics %#x", name, f.Warnings, f.CodeID(), f.Entry, f.CheckSum, f.Subsystem, f.Characteristics)
		}
		want := []uint64{64, MachineAMD64, 0x180000000}
		if strings.HasSuffix(name, "32") {
			want = []uint64{32, MachineI386, 0x400000}
		}
		if got := []uint64{uint64(f.Bits), uint64(f.Machine), f.ImageBase}; !slices.Equal(got, want) {
			t.Errorf("%s: %#x, want %#x", name, got, want)
		}
	}
}

func TestSections(t *testing.T) {
	for name, f := range images(t) {
		memory := strings.HasPrefix(name, "memory")
		if s := f.Section(".debug_info"); memory != (s == nil) { // the string table is not loaded
			t.Errorf("%s: .debug_info is %v", name, s)
		} else if !memory {
			if b, err := f.SectionData(s); string(b) != "information" {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
		b, err := f.SectionData(f.Section(".text"))
		if want := map[bool]int{true: 0x1800, false: 0x400}[memory]; len(b) != want || err != nil {
			t.Errorf("%s: .text has %#x bytes, %v; want %#x", name, len(b), err, want)
		}
		for rva, want := range map[uint32]string{0xfff: "", 0x1000: ".text", 0x27ff: ".text", 0x2800: "", 0x3000: ".rdata", 0x3400: "", 0xffffffff: ""} {
			got := ""
			if s := f.SectionAt(rva); s != nil {
				got = s.Name
			}
			if got != want {
				t.Errorf("%s: %#x is in %q, want %q", name, rva, got, want)
			}
		}
		if got := f.At(0x3150); !bytes.HasPrefix(got, []byte("RSDS")) {
			t.Errorf("%s: %q", name, got[:min(len(got), 4)])
		}
		if got := f.At(0x1400); (len(got) != 0) != memory { // filled by the loader
			t.Errorf("%s: %#x bytes after those of the file", name, len(got))
		}
		if got := f.At(0); !bytes.HasPrefix(got, []byte("MZ")) {
			t.Errorf("%s: no headers at 0", name)
		}
		if _, err := f.Bytes(Range{0x33ff, 0x10000}); !errors.Is(err, ErrTruncated) {
			t.Errorf("%s: %v", name, err)
		}
		if len(f.Pdata()) != 24 || f.Pdata()[0] != 0x10 {
			t.Errorf("%s: pdata %x", name, f.Pdata())
		}
	}
}

func TestExports(t *testing.T) {
	want := []Export{
		{Name: "f", Ordinal: 5, RVA: 0x1010},
		{Ordinal: 7, RVA: 0x1020},
		{Name: "forwarded", Ordinal: 8, Forward: "ntdll.RtlF"},
		{Name: "second", Ordinal: 9, RVA: 0x1010},
	}
	for name, f := range images(t) {
		var got []Export
		for e, err := range f.Exports() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if !reflect.DeepEqual(got, want) || f.ExportName() != "sample.dll" {
			t.Errorf("%s: %+v of %q", name, got, f.ExportName())
		}
		for rva, want := range map[uint32]uint32{0x100f: 0, 0x1010: 5, 0x101f: 5, 0x1020: 7, 0x27ff: 7, 0x3000: 0} {
			if e, _ := f.ExportAt(rva); e.Ordinal != want {
				t.Errorf("%s: %#x is in export %+v, want %d", name, rva, e, want)
			}
		}
	}
}

func TestCodeView(t *testing.T) {
	for name, f := range images(t) {
		v, err := f.CodeView()
		if err != nil || v.DebugID() != "0403020106050807090A0B0C0D0E0F101a" || v.Path != "a.pdb" || v.Age != 26 {
			t.Errorf("%s: %+v %s, %v", name, v, v.DebugID(), err)
		}
	}
	// A record that is not loaded is found by its file offset.
	b := sample(64)
	le.PutUint32(b.secs[1].data[0x100+debugEntrySize+20:], 0)
	file, _ := b.build()
	if f, _ := Parse(file); f != nil {
		if v, err := f.CodeView(); v.Path != "a.pdb" {
			t.Errorf("%+v, %v", v, err)
		}
	}
}

func TestSymbols(t *testing.T) {
	for name, f := range images(t) {
		var names []string
		for s := range f.Symbols() {
			names = append(names, fmt.Sprintf("%s %#x %t", s.Name, s.RVA, s.Function))
		}
		want := []string{".file 0x0 false", "_ZN4longer5namesEv 0x1010 true", "local 0x1010 true", "exactly8 0x1040 true", "data 0x1050 false"}
		at := map[uint32]string{0x100f: "", 0x1010: "_ZN4longer5namesEv", 0x103f: "_ZN4longer5namesEv", 0x1060: "exactly8", 0x3000: ""}
		if strings.HasPrefix(name, "memory") {
			want, at = nil, map[uint32]string{0x1010: ""}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q", name, names)
		}
		for rva, want := range at {
			if s, _ := f.SymbolAt(rva); s.Name != want {
				t.Errorf("%s: %#x is in %q, want %q", name, rva, s.Name, want)
			}
		}
	}
}

// Damage in one part affects only that part, and is reported.
func TestBroken(t *testing.T) {
	whole, _ := sample(64).build()
	const coff = 0x84
	for _, tc := range []struct {
		name  string
		spoil func(d []byte) []byte
		err   error
		warn  string
	}{
		{name: "empty", spoil: func([]byte) []byte { return nil }, err: ErrNotPE},
		{name: "no PE", spoil: func(d []byte) []byte { d[0x80] = 'N'; return d }, err: ErrNotPE},
		{name: "offset of the header", spoil: func(d []byte) []byte { le.PutUint32(d[dosLfanew:], 0xfffffff0); return d }, err: ErrTruncated},
		{name: "magic", spoil: func(d []byte) []byte { d[coff+coffSize] = 7; return d }, err: ErrNotPE},
		{name: "cut in the header", spoil: func(d []byte) []byte { return d[:0xa0] }, err: ErrTruncated},
		{name: "sections", spoil: func(d []byte) []byte { le.PutUint16(d[coff+2:], 0xffff); return d }, warn: "65535 section headers"},
		{name: "symbols", spoil: func(d []byte) []byte { le.PutUint32(d[coff+12:], 0xffffffff); return d }, warn: "4294967295 COFF symbols"},
		{name: "strings", spoil: func(d []byte) []byte { return d[:len(d)-4] }, warn: "string table of"},
		{name: "directories", spoil: func(d []byte) []byte { le.PutUint32(d[coff+coffSize+108:], 0xffffffff); return d }, warn: "4294967295 data directories"},
	} {
		f, err := Parse(tc.spoil(bytes.Clone(whole)))
		if !errors.Is(err, tc.err) || tc.err == nil && !slices.ContainsFunc(f.Warnings, func(w string) bool { return strings.Contains(w, tc.warn) }) {
			t.Errorf("%s: %v, %+v", tc.name, err, f)
		}
	}
	for what, spoil := range map[string]func(r []byte){
		"functions":       func(r []byte) { le.PutUint32(r[20:], 0x40000001) },
		"names":           func(r []byte) { le.PutUint32(r[24:], 0xffffffff) },
		"ordinals":        func(r []byte) { le.PutUint32(r[36:], 0x90000000) },
		"CodeView record": func(r []byte) { le.PutUint32(r[0x100+debugEntrySize+16:], 0xfffffff0) },
		"RSDS":            func(r []byte) { r[0x150] = 'X' },
		"30 bytes":        func(r []byte) {},
	} {
		b := sample(32)
		spoil(b.secs[1].data)
		file, _ := b.build()
		f, err := Parse(file)
		if err != nil {
			t.Fatal(what, err)
		}
		for _, err2 := range f.Exports() {
			err = err2
		}
		if _, err2 := f.CodeView(); err == nil {
			err = err2
		}
		if (err == nil) != (what == "30 bytes") || err != nil && !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestLongName(t *testing.T) {
	for in, want := range map[string]uint64{"/4": 4, "/1234567": 1234567, "//AAAAAB": 1, "//AAmJaA": 10000000} {
		if got, ok := longName(in); !ok || got != want {
			t.Errorf("%s: %d, %t; want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{".text", "/", "//", "/x", "//A!"} {
		if n, ok := longName(in); ok {
			t.Errorf("%s stands for %d", in, n)
		}
	}
}
