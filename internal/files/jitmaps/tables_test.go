package jitmaps

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/format/slimnote"
)

// withTable puts a record with an unwind table before the only function of a jitdump file.
func withTable(dump, table string) string {
	const header = 40
	o := binary.LittleEndian
	b := o.AppendUint32([]byte(dump[:header]), 4)
	b = o.AppendUint32(b, uint32(16+24+len(table)))
	for _, v := range []uint64{0, uint64(len(table)), 0, uint64(len(table))} {
		b = o.AppendUint64(b, v)
	}
	return string(b) + table + dump[header:]
}

const cie = "\x04\x00\x00\x00\x00\x00\x00\x00"

// TestTables: a function has its table while it is there as it was recorded.
func TestTables(t *testing.T) {
	whole := withTable(jitdump(7, 0x2000, 100, 0), cie)
	for name, tt := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"there":         {map[string]string{"jit-7.dump": whole}, true},
		"no table":      {map[string]string{"jit-7.dump": jitdump(7, 0x2000, 100, 0)}, false},
		"other code":    {map[string]string{"jit-7.dump": withTable(jitdump(7, 0x2000, 100, 9), cie)}, false},
		"cut":           {map[string]string{"jit-7.dump": whole + jitdump(7, 0x2000, 8, 0)[40:]}, false},
		"of a perf map": {map[string]string{"perf-7.map": "2000 64 f\n"}, false},
	} {
		m, _ := opened(t, tt.files)
		m.p.Record = true
		for range 2 {
			got, ok := m.TableAt(0x2010)
			if ok != tt.want || ok && (got.Start != 0x2000 || got.End != 0x2064 || got.Addr != 0x2068 || string(got.EHFrame) != cie) {
				t.Errorf("%s: %+v, %v", name, got, ok)
			}
			p := m.p // a slim core, without the files
			p.Kept, p.PID = m.Asked(), 8
			if m = New(p); name == "there" && len(p.Kept) != 1 {
				t.Errorf("kept: %+v", p.Kept)
			}
		}
	}
}

// TestKeptTables: what a slim core says is believed as little.
func TestKeptTables(t *testing.T) {
	m, _ := opened(t, nil)
	m.kept = newKept([]slimnote.Made{{Start: 0x1000, Size: 0x20, Cut: true, Table: []byte(cie), Places: []slimnote.MadePlace{{Addr: 0x1008}}}, {Start: 0x2000, Size: 0x20, Table: []byte(cie)}})
	if got, ok := m.TableAt(0x1008); ok {
		t.Errorf("a part of it is gone: %+v", got)
	}
	if got, ok := m.TableAt(0x2008); !ok || got.Start != 0x2000 {
		t.Errorf("%+v", got)
	}
}

// TestAskedTables: tables count for what a note may have.
func TestAskedTables(t *testing.T) {
	var a asked
	a.add(1, answer{table: make([]byte, maxAskedText)})
	a.add(2, answer{name: "f"})
	if len(a.list) != 1 {
		t.Errorf("%d answers", len(a.list))
	}
}
