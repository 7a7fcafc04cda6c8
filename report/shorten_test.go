package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	deep := func(frame int) *Report {
		r := &Report{Crash: &Crash{Signal: "SIGSEGV", Reason: "stack overflow", Thread: 7, Frame: &frame, Overflow: &Overflow{Frames: 1000}},
			Threads: []Thread{{ID: 7, Crashed: true, End: EndBottom}, {ID: 8, End: EndBottom, Frames: []Frame{{Function: "wait"}}}}}
		for i := range 1000 {
			f := Frame{Index: i, Physical: i, Function: "odd", PC: Addr(0x1000 + 16*(i%2))}
			if i%2 == 1 {
				f.Function = "even"
			}
			if i == 999 {
				f.Function, f.PC = "main", 0x2000
			}
			r.Threads[0].Frames = append(r.Threads[0].Frames, f)
		}
		return r
	}
	r := deep(3)
	r.Shorten(20, 4)
	fs := r.Threads[0].Frames
	if len(fs) != 24 || fs[19].Index != 19 || fs[20].Index != 996 || fs[23].Function != "main" || *r.Crash.Frame != 3 || len(r.Threads[1].Frames) != 1 {
		t.Fatalf("%d frames, %+v", len(fs), fs)
	}
	var out bytes.Buffer
	if err := WriteText(&out, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n  #2 to #17: odd <-> even, 8 times\n", "\n  #20 to #995: 976 frames left out of the report\n", "\n  #996  odd\n", "\n  #999  main\n"} {
		if !strings.Contains(strings.ReplaceAll(out.String(), "()", ""), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	for frame, want := range map[int]string{19: "19", 20: "", 995: "", 996: "20", 999: "23"} {
		r := deep(frame)
		r.Shorten(20, 4)
		got := ""
		if r.Crash.Frame != nil {
			got = fmt.Sprint(*r.Crash.Frame)
		}
		if got != want {
			t.Errorf("frame %d: %q, want %q", frame, got, want)
		}
	}
}
