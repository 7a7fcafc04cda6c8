package cfi

import (
	"errors"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
)

var plain = cfitest.CIE{Insns: prog().DefCFA(7, 8).Offset(16, 1)}

// covers checks which of the ranges a table finds.
func covers(t *testing.T, name string, table *Table, want map[uint64]uint64) {
	t.Helper()
	var row Row
	for pc, start := range want {
		err := table.Row(pc, &row)
		if start == 0 {
			if err != ErrNoFDE {
				t.Errorf("%s: %#x is covered (%v, %+v)", name, pc, err, row.FDE)
			}
			continue
		}
		if err != nil || row.FDE.Start != start {
			t.Errorf("%s: %#x is covered from %#x, %v; want %#x", name, pc, row.FDE.Start, err, start)
		}
		if from, end, ok := table.FDEForPC(pc); !ok || from != start || pc >= end {
			t.Errorf("%s: FDEForPC(%#x) = %#x, %#x, %v", name, pc, from, end, ok)
		}
	}
}

// TestFormats builds the same three functions in every possible section format.
func TestFormats(t *testing.T) {
	want := map[uint64]uint64{0x1000: 0x1000, 0x10ff: 0x1000, 0x1100: 0, 0xfff: 0, 0x2000: 0x2000, 0x203f: 0x2000, 0x2040: 0x2040, 0x2041: 0, 0: 0, 1<<64 - 1: 0}
	for _, c := range []struct {
		name string
		s    cfitest.Section
		cie  cfitest.CIE
	}{
		{"eh_frame", cfitest.Section{}, plain},
		{"eh_frame, 64-bit format", cfitest.Section{Wide: true}, plain},
		{"eh_frame, big-endian", cfitest.Section{Big: true}, plain},
		{"eh_frame, 32-bit addresses", cfitest.Section{AddrSize: 4}, plain},
		{"eh_frame, absolute", cfitest.Section{}, cfitest.CIE{Abs: true}},
		{"eh_frame, no augmentation", cfitest.Section{}, cfitest.CIE{NoAug: true}},
		{"eh_frame, eh", cfitest.Section{}, cfitest.CIE{Aug: "eh", Abs: true}},
		{"eh_frame, everything", cfitest.Section{}, cfitest.CIE{Aug: "zPLRSBG"}},
		{"eh_frame, version 3", cfitest.Section{}, cfitest.CIE{Version: 3, RA: 300}},
		{"eh_frame, pcrel sdata8", cfitest.Section{}, cfitest.CIE{Enc: 0x1c}},
		{"eh_frame, datarel sdata4", cfitest.Section{DataBase: 0x7000}, cfitest.CIE{Enc: 0x3b}},
		{"eh_frame, udata2", cfitest.Section{}, cfitest.CIE{Enc: 0x02}},
		{"eh_frame, uleb", cfitest.Section{}, cfitest.CIE{Enc: 0x01}},
		{"eh_frame, pcrel sleb", cfitest.Section{}, cfitest.CIE{Enc: 0x19}},
		{"eh_frame, unknown letter after z", cfitest.Section{}, cfitest.CIE{Aug: "zRX", AugData: []byte{0x1b, 1, 2, 3}}},
		{"eh_frame, armcc+", cfitest.Section{}, cfitest.CIE{Aug: "armcc+", Abs: true}},
		{"debug_frame 1", cfitest.Section{Debug: true}, plain},
		{"debug_frame 3", cfitest.Section{Debug: true}, cfitest.CIE{Version: 3}},
		{"debug_frame 4", cfitest.Section{Debug: true}, cfitest.CIE{Version: 4}},
		{"debug_frame 4, segments", cfitest.Section{Debug: true}, cfitest.CIE{Version: 4, SegSize: 4}},
		{"debug_frame, 64-bit format", cfitest.Section{Debug: true, Wide: true}, plain},
		{"debug_frame, big-endian, 32-bit addresses", cfitest.Section{Debug: true, Big: true, AddrSize: 4}, cfitest.CIE{Version: 4}},
	} {
		s := c.s
		s.Addr = ehAddr
		if s.Debug {
			s.Addr = 0
		}
		ref := s.AddCIE(c.cie)
		s.AddFDE(ref, 0x2000, 0x40, nil)
		if !s.Debug {
			s.Terminator()
			ref = s.AddCIE(c.cie)
		}
		s.AddFDE(ref, 0x2040, 1, nil)
		s.AddFDE(ref, 0x1000, 0x100, nil)
		cfg := Config{Big: s.Big, AddrSize: s.AddrSize, DataBase: s.DataBase}
		if s.Debug {
			covers(t, c.name, DebugFrame(s.Bytes(), cfg), want)
			continue
		}
		covers(t, c.name, EHFrame(s.Bytes(), ehAddr, nil, 0, cfg), want)
		const hdrAddr = 0x300000
		for _, enc := range []uint8{0x3b, 0x03, 0x0b, 0x3c, 0x00, 0x08} {
			table := EHFrame(s.Bytes(), ehAddr, s.HeaderEnc(hdrAddr, enc), hdrAddr, cfg)
			if err := table.HeaderErr(); err != nil {
				t.Errorf("%s: header in encoding %#x: %v", c.name, enc, err)
			}
			covers(t, c.name+", hdr", table, want)
			if table.entries != nil {
				t.Errorf("%s: header in encoding %#x: the index was built", c.name, enc)
			}
		}
	}
}

