package jitmap

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

func TestPerfMap(t *testing.T) {
	m, err := ParsePerfMap([]byte("1000 20 first\r\n0x2000 0x10 name with spaces\nnothing\n1010 40 second\n3000 0 empty\n0 10 nowhere\nfffffffffffffff0 20 beyond\n4000 10 \n5000 10 cut o"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Len() != 3 || m.Damaged == nil || !strings.Contains(m.Damaged.Error(), "5 lines") {
		t.Errorf("%d records, %v", m.Len(), m.Damaged)
	}
	for _, tt := range []struct {
		addr uint64
		name string
		cut  bool
	}{{0xfff, "", false}, {0x1000, "first", true}, {0x100f, "first", true}, {0x1010, "second", false}, {0x104f, "second", false}, {0x1050, "", false},
		{0x2005, "name with spaces", false}, {0x5000, "", false}} {
		f, ok := m.Find(tt.addr)
		if ok != (tt.name != "") || f.Name != tt.name || f.Cut != tt.cut {
			t.Errorf("%#x: %q, cut %v", tt.addr, f.Name, f.Cut)
		}
	}
	if _, err := ParsePerfMap([]byte("#!/bin/sh\necho\n")); err == nil {
		t.Error("a script is no map")
	}
}

// TestLastCounts: in the middle of a function, at its end, and all of it.
func TestLastCounts(t *testing.T) {
	m, err := ParsePerfMap([]byte("1000 100 old\n1040 10 inner\n2000 10 a\n2000 10 b\n3000 10 c\n3008 10 d\n"))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{0x1000: "old true", 0x1040: "inner false", 0x1050: "old true", 0x2000: "b false", 0x3007: "c true", 0x3008: "d false"} {
		f, _ := m.Find(addr)
		if got := fmt.Sprint(f.Name, " ", f.Cut); got != want {
			t.Errorf("%#x: %s, want %s", addr, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	m, err := parsePerf([]byte(strings.Repeat("1 1 a\n", 5)), 3)
	if err != nil || m.Len() != 3 || m.Damaged == nil {
		t.Errorf("%v, %v", err, m.Damaged)
	}
	w := newWriter(binary.LittleEndian)
	w.load(0x1000, "a", "abcd")
	w.move(0x1000, 0x2000)
	w.move(0x2000, 0x3000)
	if m, err = parseDump(w.b, 2); err != nil || m.Len() != 2 || m.Damaged == nil {
		t.Errorf("%v, %v", err, m.Damaged)
	}
	if m, _ = ParsePerfMap([]byte("1 1 " + strings.Repeat("x", 2*maxName) + "\n")); len(m.At(0).Name) != maxName {
		t.Errorf("a name of %d bytes", len(m.At(0).Name))
	}
}

// A writer writes a jitdump file.
type writer struct {
	binary.ByteOrder
	b []byte
}

func newWriter(o binary.ByteOrder) *writer {
	w := &writer{ByteOrder: o}
	w.u32(magic, 1, headerSize, 62, 0, 4242)
	w.u64(0, 0)
	return w
}

func (w *writer) u32(list ...uint32) {
	for _, v := range list {
		w.b = append(w.b, 0, 0, 0, 0)
		w.PutUint32(w.b[len(w.b)-4:], v)
	}
}

func (w *writer) u64(list ...uint64) {
	for _, v := range list {
		w.b = append(w.b, 0, 0, 0, 0, 0, 0, 0, 0)
		w.PutUint64(w.b[len(w.b)-8:], v)
	}
}

func (w *writer) record(id uint32, body func()) {
	at := len(w.b)
	w.u32(id, 0)
	w.u64(1)
	body()
	w.PutUint32(w.b[at+4:], uint32(len(w.b)-at))
}

func (w *writer) load(addr uint64, name, code string) {
	w.record(recordLoad, func() {
		w.u32(4242, 4243)
		w.u64(addr, addr, uint64(len(code)), 1)
		w.b = append(w.b, name+"\x00"+code...)
	})
}

func (w *writer) move(from, to uint64) {
	w.record(recordMove, func() {
		w.u32(4242, 4243)
		w.u64(to, from, to, 4, 1)
	})
}

// lines writes line numbers 10, 11, ... at addresses; file is of the first, and the others have the same.
func (w *writer) lines(addr uint64, file string, at ...uint64) {
	w.record(recordDebug, func() {
		w.u64(addr, uint64(len(at)))
		for i, a := range at {
			w.u64(a)
			w.u32(uint32(10+i), 0)
			w.b = append(w.b, file+"\x00"...)
			file = "\xff"
		}
	})
}

func TestJitdump(t *testing.T) {
	for _, o := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		w := newWriter(o)
		w.record(5, func() { w.u64(0, 0, 0) })
		w.lines(0x1000, "a.js", 0x1000, 0x1002)
		w.load(0x1000, "first", "abcd")
		w.load(0x2000, "second", "efgh")
		w.move(0x1000, 0x3000)
		w.move(0x7000, 0x8000) // of what is not there
		w.record(recordClose, func() {})
		w.load(0x9000, "behind the end", "x")
		m, err := ParseJitdump(w.b)
		if err != nil || m.Damaged != nil || m.Len() != 3 || m.PID != 4242 {
			t.Fatalf("%v, %+v", err, m)
		}
		for addr, want := range map[uint64]string{0x1001: "first abcd a.js:10", 0x1003: "first abcd a.js:11", 0x2000: "second efgh :0", 0x3003: "first abcd a.js:11"} {
			f, ok := m.Find(addr)
			file, line, _ := f.Line(addr)
			if got := fmt.Sprintf("%s %s %s:%d", f.Name, f.Code, file, line); !ok || got != want {
				t.Errorf("%#x: %s, want %s", addr, got, want)
			}
		}
	}
}

// TestLinesOfV8: all addresses are those in an ELF file that perf would make.
func TestLinesOfV8(t *testing.T) {
	w := newWriter(binary.LittleEndian)
	w.lines(0x1000, "a.js", 0x1041, 0x1043)
	w.load(0x1000, "first", "abcd")
	m, err := ParseJitdump(w.b)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := m.Find(0x1002)
	if file, line, ok := f.Line(0x1002); !ok || file != "a.js" || line != 10 {
		t.Errorf("%s:%d", file, line)
	}
	if _, _, ok := f.Line(0x1000); ok {
		t.Error("before the first line is none")
	}
}

// TestLinesInDoubt: of V8's files some are damaged, and some are of bytecode.
func TestLinesInDoubt(t *testing.T) {
	for name, write := range map[string]func(w *writer){
		"file":           func(w *writer) { w.lines(0x1000, "a\x01.js", 0x1000); w.load(0x1000, "f", "abcd") },
		"no UTF-8":       func(w *writer) { w.lines(0x1000, "\xe7.js", 0x1000); w.load(0x1000, "f", "abcd") },
		"address behind": func(w *writer) { w.lines(0x1000, "a.js", 0x1000, 0x1005); w.load(0x1000, "f", "abcd") },
		"address before": func(w *writer) { w.lines(0x1000, "a.js", 0xfff, 0x1001); w.load(0x1000, "f", "abcd") },
		"interpreted":    func(w *writer) { w.lines(0x1000, "a.js", 0x1000); w.load(0x1000, "JS:~f a.js:1:1", "abcd") },
		"baseline":       func(w *writer) { w.lines(0x1000, "a.js", 0x1000); w.load(0x1000, "JS:^f a.js:1:1", "abcd") },
	} {
		w := newWriter(binary.LittleEndian)
		write(w)
		m, err := ParseJitdump(w.b)
		if err != nil {
			t.Fatal(name, err)
		}
		f, found := m.Find(0x1003)
		if file, line, ok := f.Line(0x1003); !found || ok {
			t.Errorf("%s: %s:%d", name, file, line)
		}
	}
}

func TestJitdumpDamaged(t *testing.T) {
	good := newWriter(binary.LittleEndian)
	good.load(0x1000, "first", "abcd")
	for name, damage := range map[string]func(w *writer){
		"record too small":      func(w *writer) { w.u32(0, 8, 0, 0) },
		"no name":               func(w *writer) { w.record(recordLoad, func() { w.u64(0, 1, 1, 0xffffffff, 0) }) },
		"short load":            func(w *writer) { w.record(recordLoad, func() { w.u64(0) }) },
		"short move":            func(w *writer) { w.record(recordMove, func() { w.u64(0) }) },
		"more lines than bytes": func(w *writer) { w.record(recordDebug, func() { w.u64(0x1000, 1<<60) }) },
		"no code":               func(w *writer) { w.load(0x5000, "empty", "") },
		"move beyond the end":   func(w *writer) { w.move(0x1000, ^uint64(0)) },
		"lines without a count": func(w *writer) { w.record(recordDebug, func() { w.u64(0x1000) }) },
		"larger than what is there": func(w *writer) {
			w.record(recordLoad, func() { w.u64(0, 0x5000, 0x5000, 1<<40, 1); w.b = append(w.b, "n\x00c"...) })
		},
	} {
		w := &writer{good.ByteOrder, append([]byte(nil), good.b...)}
		damage(w)
		m, err := ParseJitdump(w.b)
		if err != nil || m.Damaged == nil || m.Len() != 1 {
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
	for _, b := range [][]byte{nil, []byte("JiTD"), good.b[:headerSize-1], append([]byte("DTiJ\x02"), make([]byte, 60)...), append([]byte("DTiJ\x01\x00\x00\x00\xff\xff"), make([]byte, 60)...)} {
		if _, err := ParseJitdump(b); err == nil {
			t.Errorf("%q is none", b)
		}
	}
	if m, err := ParseJitdump(good.b[:len(good.b)-1]); err != nil || m.Damaged != nil || m.Len() != 0 {
		t.Errorf("cut off: %v, %+v", err, m)
	}
}

func FuzzPerfMap(f *testing.F) {
	f.Add([]byte("1000 20 first\n0x1010 0x10 second one\n"))
	f.Add([]byte("1 ffffffffffffffff x\nffffffffffffffff 1 y\n1 1 z\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := ParsePerfMap(data); err == nil {
			ask(t, m)
		}
	})
}

func FuzzJitdump(f *testing.F) {
	w := newWriter(binary.LittleEndian)
	w.lines(0x1000, "a.js", 0x1041, 0x1043)
	w.table(12, 4, 12, cieLE)
	w.load(0x1000, "first", "abcd")
	w.move(0x1000, 0x3000)
	f.Add(w.b)
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := ParseJitdump(data); err == nil {
			ask(t, m)
		}
	})
}

// ask asks for each address at which a record begins and ends.
func ask(t *testing.T, m *Map) {
	for i := range m.Len() {
		r := m.At(i)
		for _, addr := range []uint64{r.Start, r.Start + r.Size - 1} {
			f, ok := m.Find(addr)
			if !ok || addr < f.Start || addr-f.Start >= f.Size || f.Code != nil && uint64(len(f.Code)) != f.Size || len(f.Table) > maxTable {
				t.Fatalf("%#x: %+v", addr, f)
			}
			f.Line(addr)
		}
	}
}

func BenchmarkPerfMap(b *testing.B) {
	var text strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&text, "%x %x LazyCompile:*function%d /srv/app/lib/module.js:%d:12\n", uint64(0x7f0000000000)+uint64(i)*512, 480, i, i)
	}
	data := []byte(text.String())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParsePerfMap(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJitdump(b *testing.B) {
	w := newWriter(binary.LittleEndian)
	for i := range uint64(5000) {
		w.lines(i<<12+1<<20, "a.js", i<<12+1<<20, i<<12+1<<20+2)
		w.load(i<<12+1<<20, "function", strings.Repeat("code", 100))
	}
	b.SetBytes(int64(len(w.b)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseJitdump(w.b); err != nil {
			b.Fatal(err)
		}
	}
}
