package minidump_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

// All modules may have one CodeView record, with a long path: not all paths are kept.
func TestSharedCodeView(t *testing.T) {
	const n, size = 2000, 20_000
	d := linuxDump(cpuAMD64)
	list := make([]dumpbuild.Module, n)
	for i := range list {
		list[i] = dumpbuild.Module{Base: uint64(i) << 20, Size: 16, Name: "m.dll"}
	}
	list[0].CodeView = d.PDB70(1, 2, 3, [8]byte{4}, 5, strings.Repeat("p", size))
	d.Modules(list...)
	b := d.Bytes()
	modules := stream(t, b, 4)[4:]
	for i := 1; i < n; i++ {
		copy(modules[108*i+76:], modules[76:84])
	}
	f, err := minidump.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for i := range f.Modules {
		total += len(f.Modules[i].DebugFile)
	}
	if len(f.Modules) != n || total < size || total > 1<<20+4*len(b) {
		t.Errorf("%d modules in %d bytes have paths of %d", len(f.Modules), len(b), total)
	}
	if len(f.Warnings) == 0 || !strings.HasPrefix(f.Warnings[0], "strings overlap too much") {
		t.Errorf("warnings %q", f.Warnings)
	}
}

// All modules of Crashpad may have one list of empty annotations: not all are kept.
func TestSharedAnnotations(t *testing.T) {
	const n = 2000
	for name, which := range map[string]int{"strings": 0, "dictionary": 1, "objects": 2} {
		t.Run(name, func(t *testing.T) {
			d := linuxDump(cpuAMD64)
			empty := d.Blob(make([]byte, 8)).Off
			w := d.W().U32(n)
			for range n {
				w.U32(empty, empty, empty)
			}
			if which == 2 {
				w = d.W().U32(n)
				for range n {
					w.U32(empty).U16(1, 0).U32(empty)
				}
			}
			lists := [3]dumpbuild.Loc{}
			lists[which] = d.Blob(w.B)
			of := d.Blob(d.W().U32(1).Loc(lists[0]).Loc(lists[1]).Loc(lists[2]).B)
			w = d.W().U32(n)
			for i := range uint32(n) {
				w.U32(i).Loc(of)
			}
			d.Stream(0x43500001, d.W().U32(1).Zeros(32).Loc(dumpbuild.Loc{}).Loc(d.Blob(w.B)).B)
			b := d.Bytes()
			f, err := minidump.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			total := 0
			for _, m := range f.Crashpad.Modules {
				total += len(m.List) + len(m.Annotations) + len(m.Objects)
			}
			if total < n || total > (1<<20+4*len(b))/128 {
				t.Errorf("%d annotations in %d bytes", total, len(b))
			}
			if len(f.Warnings) == 0 || !strings.HasPrefix(f.Warnings[0], "strings overlap too much") {
				t.Errorf("warnings %q", f.Warnings)
			}
		})
	}
}

// Bytes that are escaped where they are shown count as what they take there: 800 annotations of one value of such bytes are not all kept, of other text they are.
func TestEscapedAnnotations(t *testing.T) {
	const n, size = 800, 1000
	for _, tc := range []struct {
		of   string
		kept bool
	}{{"a", true}, {"é", true}, {"\x01", false}, {"\xff", false}} {
		d := linuxDump(cpuAMD64)
		value := d.Blob(append(binary.LittleEndian.AppendUint32(nil, size), strings.Repeat(tc.of, size/len(tc.of))...)).Off
		w := d.W().U32(n)
		for range n {
			w.U32(value)
		}
		list := d.Blob(w.B)
		of := d.Blob(d.W().U32(1).Loc(list).Loc(dumpbuild.Loc{}).Loc(dumpbuild.Loc{}).B)
		d.Stream(0x43500001, d.W().U32(1).Zeros(32).Loc(dumpbuild.Loc{}).Loc(d.Blob(d.W().U32(1, 0).Loc(of).B)).B)
		f, err := minidump.Parse(d.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		got := len(f.Crashpad.Modules[0].List)
		if got == n != tc.kept || got < n/10 {
			t.Errorf("%q: %d annotations of %d", tc.of, got, n)
		}
	}
}

// stream returns the bytes of the file from the first stream of a kind on.
func stream(t *testing.T, b []byte, kind uint32) []byte {
	t.Helper()
	le := binary.LittleEndian
	for i := range int(le.Uint32(b[8:])) {
		if entry := b[int(le.Uint32(b[12:]))+12*i:]; le.Uint32(entry) == kind {
			return b[le.Uint32(entry[8:]):]
		}
	}
	t.Fatalf("no stream %d", kind)
	return nil
}

// All streams may be at one place: no more is decoded of them than the file has.
func TestSharedStreams(t *testing.T) {
	const n = 32 << 10
	d := linuxDump(cpuAMD64)
	at := d.Blob(d.W().U32(1<<20, 0).Zeros(16 * n).B)
	lists := []uint32{5, 9}
	texts := []uint32{10, 11, 0x47670003, 0x47670004, 0x47670005, 0x47670006, 0x47670007, 0x47670008, 0x47670009, 0x4d7a0003, 0x4d7a0004}
	for _, kind := range append(lists, texts...) {
		d.StreamAt(kind, at)
	}
	f, err := minidump.Parse(d.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	l := &f.Linux
	if n := len(f.Comments) + len(l.CPUInfo) + len(l.Status) + len(l.LSBRelease) + len(l.CmdLine) + len(l.Environ) + len(l.Auxv) + len(l.Limits) + len(l.MapsText) + len(f.SoftErrors); n > 0 {
		t.Errorf("the list of memory had all bytes, and yet others have %d", n)
	}
	said := 0
	for _, w := range f.Warnings {
		if strings.Contains(w, "streams overlap") {
			said++
		}
	}
	if want := len(lists) + len(texts) - 1; said != want {
		t.Errorf("%d streams are said to be omitted, want %d: %.300q", said, want, f.Warnings)
	}
}

// Of a command line and an environment, no more is kept than a kernel allows.
func TestLongVectors(t *testing.T) {
	for name, c := range map[string]struct {
		data          []byte
		words, length int
		warns         bool
	}{
		"many words": {bytes.Repeat([]byte("a\x00"), 1<<20), 1 << 14, 2 << 14, true},
		"a long one": {bytes.Repeat([]byte("a"), 8<<20), 1, 4 << 20, true},
		"NULs":       {append([]byte("a\x00b"), make([]byte, 1<<20)...), 2, 1<<14 + 2, false},
	} {
		d := linuxDump(cpuAMD64)
		d.Stream(0x47670006, c.data)
		d.Stream(0x47670007, c.data)
		f, err := minidump.Parse(d.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		l := &f.Linux
		if len(l.Args()) != c.words || len(l.Env()) != c.words || len(l.CmdLine) > c.length || len(l.Environ) > c.length {
			t.Errorf("%s: %d arguments, %d variables, %d and %d bytes", name, len(l.Args()), len(l.Env()), len(l.CmdLine), len(l.Environ))
		}
		if warned := strings.Contains(strings.Join(f.Warnings, "\n"), "are used"); warned != c.warns {
			t.Errorf("%s: warnings %q", name, f.Warnings)
		}
	}
}