// TestHeaderLies checks that a header inconsistent with the section costs time, but never
// an FDE.
func TestHeaderLies(t *testing.T) {
	const hdrAddr = 0x300000
	build := func() ([]byte, []byte) {
		s := cfitest.Section{Addr: ehAddr}
		ref := s.AddCIE(plain)
		for i := range uint64(4) {
			s.AddFDE(ref, 0x1000+0x100*i, 0x80, nil)
		}
		return s.Bytes(), s.Header(hdrAddr)
	}
	want := map[uint64]uint64{0x1000: 0x1000, 0x1110: 0x1100, 0x1200: 0x1200, 0x137f: 0x1300, 0x1380: 0, 0x1290: 0}
	const table = 12 // where the table starts
	for name, lie := range map[string]func(h []byte) []byte{
		"truth":             func(h []byte) []byte { return h },
		"reversed":          func(h []byte) []byte { return slices.Concat(h[:12], h[36:44], h[28:36], h[20:28], h[12:20]) },
		"outside":           func(h []byte) []byte { cfitest.PutU32(h, table+8+4, 0x7fffffff); return h },
		"another FDE":       func(h []byte) []byte { copy(h[table+8+4:], h[table+4:table+8]); return h },
		"the CIE":           func(h []byte) []byte { cfitest.PutU32(h, table+8+4, ehAddr-hdrAddr); return h },
		"inside of an FDE":  func(h []byte) []byte { h[table+8+4] += 3; return h },
		"starts elsewhere":  func(h []byte) []byte { h[table+8] -= 4; return h },
		"too many entries":  func(h []byte) []byte { h[8] = 200; return h },
		"no entries":        func(h []byte) []byte { h[8] = 0; return h },
		"cut":               func(h []byte) []byte { return h[:20] },
		"empty":             func(h []byte) []byte { return h[:0] },
		"version":           func(h []byte) []byte { h[0] = 2; return h },
		"no table":          func(h []byte) []byte { h[3] = 0xff; return h },
		"LEB128 table":      func(h []byte) []byte { h[3] = 0x31; return h },
		"indirect table":    func(h []byte) []byte { h[3] = 0xbb; return h },
		"unknown frame enc": func(h []byte) []byte { h[1] = 0x0f; return h },
	} {
		data, hdr := build()
		tab := EHFrame(data, ehAddr, lie(hdr), hdrAddr, Config{AddrSize: 8})
		covers(t, name, tab, want)
	}
}

// TestOverlap checks ranges inside other ranges, as assembly code has them, and empty ones.
func TestOverlap(t *testing.T) {
	s := cfitest.Section{Addr: ehAddr}
	ref := s.AddCIE(plain)
	for _, r := range [][2]uint64{{0x1000, 0x100}, {0x1040, 0x10}, {0x1080, 0}, {0x2000, 0}, {0x2000, 0x20}} {
		s.AddFDE(ref, r[0], r[1], nil)
	}
	want := map[uint64]uint64{0x1000: 0x1000, 0x1045: 0x1040, 0x1050: 0x1000, 0x1090: 0x1000, 0x2000: 0x2000, 0x2020: 0}
	covers(t, "index", EHFrame(s.Bytes(), ehAddr, nil, 0, Config{AddrSize: 8}), want)
	covers(t, "hdr", EHFrame(s.Bytes(), ehAddr, s.Header(0x300000), 0x300000, Config{AddrSize: 8}), want)
}

