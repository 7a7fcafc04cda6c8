package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// crowd is a report of many threads with deep stacks and long values, of which one crashed.
func crowd(threads, frames int) *report.Report {
	zero := 0
	r := &report.Report{Dump: report.Dump{Command: "crowd", PID: 7, Threads: threads, Format: "elf-core"},
		Crash: &report.Crash{Thread: 1, Kind: "null-read", Signal: "SIGSEGV", SignalNumber: 11, Frame: &zero}}
	for i := range threads {
		th := report.Thread{ID: i + 1, Crashed: i == 0, End: report.EndBottom}
		for j := range frames {
			f := report.Frame{Index: j, Physical: j, PC: report.Addr(0x1000 + 64*i + 65536*j), Function: fmt.Sprintf("function_%d_of_%d", j, i), Source: report.Source{File: "crowd.c", Line: j + 1}}
			for k := range 12 {
				f.Locals = append(f.Locals, report.Variable{Name: fmt.Sprintf("local_%d", k), Value: fmt.Sprintf("%d %s", j, strings.Repeat("value ", 12)), Status: report.StatusSuccess})
			}
			th.Frames = append(th.Frames, f)
		}
		r.Threads = append(r.Threads, th)
	}
	return r
}

// A brief report has its size, and in it what matters: the reason, the frame where it crashed and its variables. One that is
// small enough is the whole text.
func TestBrief(t *testing.T) {
	for _, c := range []struct{ threads, frames int }{{1, 3}, {1, 100}, {200, 2}, {60, 20}} {
		r := crowd(c.threads, c.frames)
		var whole, b bytes.Buffer
		if err := report.WriteText(&whole, r, report.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := report.WriteBrief(&b, r, report.TextOptions{}, report.BriefSize); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if whole.Len() <= report.BriefSize && text != whole.String() {
			t.Errorf("%d threads, %d frames: not the whole text:\n%s", c.threads, c.frames, text)
		}
		for _, want := range []string{"crowd[7] died of SIGSEGV", "function_0_of_0 at crowd.c:1\n", "local_0 = 0 value"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d threads, %d frames: no %q:\n%s", c.threads, c.frames, want, text)
			}
		}
		if len(text) > report.BriefSize || len(text) < report.BriefSize/4 && len(text) < whole.Len() {
			t.Errorf("%d threads, %d frames: %d bytes of %d", c.threads, c.frames, len(text), whole.Len())
		}
		if c.threads > 50 && !strings.Contains(text, "other threads, left out") {
			t.Errorf("nothing tells of other threads:\n%s", text)
		}
	}
	r := crowd(20, 10)
	for size := 0; size < 600; size += 7 {
		var b bytes.Buffer
		if err := report.WriteBrief(&b, r, report.TextOptions{}, size); err != nil || b.Len() > size {
			t.Fatalf("%d bytes of %d, %v", b.Len(), size, err)
		}
	}
}

// TestLongValues: an argument of hundreds of elements leaves room for the rest, also where no line is fitted to a width, as in a pipe.
func TestLongValues(t *testing.T) {
	long := report.Variable{Name: "v", Value: "{" + strings.Repeat("12345, ", 3000) + "1}", Status: report.StatusSuccess}
	r := crowd(1, 6)
	for i := range r.Threads[0].Frames {
		r.Threads[0].Frames[i].Args = []report.Variable{long, long}
	}
	pipe := report.TextOptions{Wide: true, MaxValue: 1000}
	var b, all bytes.Buffer
	if err := report.WriteBrief(&b, r, pipe, report.BriefSize); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); b.Len() > report.BriefSize || strings.Contains(s, "(cut)") || !strings.Contains(s, "function_5_of_0") {
		t.Errorf("%d bytes: %s", b.Len(), s)
	}
	// Where that is too much, values become shorter still, and no frame is left out.
	b.Reset()
	if err := report.WriteBrief(&b, r, pipe, 3000); err != nil || b.Len() > 3000 || strings.Contains(b.String(), "(cut)") || !strings.Contains(b.String(), "function_5_of_0") {
		t.Errorf("%d bytes, %v: %s", b.Len(), err, b.String())
	}
	if err := report.WriteText(&all, r, pipe); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(all.String()) {
		if len(line) > 1200 || strings.Contains(line, "function_5") && len(line) < 900 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	all.Reset()
	if err := report.WriteText(&all, r, report.TextOptions{Wide: true}); err != nil || strings.Count(all.String(), long.Value) != 12 {
		t.Errorf("wide shows %d of 12 values, %v", strings.Count(all.String(), long.Value), err)
	}
}
