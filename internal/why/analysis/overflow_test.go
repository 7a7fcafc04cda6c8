package analysis

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// deep makes a stack with a frame of 16 bytes for each letter.
func deep(names string) []report.Frame {
	frames := make([]report.Frame, len(names))
	for i := range frames {
		frames[i] = report.Frame{Index: i, Physical: i, Function: names[i : i+1], PC: report.Addr(names[i]), SP: report.Addr(0x1000 + 16*i)}
	}
	return frames
}

// disorder calls a, b, c and d in an order that does not repeat.
func disorder(n int) string {
	b := make([]byte, n)
	state := uint32(1)
	for i := range b {
		state = state*1664525 + 1013904223
		b[i] = "abcd"[state>>30]
	}
	return string(b)
}

func TestOverflow(t *testing.T) {
	rep := strings.Repeat
	for _, c := range []struct {
		stack string
		cycle string
		times int
	}{
		{"abc", "", 0},
		{"x" + rep("ab", 100) + "mz", "ab", 100},
		{rep("a", 200), "a", 200},
		{"x" + disorder(270) + "mz", "abcd", 0}, // no order
		{rep("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 3), "", 0}, // too many functions
	} {
		frames := deep(c.stack)
		o := overflow(frames, fullStack{})
		if o.Times != c.times || o.Frames != len(frames) || o.Bytes != uint64(16*(len(frames)-1)) {
			t.Errorf("%.20s: %+v", c.stack, o)
		}
		if strings.Join(o.Cycle, "") != c.cycle {
			t.Errorf("%.20s: %+v, want %s", c.stack, o, c.cycle)
		}
	}
	onSignal := func(sp report.Addr) *report.Overflow {
		frames := deep("aaaaasm")
		frames[5].Signal, frames[5].CFA = "SIGSEGV", sp
		frames[6].SP, frames[6].CFA = sp, sp+16
		return overflow(frames, fullStack{})
	}
	at := deep("aaaaasm")[5].SP
	for sp, alternate := range map[report.Addr]bool{at + 0x400: false, at + maxSignalFrame: false, at + maxSignalFrame + 1: true, at - 8: true, 0x7f0000000000: true} {
		o := onSignal(sp)
		if o.Alternate != alternate || alternate && (o.Frames != 6 || o.Bytes != 5*16) || !alternate && o.Frames != 7 || o.Times != 5 {
			t.Errorf("interrupted at %s: %+v", sp, o)
		}
	}
	full := fullStack{bounds: [2]uint64{0x1000, 0x9000}, cut: true}
	for of, want := range map[fullStack]report.Overflow{
		full:                  {Incomplete: true, Stack: 0x8000},
		{bounds: full.bounds}: {},
		{bounds: [2]uint64{0x1008, 0x9000}, cut: true}: {Incomplete: true},
		{bounds: [2]uint64{0x800, 0x1000}, cut: true}:  {Incomplete: true},
	} {
		if o := overflow(deep("aaaa"), of); o.Incomplete != want.Incomplete || o.Stack != want.Stack {
			t.Errorf("%+v: %+v", of, o)
		}
	}
	if o := overflow(nil, fullStack{}); o.Frames != 0 || o.Cycle != nil {
		t.Errorf("no frames: %+v", o)
	}
}
