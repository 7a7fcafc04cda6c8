package dwarf

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// An abbreviation may have few attributes without bytes: each entry of one byte would have them all.
func TestEmptyAttributes(t *testing.T) {
	for n, ok := range map[int]bool{maxEmpty: true, maxEmpty + 1: false} {
		b := []byte{0x34, 0}
		for range n {
			b = append(b, 0x3c, byte(FormFlagPresent))
		}
		for range 2 * maxEmpty { // those with bytes do not count
			b = append(b, 0x3c, byte(FormData1))
		}
		c := binbuf.New(append(b, 0, 0), 0, false)
		a, _, err := parseAbbrev(&c, encoding{version: 4, addrSize: 8, offSize: 4}, nil)
		if ok && (err != nil || int(a.count) != n+2*maxEmpty) || !ok && (err == nil || !strings.Contains(err.Error(), "without bytes")) {
			t.Errorf("%d: %d attributes, %v", n, a.count, err)
		}
	}
}

// A table that is longer than what is requested of it at first is the same as one that is read at once.
func TestLongAbbrevs(t *testing.T) {
	var b []byte
	for code := 1; code <= 3000; code++ {
		b = binary.AppendUvarint(b, uint64(code))
		b = append(b, byte(TagVariable), 0, byte(AttrName), byte(FormString), byte(1+code%60), byte(FormData1), 0, 0)
	}
	b = append(b, 0, 0xff)
	want := new(abbrevTable)
	if end := want.parse(b, 0, encoding{4, 8, 4}); end != uint64(len(b)-1) || want.err != nil {
		t.Fatal(end, want.err)
	}
	d := New(onlyLazy(b), binary.LittleEndian)
	for range 2 { // the second time with the lists of the first
		got, size := d.parseAbbrevs(0, encoding{4, 8, 4})
		if got.err != nil || size != len(b)-1 || got.dense != 3000 || !slices.Equal(got.list, want.list) || !slices.Equal(got.specs, want.specs) {
			t.Errorf("%d bytes, %d of %d abbreviations, %v", size, len(got.list), len(want.list), got.err)
		}
	}
	cut, _ := New(onlyLazy(b[:9000]), binary.LittleEndian).parseAbbrevs(0, encoding{4, 8, 4})
	if !errors.Is(cut.err, binbuf.ErrShort) || len(cut.list) == 0 || !slices.Equal(cut.list, want.list[:len(cut.list)]) {
		t.Errorf("cut short: %d abbreviations, %v", len(cut.list), cut.err)
	}
}
