package v8_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestOptimized: compiled code keeps what a function assigns to its arguments where it likes. They are said to be optimised
// out then, with what they were on entry, and never have a value that the function no longer sees.
func TestOptimized(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("testdata/optimized.js")
	if err != nil {
		t.Fatal(err)
	}
	functions := []struct {
		name  string
		now   []string // what may be shown as values
		entry []string // what must be shown of the call
	}{
		{"plain", []string{"this=undefined", "a=7", "b=2"}, []string{"a=7", "b=2"}},
		{"changed", []string{"this=undefined", "a=12", "b=5"}, []string{"a=7", "b=5"}},
		{"looped", []string{"this=undefined", "n=21"}, []string{"n=7"}},
		{"destructured", []string{"this=undefined", "a=5", "arguments[1]={ b: 5 }"}, []string{"a=7"}},
		{"extra", []string{"this=undefined", "a=7", "arguments[1]='more'"}, []string{"a=7"}},
		{"captured", []string{"this=undefined", "a=8"}, nil},
		{"move", []string{"this=Point { x: 3 }", "by=7"}, []string{"by=7"}},
		{"pair", []string{"this=undefined", "a=7", "b=1"}, []string{"a=7", "b=1"}},
	}
	which := []int{1, 5}
	if fixture.IsLong(t) {
		which = []int{0, 1, 2, 3, 4, 5, 6, 7}
	}
	for _, node := range nodes(t) {
		for _, compiler := range []string{"turbofan", "maglev"} {
			if v := version(t, node); compiler == "maglev" && (strings.HasPrefix(v, "v18.") || strings.HasPrefix(v, "v20.")) {
				continue // has none
			}
			options := []string{"--allow-natives-syntax"}
			if compiler == "maglev" {
				options = append(options, "--maglev")
			}
			options = slices.Clip(options)
			compiled, without := 0, false
			for _, i := range which {
				f := functions[i]
				t.Run(version(t, node)+compiler+f.name, func(t *testing.T) {
					dir := t.TempDir()
					program := filepath.Join(dir, "optimized.js")
					if err := os.WriteFile(program, source, 0o644); err != nil {
						t.Fatal(err)
					}
					said, _ := fixture.Dies(dir, node, append(options, program, compiler, strconv.Itoa(i))...).CombinedOutput()
					if strings.Contains(string(said), "Maglev is not enabled") {
						without = true
						t.Skipf("%s was built without Maglev", node)
					}
					target, err := corewalk.Open(context.Background(), fixture.CoreIn(t, dir), files())
					if err != nil {
						t.Fatal(err)
					}
					defer target.Close()
					r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
					if err != nil {
						t.Fatal(err)
					}
					for _, fr := range r.Threads[0].Frames {
						if fr.Function != f.name || fr.Kind != "jit" || filepath.Base(fr.Source.File) != "optimized.js" {
							continue
						}
						compiled++
						for _, v := range slices.Concat(fr.Args, fr.Locals) {
							if s := v.Name + "=" + v.Value; v.Value != "" && !slices.Contains(f.now, s) {
								t.Errorf("%s, want one of %q", s, f.now)
							}
						}
						for _, want := range f.entry {
							name, value, _ := strings.Cut(want, "=")
							if !slices.ContainsFunc(fr.Args, func(v report.Variable) bool { return v.Name == name && v.Entry == value && v.Reason == "optimised out" }) {
								t.Errorf("no %s on entry: %+v", want, fr.Args)
							}
						}
					}
				})
			}
			if compiled == 0 && !without {
				t.Errorf("%s: %s compiled none of the functions", node, compiler)
			}
		}
	}
}
