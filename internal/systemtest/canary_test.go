package systemtest

import (
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// Where the stack protector ended the program, the variable is named that was overrun: that in which text begins that goes on across the protecting word, or
// the one array below it. Where more than one may have been, that is possible only.
func TestCanary(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the word is known of code of amd64")
	}
	for _, compiler := range []string{"gcc -O0", "gcc -O2", "gcc -O0 -m32", "clang -O0", "musl-gcc -O2"} {
		with := strings.Fields(compiler)
		exe := fixture.Compile(t, with[0], "causes/canary.c", append([]string{"-g", "-w", "-fstack-protector-strong"}, with[1:]...)...)
		for c, want := range map[string]struct{ text, confidence string }{
			"text":    {"line, local of text at canary.c:10, has 24 bytes and was overrun by at least ", report.Likely},
			"numbers": {"table, local of numbers at canary.c:", report.Likely},
			"member":  {"r.name, local of member at canary.c:", report.Likely},
			"lower":   {"low or high, local of lower at canary.c:", report.Possible},
			"tail":    {"low or high, local of tail at canary.c:", report.Possible},
			"through": {"low", ""}, // likely, if the compiler put it above the other,
			"either":  {"high, local of either at canary.c:", report.Possible},
			"block":   {"inner, local of block at canary.c:", report.Likely},
			"inlined": {"digits, local of ", report.Likely},
			"rows":    {"g, local of rows at canary.c:", ""},
			"sound":   {"", ""},
		} {
			t.Run(compiler+" "+c, func(t *testing.T) {
				t.Parallel()
				r := analyzeCore(t, fixture.MayCrash(t, nil, exe, c), exe)
				if want.text == "" {
					for _, cause := range r.Crash.Causes {
						if strings.Contains(cause.Text, "was overrun") {
							t.Error(cause.Text)
						}
					}
					return
				}
				if r.Crash.Kind != report.CrashStackOverrun || len(r.Crash.Causes) == 0 {
					t.Fatalf("%s, %s: %v", r.Crash.Kind, r.Crash.Reason, r.Crash.Causes)
				}
				got := r.Crash.Causes[0]
				if !strings.HasPrefix(got.Text, want.text) || want.confidence != "" && got.Confidence != want.confidence || !strings.HasSuffix(got.Text, " stands in the word that protects the return address") {
					t.Errorf("%s [%s]\nwant %s [%s]", got.Text, got.Confidence, want.text, want.confidence)
				}
			})
		}
	}
}
