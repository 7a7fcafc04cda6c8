package breakpad_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/breakpad"
)

const module = "MODULE windows x86_64 0123456789ABCDEF0123456789ABCDEF2 a.pdb\nFILE 0 a.c\nINLINE_ORIGIN 0 inlined\n"

func parsed(t *testing.T, text string) *breakpad.File {
	t.Helper()
	f, err := breakpad.Parse([]byte(module + text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What a look-up reads is counted, and bounded for one function: its author decides how many records it has.
func TestWorkOfLookups(t *testing.T) {
	var many, rules, nested bytes.Buffer
	many.WriteString("FUNC 0 1000 0 f\n")
	rules.WriteString("STACK CFI INIT 0 1000 .cfa: $rsp 8 + .ra: .cfa 8 - ^\n")
	nested.WriteString("FUNC 0 1000 0 f\n")
	const n = 300_000
	for i := range n {
		fmt.Fprintf(&many, "2000 1 %d 0\n", i%1000)
	}
	for range 1000 {
		rules.WriteString("STACK CFI 1 .cfa: $rsp 16 +\n")
	}
	for i := range 300 {
		fmt.Fprintf(&nested, "INLINE %d 1 0 0 0 1000\n", i)
	}
	nested.WriteString("0 1000 7 0\n")

	f := parsed(t, many.String())
	s, ok := f.Lookup(0x10)
	if w := f.Work(); !ok || s.Name != "f" || w < 500_000 || w > 2_000_000 {
		t.Errorf("%q, %d of work for two megabytes of %d lines", s.Name, w, n)
	}
	before := f.Work()
	if s, ok := f.Function(0x10); !ok || s.Size != 0x1000 || s.Name != "" || f.Work()-before > 100 {
		t.Errorf("without lines: %+v, %d of work", s, f.Work()-before)
	}
	f = parsed(t, rules.String())
	if r, err := f.CFI(0x10); err != nil || r == nil || f.Work() < 10_000 {
		t.Errorf("%v, %d of work for a thousand rules", err, f.Work())
	}
	f = parsed(t, nested.String())
	s, _ = f.Lookup(0x10)
	if len(s.Frames) != 257 || s.Frames[0].Line != 0 || s.Frames[1].Line != 1 || s.Frames[256].Name != "f" || f.Work() < 300*32 {
		t.Errorf("%d frames, %+v, %d of work", len(s.Frames), s.Frames[0], f.Work())
	}
}

// Records that do not cover the address are told by their first numbers: what else they say may be long, and there may be 64 of them.
func TestLongRecordsThatOverlap(t *testing.T) {
	long := strings.Repeat("n", 1<<16)
	text := "FUNC 0 1000 4 f\nSTACK WIN 4 0 1000 3 0 8 0 10 0 1 $T0 $ebp =\n"
	for range 60 {
		text += "FUNC 10 1 0 " + long + "\nSTACK WIN 4 10 1 3 0 8 0 10 0 1 " + long + "\n"
	}
	f := parsed(t, text)
	if s, ok := f.Lookup(0x20); !ok || s.Name != "f" || s.Params != 4 || f.Work() > 1000 {
		t.Errorf("%.20q, %d of work", s.Name, f.Work())
	}
	if s, ok := f.Lookup(0x10); !ok || len(s.Name) != 1<<16 || f.Work() < 1000 {
		t.Errorf("%.20q, %d of work", s.Name, f.Work())
	}
	if w, err := f.Win(0x20); err != nil || w == nil || w.Program != "$T0 $ebp =" {
		t.Errorf("%+v, %v", w, err)
	}
	if n := testing.AllocsPerRun(5, func() { f.Win(0x20) }); n > 64+2 {
		t.Errorf("%v allocations", n)
	}
}
