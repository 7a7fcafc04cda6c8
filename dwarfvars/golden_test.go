package dwarfvars_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// TestGoldenValues compares all variables of the programs made for that with the
// values that were checked against their sources.
func TestGoldenValues(t *testing.T) {
	for _, c := range fixture.Cases(t) {
		if !strings.HasPrefix(c.Name, "amd64-vars-") && c.Name != "amd64-sections" && c.Name != "amd64-omitted" && c.Name != "amd64-packing" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			target := openCase(t, c)
			w, err := target.NewWalker()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			stack, _ := w.WalkStack(unwind.NullThread)
			compareGolden(t, filepath.Join(c.Dir, "vars.txt"), allValues(target.Variables(), stack.Frames))
		})
	}
	for _, c := range fixture.Minidumps(t) {
		if !madeForVariables(c.Name + "-") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			target, frames := openMinidump(t, c)
			compareGolden(t, filepath.Join(c.Dir, "vars.txt"), allValues(target.Variables(), frames))
		})
	}
}

// compareGolden compares a text with a file, which -update writes.
func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// allValues lists the variables of a stack, a frame's function before its own.
// Functions of libraries whose debugging information may be on the machine or not
// are left out.
func allValues(r *dwarfvars.Reader, frames []*unwind.Frame) string {
	var b strings.Builder
	for i := range frames {
		a, err := r.At(frames, i)
		if err != nil {
			continue
		}
		for _, s := range a.Live() {
			if libraryFunction(s.Function) {
				continue
			}
			fmt.Fprintf(&b, "#%d %s\n", i, s.Function)
			for _, list := range [][]*dwarfvars.LocalVar{s.Params, s.Locals} {
				for _, v := range list {
					val := a.Read(v, dwarfvars.Options{})
					fmt.Fprintf(&b, "  %s %s = %v\n", val.Type(), v.Name, val)
				}
			}
		}
		a.Close()
	}
	return b.String()
}

func libraryFunction(name string) bool {
	for _, p := range []string{"std::", "core::", "runtime.", "__libc", "_start"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
