package systemtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestLeftByJump: a function whose frame is gone ran nevertheless, if it was called and has a jump to an address that it computed. Where it left is known if it
// has no other way.
func TestLeftByJump(t *testing.T) {
	// clang makes one jump of two, of the line of the condition.
	for cc, twice := range map[string]string{"gcc": "0", "clang": "32"} {
		exe := fixture.Compile(t, cc, "tail_indirect.c", "-g", "-O2")
		for how, want := range map[string]string{
			"once":   "stop 21, once 27 tail, main",
			"twice":  "stop 21, twice " + twice + " tail, main",
			"inside": "stop 21, inside 41, main",
			"bad":    " 0, once 27 tail, main",
		} {
			r := analyzeCore(t, fixture.Crash(t, nil, exe, how), exe)
			var got []string
			for _, f := range r.Threads[0].Frames {
				s := fmt.Sprintf("%s %d", f.Function, f.Source.Line)
				if f.Tail {
					s += " tail"
				}
				if f.Function == "main" {
					s = "main"
				}
				if got = append(got, s); f.Function == "main" {
					break
				}
			}
			from := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, "stop ") || s == " 0" && how == "bad" })
			if from < 0 || strings.Join(got[from:], ", ") != want {
				t.Errorf("%s, %s: %q, want %q", cc, how, got, want)
			}
		}
	}
}
