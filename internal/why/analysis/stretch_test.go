package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// TestPlaceInStretch: a frame that executes calls of a language for a helper that failed gives the place to the call; the innermost frame
// failed itself, and others have nothing to do with the calls.
func TestPlaceInStretch(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to int
		frame    int
		want     string
	}{
		{"a helper called by the interpreter", 1, 3, 1, "doom"},
		{"the interpreter itself", 0, 2, 0, "eval"},
		{"the helper", 1, 3, 0, "memcpy"},
		{"what called the interpreter", 1, 2, 2, "main"},
	} {
		frames := []report.Frame{{Function: "memcpy"}, {Function: "eval", Physical: 1}, {Function: "main", Physical: 2}}
		if c.from == 0 {
			frames[0].Function = "eval"
		}
		at := c.frame
		thread := report.Thread{Crashed: true, Frames: frames}
		in := &naming{question: &question{Engine: &Engine{}, opts: Options{Locals: LocalsNone}}}
		moved := in.addCalls(&thread, []*unwind.Frame{{}, {}, {}}, []tasks.Stretch{{From: c.from, To: c.to, Calls: []tasks.Call{{Language: "python", Function: "doom"}}}}, "python", &at)
		if got := thread.Frames[*moved].Function; got != c.want {
			t.Errorf("%s: the place is %s, want %s", c.name, got, c.want)
		}
	}
}
