package native_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestTaken: the report says where each lock was taken that another thread waits for.
func TestTaken(t *testing.T) {
	source, err := os.ReadFile("../../../testdata/src/tasks/held.cpp")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, cc, optimise string
		flags              []string
		column             int // of the certainties in the source
	}{
		{"unoptimised", "g++", "-O0", nil, 0},
		{"optimised", "g++", "-O2", nil, 1},
		{"without linkage stubs", "g++", "-O2", []string{"-fno-plt"}, 1},
		{"static", "g++", "-O1", []string{"-static"}, 1},
		{"i686", "g++", "-O2", []string{"-m32", "-fno-pie", "-no-pie"}, 1},
		{"i686, position-independent", "g++", "-O2", []string{"-m32"}, 1},
		{"clang", "clang++", "-O0", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !slices.Contains([]string{"unoptimised", "optimised", "i686, position-independent"}, c.name) {
				fixture.Long(t)
			}
			exe := compile(t, c.cc, "held.cpp", append([]string{"-std=c++20", "-g", c.optimise, "-pthread"}, c.flags...)...)
			want := map[string]string{"gone": "-"}
			for i, line := range strings.Split(string(source), "\n") {
				if m := regexp.MustCompile(`// (\w+): (\w+)(?: (\w+))?$`).FindStringSubmatch(line); m != nil {
					certainty := m[2]
					if c.column == 1 && m[3] != "" {
						certainty = m[3]
					}
					if certainty == "skip" { // the compiler changed the code
						continue
					}
					want[m[1]] = fmt.Sprintf("%d %s", i+1, certainty)
				}
			}
			got := taken(t, core(t, exe), exe)
			for name, w := range want {
				g := got[name]
				if strings.HasSuffix(w, " any") { // that it is said is enough
					g, _, _ = strings.Cut(g, " ")
					w = strings.TrimSuffix(w, " any")
				}
				if g != w {
					t.Errorf("%s: taken at %q, want %q", name, got[name], w)
				}
			}
		})
	}
}

// taken says where each lock of the process was taken that another thread waits for, by its name: the line, and how sure that is.
func taken(t *testing.T, core, exe string) map[string]string {
	t.Helper()
	target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(exe))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, task := range r.Tasks {
		if task.Wait == nil || task.Wait.Object == nil || len(task.Wait.Holders) == 0 {
			continue
		}
		name, _, _ := strings.Cut(task.Wait.Object.Name, "[")
		found[name] = place(task.Wait.Holders[0].AcquiredAt)
	}
	return found
}

func place(at *report.AcquiredAt) string {
	if at == nil {
		return "-"
	}
	return fmt.Sprintf("%d %s", at.Source.Line, at.Certainty)
}
