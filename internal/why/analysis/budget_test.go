package analysis

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// A frame in a page that another thread's stack has costs more, whichever thread is named again later; tasks lie on stacks of any kind.
func TestOverAnother(t *testing.T) {
	in := &question{}
	for i, step := range []struct {
		id   unwind.ThreadID
		sp   unwind.Address
		over bool
	}{{1, 0x7000, false}, {1, 0x7010, false}, {1, 0x8000, false}, {2, 0x7ff0, true}, {2, 0x9000, false}, {1, 0x7020, false}, {1, 0x9ff8, true}, {unwind.NullThread, 0x7000, false}, {2, 0x7000, true}} {
		if over := in.overAnother(step.id, step.sp); over != step.over {
			t.Errorf("step %d: thread %d at %#x: %t", i, step.id, step.sp, over)
		}
	}
}

// Without a budget, names that may be one name of megabytes in all frames are left out, and others stay.
func TestLeaveLongNames(t *testing.T) {
	long, longest := strings.Repeat("n", alwaysNameSize+1), strings.Repeat("n", alwaysNameSize)
	list := []report.Frame{{Function: long, Symbol: "s", Module: longest, Source: report.Source{File: long, Line: 7}}, {Function: "f", Symbol: long, Source: report.Source{File: "a.c", Line: 7}}}
	leaveLongNames(list)
	if e := list[0]; e.Function != "" || e.Symbol != "s" || e.Module != longest || e.Source != (report.Source{}) {
		t.Errorf("%.100v", e)
	}
	if e := list[1]; e.Function != "f" || e.Symbol != "" || e.Source.Line != 7 {
		t.Errorf("%.100v", e)
	}
}
