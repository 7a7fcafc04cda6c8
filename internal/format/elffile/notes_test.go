package elffile

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

func TestNotes(t *testing.T) {
	for _, k := range kinds {
		m := &image{class: k.class, big: k.big}
		var order binary.ByteOrder = binary.LittleEndian
		if k.big {
			order = binary.BigEndian
		}
		for _, align := range []int{4, 8} {
			data := slices.Concat(m.note("CORE", 1, []byte("abcde"), align), m.note("GNU", 3, []byte("12345678"), align), m.note("", 7, nil, align))
			var got []string
			for n := range Notes(data, order, align) {
				if string(data[n.DescOff:n.DescOff+len(n.Desc)]) != string(n.Desc) || n.Truncated {
					t.Errorf("%s, %d: %+v", k.name, align, n)
				}
				got = append(got, fmt.Sprintf("%s/%d/%s", n.Name, n.Type, n.Desc))
			}
			if want := []string{"CORE/1/abcde", "GNU/3/12345678", "/7/"}; !slices.Equal(got, want) {
				t.Errorf("%s, align %d: %q, want %q", k.name, align, got, want)
			}
		}
	}
}

func TestTruncatedNote(t *testing.T) {
	m := &image{class: 64}
	data := m.note("LINUX", 0x202, []byte("0123456789"), 4)
	for _, c := range []struct {
		keep      int
		n         int
		truncated bool
		desc      string
	}{
		{len(data), 1, false, "0123456789"},
		{len(data) - 2, 1, false, "0123456789"}, // only padding is gone
		{len(data) - 3, 1, true, "012345678"},
		{20, 1, true, ""},
		{14, 1, true, ""},
		{11, 0, false, ""},
	} {
		n := 0
		for note := range Notes(data[:c.keep], binary.LittleEndian, 4) {
			n++
			if note.Truncated != c.truncated || string(note.Desc) != c.desc || note.DescSize != 10 {
				t.Errorf("%d bytes kept: %+v", c.keep, note)
			}
		}
		if n != c.n {
			t.Errorf("%d bytes kept: %d notes, want %d", c.keep, n, c.n)
		}
	}
}

// TestBuildIDMixedAlignment has a property note aligned to 8 and a build-id aligned to 4 in
// one segment, as some linkers merge them.
func TestBuildIDMixedAlignment(t *testing.T) {
	m := &image{class: 64, typ: ET_DYN}
	data := slices.Concat(m.note("stapsdt", 3, []byte("xyz"), 4), m.note("GNU", NT_GNU_BUILD_ID, []byte("abcdefgh"), 4))
	m.secs = []sec{{name: ".note", typ: SHT_NOTE, flags: SHF_ALLOC, addr: 0x200, data: data, align: 8}}
	m.progs = []Prog{{Type: PT_NOTE, Off: 0x200, Filesz: uint64(len(data)), Align: 8}}
	if got := string(mustParse(t, m.build(t)).BuildID()); got != "abcdefgh" {
		t.Errorf("segment: %q", got)
	}
	m.progs = nil
	if got := string(mustParse(t, m.build(t)).BuildID()); got != "abcdefgh" {
		t.Errorf("section: %q", got)
	}
	m.secs = nil
	if got := mustParse(t, m.build(t)).BuildID(); got != nil {
		t.Errorf("none: %q", got)
	}
}
