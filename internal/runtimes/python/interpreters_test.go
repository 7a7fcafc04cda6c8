package python_test

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

// TestInterpreters: threads run interpreters within interpreters. Thread states are those of whoever made them.
func TestInterpreters(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	for version, python := range sampled(t) {
		if exec.Command(python, "-c", "import _interpreters").Run() != nil && exec.Command(python, "-c", "import _xxsubinterpreters").Run() != nil {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := analyze(t, dump(t, python, "interpreters.py", "said"), corewalk.AnalyzeOptions{})
			minor, _ := strconv.Atoi(strings.Split(version+".0", ".")[1])
			want := "deep deep deep deep <module> run run _bootstrap_inner _bootstrap"
			if minor < 10 {
				want = "run run _bootstrap_inner _bootstrap"
			}
			var got []string
			for i := range r.Threads {
				var names []string
				for _, f := range r.Threads[i].Frames {
					if f.Language == "python" {
						names = append(names, f.Function[strings.LastIndexByte(f.Function, '.')+1:])
						if f.Function == "deep" && (len(f.Args) != 2 || f.Args[1].Value != "'sub'") {
							t.Errorf("its arguments are %+v", f.Args)
						}
					}
				}
				got = append(got, strings.Join(names, " "))
			}
			if !slices.Equal(got, []string{"<module>", want, want}) {
				t.Errorf("%q, want %q", got, want)
			}
			// That the interpreter is stripped is said, and is no doubt of these frames.
			doubts := slices.DeleteFunc(slices.Clone(r.Warnings), func(w report.Warning) bool { return w.Code == report.WarnNameless })
			if warned := len(doubts) > 0; warned != (minor < 10) {
				t.Errorf("warnings: %+v", doubts)
			}
		})
	}
}
