package python_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

// TestNumpyScalars compares values of numpy with what numpy prints of them, in all CPythons that have it.
func TestNumpyScalars(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	ran := false
	for version, python := range interpreters(t) {
		if exec.Command(python, "-c", "import numpy").Run() != nil {
			continue
		}
		ran = true
		t.Run(version, func(t *testing.T) {
			core := dump(t, python, "numpy_scalars.py", "said")
			b, err := os.ReadFile(filepath.Join(filepath.Dir(core), "said.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]string
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			want["listed"] = "[0.1, 3, (False,)]"
			r := analyze(t, core, corewalk.AnalyzeOptions{For: report.Whole{Trees: true}})
			got, kinds := map[string]string{}, map[string]string{}
			for _, f := range r.Threads[0].Frames {
				if f.Language != "python" || f.Function != "die" {
					continue
				}
				for _, v := range append(f.Args, f.Locals...) {
					got[v.Name] = v.Value
					if v.Data != nil {
						kinds[v.Name] = v.Data.Kind
					}
				}
			}
			if len(want) < 28 {
				t.Errorf("the program tells of %d values", len(want))
			}
			for name, text := range want {
				if got[name] != text {
					t.Errorf("%s = %s, numpy prints %s", name, got[name], text)
				}
			}
			for name, kind := range map[string]string{"t": "bool", "i8": "int", "u64": "int", "h": "float", "c16": "float", "lie": "struct"} {
				if kinds[name] != kind {
					t.Errorf("%s is of the kind %q, want %q", name, kinds[name], kind)
				}
			}
			if lie := got["lie"]; lie != "<int8 x=7>" {
				t.Errorf("a class that calls itself numpy.int8: %s", lie)
			}
		})
	}
	if !ran {
		t.Skip("no CPython of this machine has numpy: COREWALK_PYTHONS names others")
	}
}
