package report

import (
	"bytes"
	"strings"
	"testing"
)

// The lines about a stack overflow and about contradictions.
func TestCrashLines(t *testing.T) {
	long := "std::map<std::string, std::vector<Element<int>>>::descend"
	for _, c := range []struct {
		crash Crash
		want  string
	}{
		{Crash{Overflow: &Overflow{Frames: 4000, Bytes: 8 << 20, Cycle: []string{"odd", "even"}, Times: 1998}}, "  stack: 8.4 MB in 4000 frames; odd <-> even, 1998 times\n"},
		{Crash{Overflow: &Overflow{Frames: 300, Bytes: 1 << 20, Cycle: []string{"walk"}, Times: 298}}, "  stack: 1.0 MB in 300 frames; walk called itself 298 times\n"},
		{Crash{Overflow: &Overflow{Frames: 1000, Bytes: 24000, Incomplete: true, Cycle: []string{"walk"}, Times: 998}}, "  stack: more than 24 kB in more than 1000 frames; walk called itself at least 998 times\n"},
		{Crash{Overflow: &Overflow{Frames: 1000, Bytes: 24000, Incomplete: true, Stack: 8 << 20}}, "  stack: 8.4 MB, of which 1000 frames (24 kB) were walked\n"},
		{Crash{Overflow: &Overflow{Frames: 900, Cycle: []string{"expression", "term"}}}, "  stack: 900 frames; mostly expression, term\n"},
		{Crash{Overflow: &Overflow{Frames: 11, Bytes: 19000, Cycle: []string{"deep"}, Times: 9, Alternate: true}}, "  stack: 19 kB in 11 frames of the alternate signal stack; deep called itself 9 times\n"},
		{Crash{Overflow: &Overflow{Frames: 1, Bytes: 9000}}, "  stack: 9.0 kB in 1 frame\n"},
		{Crash{Overflow: &Overflow{Frames: 99, Cycle: []string{long}, Times: 90}}, "…>"},
		{Crash{Inconsistencies: []string{InconsistentAllowed}}, "  contradiction: the memory map allows the access (faulty hardware,"},
		{Crash{Inconsistencies: []string{InconsistentDivision, InconsistentAccess}}, "  contradiction: the instruction does not access the address"},
		{Crash{Inconsistencies: []string{InconsistentPrivileged, InconsistentNonCanonical}}, "  contradiction: non-canonical address"},
		{Crash{Inconsistencies: []string{"one\x1bmore"}}, `  contradiction: one\x1bmore`},
	} {
		r := newSample(stack(1, "", at("f", "f.c", 1)))
		c.crash.Thread, c.crash.Signal = 1, "SIGSEGV"
		r.Crash = &c.crash
		var out bytes.Buffer
		if err := WriteText(&out, r, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("no %q in:\n%s", c.want, out.String())
		}
	}
}

func TestRecursion(t *testing.T) {
	rep := strings.Repeat
	for _, c := range []struct {
		stack                string
		first, length, times int
	}{
		{"", 0, 0, 0},
		{"abc", 0, 0, 0},
		{"xaaaaaay", 1, 1, 6},
		{"x" + rep("ab", 50) + "y", 1, 2, 50},
		{rep("a", 10) + rep("bc", 50), 10, 2, 50},
		{rep("abc", 40) + rep("d", 20), 0, 3, 40},
	} {
		if first, length, times := Recursion(letters(c.stack)); first != c.first || length != c.length || times != c.times {
			t.Errorf("%s: %d, %d, %d; want %d, %d, %d", c.stack, first, length, times, c.first, c.length, c.times)
		}
	}
}

// TestMadeElsewhere: the place of an error that a runtime reports later is where it was raised, as long as no call of the program is on the
// stack.
func TestMadeElsewhere(t *testing.T) {
	late := Raised{Language: "javascript", Type: "Late", Function: "fetches", File: "/x/shop.js", Line: 4}
	handled, nowhere := late, late
	handled.Handled = true
	nowhere.File = ""
	ofNode := late
	ofNode.File = "node:net"
	node := Frame{Function: "processPromiseRejections", Language: "javascript", Source: Source{File: "node:internal/process/promises", Line: 470}}
	own := Frame{Function: "serve", Language: "javascript", Source: Source{File: "/x/shop.js", Line: 9}}
	native := Frame{Function: "uv_run", Module: "/x/node"}
	const elsewhere = "fetches at shop.js:4 (no longer on the stack), thread 7"
	for _, c := range []struct {
		name   string
		raised []Raised
		frames []Frame
		want   string
	}{
		{"a rejection", []Raised{late}, []Frame{node, native}, elsewhere},
		{"a call of the program", []Raised{late}, []Frame{node, own}, "processPromiseRejections at promises:470, thread 7"},
		{"no call of the language", []Raised{late}, []Frame{native}, "uv_run in node+"},
		{"handled", []Raised{handled}, []Frame{node}, "processPromiseRejections at promises:470, thread 7"},
		{"nobody knows where", []Raised{nowhere}, []Frame{node}, "processPromiseRejections at promises:470 (Node's own: no call of the program is known), thread 7"},
		{"made by Node", []Raised{ofNode}, []Frame{node}, "processPromiseRejections at promises:470 (Node's own: no call of the program is known), thread 7"},
		{"no error", nil, []Frame{node}, "processPromiseRejections at promises:470, thread 7"},
	} {
		r := &Report{Crash: &Crash{Thread: 7, Raised: c.raised}, Threads: []Thread{{ID: 7, Crashed: true, Frames: c.frames}}}
		var b strings.Builder
		if err := WriteText(&b, r, TextOptions{Width: 200}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q in\n%s", c.name, c.want, got)
		}
	}
}
