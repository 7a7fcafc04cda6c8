package pefile

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A million symbols or exports may all have one long name, which a few bytes of the file hold. Those of linkers
// have their own.
func TestOverlappingNames(t *testing.T) {
	const coff, n = 0x84, 2000
	long := strings.Repeat("n", 20_000)
	b := sample(64)
	for range n {
		b.symbols = append(b.symbols, buildSymbol{name: "other", section: 1, class: ClassExternal})
	}
	b.symbols = append(b.symbols, buildSymbol{name: long, section: 1, class: ClassExternal})
	file, _ := b.build()
	symbols := file[le.Uint32(file[coff+8:]):][:symbolSize*le.Uint32(file[coff+12:])]
	for at := 0; at < len(symbols); at += symbolSize {
		copy(symbols[at:], symbols[len(symbols)-symbolSize:][:8])
	}
	f, err := Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for s := range f.Symbols() {
		total += len(s.Name)
	}
	if total > 4*len(file) || total < len(long) {
		t.Errorf("the symbols of %d bytes have names of %d bytes", len(file), total)
	}

	le.PutUint32(file[coff+8:], 0) // a count without a table
	le.PutUint32(file[coff+12:], 0xffffffff)
	if f, err = Parse(file); err != nil {
		t.Fatal(err)
	}
	for s := range f.Symbols() {
		t.Fatalf("%+v", s)
	}

	const at = 0x1000
	dir := make([]byte, exportDirectorySize)
	le.PutUint32(dir[20:], n)
	le.PutUint32(dir[28:], at+exportDirectorySize)
	for range n { // forwarders
		dir = le.AppendUint32(dir, at+exportDirectorySize+4*n)
	}
	dir = append(append(dir, long...), 0)
	b = &builder{bits: 64, secs: []buildSection{{name: ".edata", data: dir}}}
	b.dirs[DirExport] = Range{at, uint32(len(dir))}
	file, _ = b.build()
	if f, err = Parse(bytes.Clone(file)); err != nil {
		t.Fatal(err)
	}
	total = 0
	for e, err2 := range f.Exports() {
		err = err2
		total += len(e.Forward)
	}
	if !errors.Is(err, ErrMalformed) || total > 4*len(file) || total < len(long) {
		t.Errorf("the exports of %d bytes have names of %d bytes: %v", len(file), total, err)
	}
}
