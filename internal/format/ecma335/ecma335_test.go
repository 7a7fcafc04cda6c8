package ecma335

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// heap is one of the metadata.
type heap struct{ name, data string }

// metadata makes a file with heaps.
func metadata(version string, heaps ...heap) []byte {
	le := binary.LittleEndian
	b := append([]byte("MZ\x00\x00"), "BSJB\x01\x00\x01\x00\x00\x00\x00\x00"...)
	b = append(le.AppendUint32(b, uint32(len(version))), version...)
	b = le.AppendUint16(le.AppendUint16(b, 0), uint16(len(heaps)))
	off := len(b) - 4
	for _, h := range heaps {
		off += 8 + (len(h.name)+4)&^3
	}
	for _, h := range heaps {
		b = le.AppendUint32(le.AppendUint32(b, uint32(off)), uint32(len(h.data)))
		b = append(append(b, h.name...), make([]byte, 4-len(h.name)%4)...)
		off += len(h.data)
	}
	for _, h := range heaps {
		b = append(b, h.data...)
	}
	return b
}

var (
	guid  = heap{"#GUID", "\x28\xed\x70\x7f\x18\xa5\x40\xbd\xb6\x07\x3e\x51\x81\x97\xc9\x51"}
	names = heap{"#Strings", "\x00Total\x00Line"}
)

func TestParse(t *testing.T) {
	for _, b := range [][]byte{metadata("", names, guid), metadata("v4.0", guid, names), metadata(strings.Repeat("v", maxVersion+1), guid, names),
		metadata("v4.0", heap{"#US", ""}, heap{"#~", ""}, heap{"#four4", "x"}, heap{"#seven77", "x"}, names, guid)} {
		if a, err := Parse(b); err != nil || string(a.Strings) != names.data || string(a.GUID[:]) != guid.data {
			t.Errorf("%q: %+v, %v", b, a, err)
		}
	}
	a, err := Parse(metadata("v4.0.30319\x00\x00", heap{"#~", "tables"}, names, guid))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.String(); got != "7F70ED28-A518-BD40-B607-3E518197C951" {
		t.Error(got)
	}
	for _, c := range []struct {
		off  int
		want string
		ok   bool
	}{{1, "Total", true}, {3, "tal", true}, {6, "", true}, {0, "", true}, {7, "Line", false}, {-1, "", false}, {len(names.data), "", false}, {len(names.data) - 1, "e", false}} {
		if got, ok := a.Text(uint64(a.At + c.off)); ok != c.ok || ok && got != c.want {
			t.Errorf("at %d: %q, %t", c.off, got, ok)
		}
	}
}

func TestNone(t *testing.T) {
	short := metadata("v4.0")
	out := metadata("v4.0", guid, names)
	binary.LittleEndian.PutUint32(out[bytes.Index(out, []byte("#Strings"))-4:], 1000)
	begins := metadata("v4.0", guid, names)
	binary.LittleEndian.PutUint32(begins[bytes.Index(begins, []byte("#Strings"))-8:], 1<<31)
	byOne := metadata("v4.0", guid, names)
	byOne = byOne[:len(byOne)-1]
	after := metadata("v4.0", guid, names)
	copy(after[bytes.Index(after, []byte("#GUID")):], "#Guid")
	many := make([]heap, maxStreams)
	for name, b := range map[string][]byte{
		"no metadata": []byte("MZ"), "no names": metadata("v4.0", guid), "no GUID": metadata("v4.0", names), "half a GUID": metadata("v4.0", heap{"#GUID", "12345678"}, names),
		"a long version": metadata(strings.Repeat("v", 300), guid, names), "no heaps": short, "cut": short[:22], "cut in its root": short[:10], "out of the file": out,
		"begins out of the file": begins, "out of the file by a byte": byOne, "another name": after, "right after too many": metadata("v4.0", append(many[:maxStreams-1:maxStreams-1], guid, names)...), "after too many": metadata("v4.0", append(many, guid, names)...),
		"a heap without an end of its name": append(metadata("v4.0", guid, names)[:30], bytes.Repeat([]byte("x"), 64)...),
	} {
		if a, err := Parse(b); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// A file that was cut anywhere is none.
func TestCut(t *testing.T) {
	whole := metadata("v4.0", heap{"#~", "tables"}, guid, names)
	for n := range whole {
		if a, err := Parse(whole[:n:n]); !errors.Is(err, ErrNone) {
			t.Errorf("%d of %d bytes: %+v, %v", n, len(whole), a, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(metadata("v4.0.30319\x00\x00", heap{"#~", "tables"}, names, guid), uint64(130))
	f.Fuzz(func(t *testing.T, b []byte, at uint64) {
		if a, err := Parse(b); err == nil {
			if text, ok := a.Text(at); ok && !bytes.Contains(b, []byte(text)) {
				t.Errorf("%q is not in the file", text)
			}
		}
	})
}
