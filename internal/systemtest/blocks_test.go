package systemtest

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

// An overrun that the allocator notices at many places is one bug, as is a block that is used at many places after it was freed; another block is another bug.
func TestBlocks(t *testing.T) {
	t.Parallel()
	want := map[string]report.CauseBlock{
		"long": {Fault: report.BlockOverrun, Size: 24}, "wide": {Fault: report.BlockOverrun, Size: 72}, "freed": {Fault: report.BlockFreed, Size: 40, Type: "guest"},
	}
	ways := map[string]string{"long": "abcdefg", "wide": "abcdefg", "freed": "abd"}
	for _, flags := range [][]string{{"gcc", "-O0"}, {"gcc", "-O2"}, {"clang", "-O2"}} {
		t.Run(flags[0]+flags[1], func(t *testing.T) {
			t.Parallel()
			exe := fixture.Compile(t, flags[0], "heap/places.c", "-g", flags[1], "-w")
			bugs := map[string]string{}
			for bug, block := range want {
				for _, way := range ways[bug] {
					r := analyzeCore(t, fixture.Crash(t, nil, exe, bug, string(way)), exe)
					var got *report.CauseBlock
					for i := range r.Crash.Causes {
						if b := r.Crash.Causes[i].Block; b != nil && got == nil {
							got = b
						}
					}
					if got == nil || *got != block {
						t.Errorf("%s %c: %+v, want %+v", bug, way, got, block)
					}
					bugs[signature.Of(r).Hash] += bug
				}
			}
			if len(bugs) != len(want) {
				t.Errorf("%d signatures of %d bugs: %v", len(bugs), len(want), bugs)
			}
		})
	}
}
