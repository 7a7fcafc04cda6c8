package systemtest

import (
	"strconv"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestPassedOn reads a parameter that three hundred callers passed on, each by what it
// was passed itself.
func TestPassedOn(t *testing.T) {
	r := analyzeCase(t, fixture.Get(t, "amd64-passed-deep-O2"))
	frames := r.Threads[0].Frames
	if len(frames) < 301 {
		t.Fatalf("%d frames", len(frames))
	}
	for i := range 300 {
		f := &frames[i]
		if f.Function != "fill" || len(f.Args) != 3 || f.Args[2].Name != "left" || f.Args[2].Value != strconv.Itoa(i) {
			t.Fatalf("frame %d: %s%+v, want left = %d", i, f.Function, f.Args, i)
		}
	}
}