// TestBadEntries checks that a scan continues after unreadable entries.
func TestBadEntries(t *testing.T) {
	s := cfitest.Section{Addr: ehAddr}
	good := s.AddCIE(plain)
	s.AddFDE(good, 0x1000, 0x10, nil)
	s.AddFDE(s.AddCIE(cfitest.CIE{Version: 9}), 0x2000, 0x10, nil)
	s.AddFDE(s.AddCIE(cfitest.CIE{Aug: "Q"}), 0x3000, 0x10, nil)
	s.AddFDE(s.AddCIE(cfitest.CIE{Enc: 0x9b}), 0x4000, 0x10, nil) // indirect
	s.AddFDE(s.AddCIE(cfitest.CIE{Enc: 0x0f}), 0x5000, 0x10, nil) // no encoding
	s.Raw(8, 0, 0, 0, 0xf0, 0xff, 0xff, 0xff, 1, 2, 3, 4)         // CIE pointer outside
	s.Raw(2, 0, 0, 0, 1, 2)                                       // too short for an id
	s.AddFDE(good, 0x6000, 0x10, nil)
	s.Raw(0xff, 0xff, 0, 0, 1, 2, 3) // length outside
	table := EHFrame(s.Bytes(), ehAddr, nil, 0, Config{AddrSize: 8})
	covers(t, "index", table, map[uint64]uint64{0x1000: 0x1000, 0x2000: 0, 0x3000: 0, 0x4000: 0, 0x5000: 0, 0x6000: 0x6000})
	if n := table.Skipped(); n != 7 {
		t.Errorf("%d entries skipped, want 7", n)
	}
	var row Row
	for _, d := range []FDE{{Off: 1 << 40}, {Off: 0}, {Off: uint64(len(s.Bytes()))}} {
		for _, err := range table.Rows(d, &row) {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("rows of an FDE at %#x: %v", d.Off, err)
			}
		}
	}
}

// TestDiscarded checks that FDEs of discarded functions cover nothing.
func TestDiscarded(t *testing.T) {
	s := cfitest.Section{Debug: true}
	ref := s.AddCIE(cfitest.CIE{Version: 4})
	for _, start := range []uint64{0, 1<<64 - 1, 1<<64 - 2, 0x800} {
		s.AddFDE(ref, start, 0x1000, nil)
	}
	table := DebugFrame(s.Bytes(), Config{AddrSize: 8})
	covers(t, "discarded", table, map[uint64]uint64{0: 0, 0x10: 0, 0x7ff: 0, 0x800: 0x800, 0x17ff: 0x800, 1<<64 - 1: 0})
	if n := table.Skipped(); n != 0 {
		t.Errorf("%d entries skipped", n)
	}
	var row Row
	if err := table.Row(0x800, &row); err != nil || row.Source != SourceDebugFrame {
		t.Errorf("source %v, %v", row.Source, err)
	}
}

func TestFDEs(t *testing.T) {
	s := cfitest.Section{Addr: ehAddr}
	ref := s.AddCIE(plain)
	var want []FDE
	for _, start := range []uint64{0x3000, 0x1000, 0x2000} {
		off := s.AddFDE(ref, start, 0x10, nil)
		want = append(want, FDE{Start: start, End: start + 0x10, Off: off, CIEOff: ref.Off})
	}
	slices.SortFunc(want, func(a, b FDE) int { return int(a.Start) - int(b.Start) })
	table := EHFrame(s.Bytes(), ehAddr, s.Header(0x300000), 0x300000, Config{AddrSize: 8})
	if got := slices.Collect(table.FDEs()); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for range table.FDEs() {
		break
	}
}

func TestPointerEncodings(t *testing.T) {
	b := bases{section: 0x1001, text: 0x20000, data: 0x30000, function: 0x40000, addrSize: 8}
	// At address 0x1001, the next multiple of 8 is 7 bytes further.
	data := []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3, 4, 5, 6, 7, 8}
	for enc, want := range map[encoding]uint64{
		0x00: 0x7ffffffffffffffe, 0x01: 0xfffffffffffffe, 0x02: 0xfffe, 0x03: 0xfffffffe, 0x04: 0x7ffffffffffffffe,
		0x09: 0xfffffffffffffffe, 0x0a: 1<<64 - 2, 0x0b: 1<<64 - 2, 0x0c: 0x7ffffffffffffffe, 0x08: 0x7ffffffffffffffe,
		0x1b: 0x0fff, 0x2b: 0x1fffe, 0x3b: 0x2fffe, 0x4b: 0x3fffe, 0x50: 0x070605040302017f,
	} {
		c := binbuf.New(data, 0, false)
		got := enc.read(&c, &b)
		if got != want || c.Error != nil {
			t.Errorf("encoding %#02x: %#x, %v; want %#x", uint8(enc), got, c.Error, want)
		}
		c = binbuf.New(data, 0, false)
		enc.skip(&c, &b)
		if c.Error != nil {
			t.Errorf("skipping encoding %#02x: %v", uint8(enc), c.Error)
		}
	}
	for _, enc := range []encoding{0x80, 0x9b, 0x0f, 0x05, 0x60, 0x70} {
		c := binbuf.New(data, 0, false)
		if enc.read(&c, &b); !errors.Is(c.Error, ErrUnsupported) {
			t.Errorf("encoding %#02x: %v", uint8(enc), c.Error)
		}
	}
}
