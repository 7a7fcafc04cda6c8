package systemtest

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// The heap says who damaged it: which block, by how much and with what, and who points at it. A sound heap says nothing.
func TestHeapBugs(t *testing.T) {
	for _, flags := range [][]string{{"-g", "-O0"}, {"-g", "-O2", "-fno-builtin"}} {
		exe := fixture.Compile(t, "gcc", "heap/bugs.c", append(flags, "-w")...)
		for _, c := range []struct {
			bug, want  string // in a cause; "" for none of the heap
			confidence string
		}{
			{"overrun", `the block of 40 bytes at 0x# (label) was overrun by at least 8 bytes: ..."YZABCDEFGHIJKLMNOPQRSTUV" goes on in the record of the next block at 0x#`, report.Likely},
			{"large", `the block of 5000 bytes at 0x# (big) was overrun by at least 8 bytes: ..."STUVWXYZABCDEFGHIJKLMNOP" goes on in the record of the next block at 0x# (big2)`, report.Likely},
			{"twice", "the block of 40 bytes at 0x#", report.Likely},
			{"used", "it was read from a freed block: 40 bytes at 0x# (cache.items[3]), in a tcache", report.Likely},
			{"written", `the freed block of 5000 bytes at 0x# (big) was written to: "CCCCCCCC" stands where the unsorted bin's pointer was`, report.Likely},
			{"before", "or the block itself was written to before its beginning", report.Possible},
			{"sound", "", ""},
		} {
			t.Run(flags[1]+" "+c.bug, func(t *testing.T) {
				t.Parallel()
				r := analyzeCore(t, fixture.Crash(t, nil, exe, c.bug), exe)
				var all []string
				for _, cause := range r.Crash.Causes {
					text := withoutAddresses(cause.Text)
					all = append(all, text+" ["+cause.Confidence+"]")
					if c.want != "" && strings.Contains(text, c.want) && cause.Confidence == c.confidence {
						return
					}
				}
				if c.want != "" || strings.Contains(strings.Join(all, " "), "block") {
					t.Errorf("%s: %q\nwant %q [%s]", r.Crash.Reason, all, c.want, c.confidence)
				}
			})
		}
	}
}

// withoutAddresses writes 0x# for each number of the form 0x...
func withoutAddresses(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "0x")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString("0x#")
		s = strings.TrimLeft(after, "0123456789abcdef")
	}
}
