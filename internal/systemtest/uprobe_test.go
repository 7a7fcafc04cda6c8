package systemtest

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A function whose end is traced returns to the kernel's page: the walk goes on in its caller, if that calls it at one place, and else in the caller's.
func TestUprobe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"one call":  {nil, "last/context traced/cfi [uprobes]/cfi once/analysis main/cfi"},
		"two calls": {[]string{"two"}, "last/context traced/cfi [uprobes]/cfi main/scan"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exe := fixture.Compile(t, "gcc", "uprobe.c", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
			r := analyzeCore(t, fixture.Crash(t, nil, exe, c.args...), exe)
			var got []string
			th := &r.Threads[0]
			for i := range th.Frames {
				f := &th.Frames[i]
				got = append(got, f.Function+"/"+f.Trust)
				if f.Function == "main" {
					break
				}
				if f.Function == "once" && (f.Source.Line != 23 || len(f.Args) != 2 || f.Args[1].Value != "1") {
					t.Errorf("once: line %d, %+v", f.Source.Line, f.Args)
				}
			}
			if s := strings.Join(got, " "); s != c.want || th.End != "bottom" {
				t.Errorf("%s, and %s; want %s", s, th.End, c.want)
			}
		})
	}
}
