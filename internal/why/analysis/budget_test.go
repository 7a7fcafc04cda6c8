package analysis

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

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
