package python_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
)

// TestGreenlets compares greenlets with what they say of themselves, in all CPythons that have them.
func TestGreenlets(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	pythons := maps.Clone(interpreters(t))
	pythons["of the system"] = "/usr/bin/python3"
	ran := false
	for version, python := range pythons {
		if exec.Command(python, "-c", "import greenlet").Run() != nil {
			continue
		}
		ran = true
		t.Run(version, func(t *testing.T) {
			core := dump(t, python, "greenlets.py", "said")
			b, err := os.ReadFile(filepath.Join(filepath.Dir(core), "said.json"))
			if err != nil {
				t.Fatal(err)
			}
			var said map[string][2]any
			if err := json.Unmarshal(b, &said); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for at, v := range said {
				want[at] = fmt.Sprintf("%v parent %s", v[0], v[1])
			}
			target, err := corewalk.Open(t.Context(), core, files())
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			got := map[string]string{}
			crashed := analyze(t, core, corewalk.AnalyzeOptions{NoTasks: true, Locals: corewalk.LocalsNone}).Crash.Thread
			for task, err := range target.Tasks(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if task.Runtime != "python" {
					continue
				}
				calls := []string{}
				for _, f := range task.Suspended {
					calls = append(calls, fmt.Sprintf("%s:%d", f.Function[strings.LastIndexByte(f.Function, '.')+1:], f.Line))
				}
				switch {
				case task.State == "running" && int(task.Thread) == crashed:
					calls = []string{"running"}
				case task.Status == "not started" && task.Name == "<function plain>":
					calls = []string{task.Status}
				}
				parent := ""
				for _, l := range task.Labels {
					parent = l.Value
				}
				got[fmt.Sprintf("0x%x", task.ID)] = fmt.Sprintf("%v parent %s", calls, parent)
			}
			if len(want) != 8 || !maps.Equal(got, want) {
				t.Errorf("%d greenlets:\n%s\nthey say:\n%s", len(got), lines(got), lines(want))
			}
		})
	}
	if !ran {
		t.Skip("no CPython of this machine has greenlets: Debian's python3-greenlet")
	}
}

func lines(m map[string]string) string {
	var list []string
	for k, v := range m {
		list = append(list, k+" "+v)
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}
