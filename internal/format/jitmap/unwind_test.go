package jitmap

import (
	"encoding/binary"
	"strings"
	"testing"
)

// table writes a record with the unwind table of the function that comes next: .eh_frame, then .eh_frame_hdr.
func (w *writer) table(size, head, mapped uint64, eh string) {
	w.record(recordUnwind, func() {
		w.u64(size, head, mapped)
		w.b = append(w.b, eh+strings.Repeat("\x01", int(head))...)
	})
}

const cieLE, cieBE = "\x04\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x04\x00\x00\x00\x00"

func TestUnwindTables(t *testing.T) {
	for cie, o := range map[string]binary.ByteOrder{cieLE: binary.LittleEndian, cieBE: binary.BigEndian} {
		w := newWriter(o)
		w.table(12, 4, 12, cie)
		w.load(0x1000, "first", "abcdef")
		w.load(0x2000, "second", "abcd") // the record is of one function
		w.move(0x1000, 0x3001)
		m, err := ParseJitdump(w.b)
		if err != nil || m.Damaged != nil {
			t.Fatal(err, m.Damaged)
		}
		for addr, want := range map[uint64]string{0x1000: cie, 0x2000: "", 0x3003: cie} {
			if f, ok := m.Find(addr); !ok || string(f.Table) != want {
				t.Errorf("%#x: %q", addr, f.Table)
			}
		}
		if f, _ := m.Find(0x3001); f.TableAddr() != 0x3009 {
			t.Errorf("the table is at %#x", f.TableAddr())
		}
	}
	if a := TableAddr(0x1000, 8); a != 0x1008 {
		t.Errorf("%#x", a)
	}
}

// TestNoUnwindTables: what is no table, or none that can be used, is as if it were not there.
func TestNoUnwindTables(t *testing.T) {
	large := cieLE + strings.Repeat("\x00", maxTable-7)
	for name, tt := range map[string]struct {
		size, head, mapped uint64
		eh                 string
		damaged            bool
	}{
		"larger than the record":   {size: 13, head: 4, mapped: 13, eh: cieLE, damaged: true},
		"larger than an address":   {size: ^uint64(0), head: 4, mapped: 12, eh: cieLE, damaged: true},
		"a header larger than all": {size: 12, head: 13, mapped: 12, eh: cieLE, damaged: true},
		"none, says V8":            {size: 12, head: 4, mapped: 0, eh: cieLE},
		"a header alone":           {size: 4, head: 4, mapped: 4},
		"begins with no CIE":       {size: 12, head: 4, mapped: 12, eh: "\x04\x00\x00\x00\x01\x00\x00\x00"},
		"begins with its end":      {size: 12, head: 4, mapped: 12, eh: "\x00\x00\x00\x00\x00\x00\x00\x00"},
		"too large":                {size: uint64(len(large)) + 4, head: 4, mapped: 12, eh: large},
	} {
		w := newWriter(binary.LittleEndian)
		w.table(12, 4, 12, cieLE) // of no function: it is forgotten
		if tt.head > 12 {
			w.record(recordUnwind, func() { w.u64(tt.size, tt.head, tt.mapped); w.b = append(w.b, tt.eh+"\x01\x01\x01\x01"...) })
		} else {
			w.table(tt.size, tt.head, tt.mapped, tt.eh)
		}
		w.load(0x1000, "first", "abcd")
		m, err := ParseJitdump(w.b)
		if err != nil || (m.Damaged != nil) != tt.damaged || m.Len() != min(m.Len(), 1) {
			t.Errorf("%s: %v, %+v", name, err, m.Damaged)
		}
		if f, _ := m.Find(0x1000); f.Table != nil {
			t.Errorf("%s: %q", name, f.Table)
		}
	}
	w := newWriter(binary.LittleEndian)
	w.record(recordUnwind, func() { w.u64(12, 4) })
	w.load(0x1000, "first", "abcd")
	if m, err := ParseJitdump(w.b); err != nil || m.Damaged == nil {
		t.Error("a short record", err)
	}
}
