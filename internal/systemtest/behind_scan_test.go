package systemtest

import (
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// The frame pointer of a frame that was found by scanning is a guess: what lies where it leads, in that frame and in its
// callers, is marked, and nothing before it.
func TestBehindScan(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for amd64")
	}
	exe := fixture.Compile(t, "gcc", "behind_scan.c", "-g", "-O0", "-no-pie")
	core := fixture.Crash(t, nil, exe)
	r := analyzeCore(t, core, exe)
	found := false
	for i := range r.Threads[0].Frames {
		f := &r.Threads[0].Frames[i]
		scanned := f.Function == "caller"
		if scanned && (f.Trust != report.TrustScan || len(f.Args) != 2 || f.Args[0].Value == "16") {
			t.Errorf("caller is %s, %+v", f.Trust, f.Args)
		}
		if f.Doubtful != found { // the call before the return address in caller calls the function
			t.Errorf("%s is doubtful: %v", f.Function, f.Doubtful)
		}
		found = found || scanned
		for _, v := range append(f.Args, f.Locals...) {
			if v.Value != "" && v.Doubtful != found {
				t.Errorf("%s: %s = %s is doubtful: %v", f.Function, v.Name, v.Value, v.Doubtful)
			}
		}
	}
	var text strings.Builder
	if err := report.WriteText(&text, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := text.String(); !found || !strings.Contains(s, "caller(n?=0, s?=") || !strings.Contains(s, "[doubtful]") {
		t.Error(s)
	}
}
