package jitmap

import (
	"encoding/binary"
	"strings"
	"testing"
)

// TestPerfLines: a number has one to sixteen hexadecimal digits.
func TestPerfLines(t *testing.T) {
	for line, want := range map[string]uint64{
		"aF 1 n": 0xaf, "0XFA 1 n": 0xfa, "09 1 n": 9, "0110 1 n": 0x110, "fffffffffffff000 1 n": 0xfffffffffffff000,
		"0x 1 n": 0, "1x10 1 n": 0, "/1 1 n": 0, ":1 1 n": 0, "`1 1 n": 0, "g1 1 n": 0, "@1 1 n": 0, "1 : n": 0,
		"10000000000001000 1 n": 0, " 1 n": 0, "1000  n": 0, "1000 1": 0, "1000 1 ": 0, "1000 40000001 n": 0, "zz 10 n": 0, "1000 zz n": 0,
	} {
		m, err := ParsePerfMap([]byte(line + "\n"))
		if got := err == nil; got != (want != 0) {
			t.Errorf("%q: %v", line, err)
		} else if got && (m.At(0).Start != want || m.Damaged != nil) {
			t.Errorf("%q: at %#x, %v", line, m.At(0).Start, m.Damaged)
		}
	}
	if m, err := parsePerf([]byte("1 1 a\n2 1 b\n"), 2); err != nil || m.Damaged != nil {
		t.Errorf("as many as may be: %v, %v", err, m.Damaged)
	}
	m, err := ParsePerfMap([]byte("1000 100 old\n1000 10 inner\n"))
	if err != nil {
		t.Fatal(err)
	}
	if f, _ := m.Find(0x1050); f.Name != "old" || !f.Cut {
		t.Errorf("its beginning was overwritten: %+v", f)
	}
}

func TestJitdumpHeader(t *testing.T) {
	for name, damage := range map[string]func(b []byte){
		"magic":        func(b []byte) { b[1]++ },
		"version":      func(b []byte) { b[4] = 2 },
		"small header": func(b []byte) { b[8] = headerSize - 1 },
		"large header": func(b []byte) { b[8] = headerSize + 1 },
	} {
		w := newWriter(binary.LittleEndian)
		if m, err := ParseJitdump(w.b); err != nil || m.Len() != 0 {
			t.Fatal("a header alone:", err)
		}
		damage(w.b)
		if _, err := ParseJitdump(w.b); err == nil {
			t.Error(name)
		}
	}
}

// parsed has what was written.
func parsed(t *testing.T, write func(w *writer)) *Map {
	t.Helper()
	w := newWriter(binary.LittleEndian)
	write(w)
	m, err := ParseJitdump(w.b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSameAddress: lines are of the code that comes next there, and code that was moved is there no more.
func TestSameAddress(t *testing.T) {
	m := parsed(t, func(w *writer) {
		w.lines(0x1000, "a.js", 0x1000)
		w.load(0x1000, "old", "abcd")
		w.load(0x1000, "new", "efgh")
		w.move(0x1000, 0x2000)
		w.move(0x2000, 0x3000)
		w.move(0x1000, 0x4000)
	})
	f, _ := m.Find(0x1000)
	if _, _, ok := f.Line(0x1000); f.Name != "new" || ok {
		t.Errorf("%+v", f)
	}
	if _, ok := m.Find(0x3000); !ok {
		t.Error("it was moved twice")
	}
	if f, ok := m.Find(0x4000); ok {
		t.Errorf("nothing was there any more: %+v", f)
	}
	m = parsed(t, func(w *writer) {
		w.record(recordLoad, func() { w.u64(0, 0x5000, 0x5000, 9, 1); w.b = append(w.b, "n\x00code"...) })
	})
	if m.Len() != 0 || m.Damaged == nil {
		t.Error("it has less code than its size")
	}
}

// TestShift: lines are those of an ELF file that perf would make only if nearly all first ones are so far behind their code.
func TestShift(t *testing.T) {
	code := strings.Repeat("c", 200)
	m := parsed(t, func(w *writer) {
		w.lines(0x1000, "a.js", 0x1000+textOffset)
		w.load(0x1000, "late", code)
		w.lines(0x2000, "a.js", 0x2000)
		w.load(0x2000, "others", code)
	})
	f, _ := m.Find(0x1000)
	if _, _, ok := f.Line(0x1000); ok {
		t.Error("before its first line")
	}
	m = parsed(t, func(w *writer) {
		at := []uint64{0x1000}
		for i := range uint64(20) {
			at = append(at, 0x1000+100+i)
		}
		w.lines(0x1000, "a.js", at...)
		w.load(0x1000, "long", code)
	})
	f, _ = m.Find(0x1000)
	if _, line, _ := f.Line(0x1001); line != 10 {
		t.Errorf("line %d of its first", line)
	}
}

// entry is a line.
type entry struct {
	addr uint64
	line uint32
	file string // with what ends it
}

func TestLineEntries(t *testing.T) {
	for _, tt := range []struct {
		name  string
		list  []entry
		more  uint64 // entries that are not there
		at    uint64
		file  string
		line  int
		known bool
	}{
		{name: "not in order", list: []entry{{0x1002, 3, "a.js\x00"}, {0x1000, 1, "b\x00"}}, at: 0x1003, file: "a.js", line: 3, known: true},
		{name: "of another file", list: []entry{{0x1000, 3, "a.js\x00"}, {0x1002, 1, "b\x00"}}, at: 0x1003, file: "b", line: 1, known: true},
		{name: "the last of an address", list: []entry{{0x1000, 3, "a.js\x00"}, {0x1000, 4, "\xff\x00"}}, at: 0x1000, file: "a.js", line: 4, known: true},
		{name: "at its end", list: []entry{{0x1000, 3, "a.js\x00"}, {0x1004, 4, "\xff\x00"}}, at: 0x1001, file: "a.js", line: 3, known: true},
		{name: "line 0", list: []entry{{0x1000, 0, "a.js\x00"}}, at: 0x1001},
		{name: "no file", list: []entry{{0x1000, 3, "\x00"}}, at: 0x1001},
		{name: "a long path", list: []entry{{0x1000, 3, strings.Repeat("a", maxName+1) + "\x00"}}, at: 0x1001},
		{name: "fewer than it says", list: []entry{{0x1000, 3, strings.Repeat("a", 40) + "\x00"}}, more: 1, at: 0x1001, file: strings.Repeat("a", 40), line: 3, known: true},
		{name: "a path without an end", list: []entry{{0x1000, 3, "abc"}}, at: 0x1001},
	} {
		m := parsed(t, func(w *writer) {
			w.record(recordDebug, func() {
				w.u64(0x1000, uint64(len(tt.list))+tt.more)
				for _, e := range tt.list {
					w.u64(e.addr)
					w.u32(e.line, 0)
					w.b = append(w.b, e.file...)
				}
			})
			w.load(0x1000, "f", "abcd")
		})
		f, found := m.Find(0x1001)
		if file, line, ok := f.Line(tt.at); !found || ok != tt.known || file != tt.file || line != tt.line {
			t.Errorf("%s: %.50s:%d, %v, %v", tt.name, file, line, ok, m.Damaged)
		}
	}
}
