package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// Of the files to fetch, those of modules on the stack are fewer: the program is among them, libraries that it only loaded are not.
func TestMissingOnStack(t *testing.T) {
	core := filepath.Join(t.TempDir(), "core") // nothing is beside it
	data, err := os.ReadFile(fixture.Get(t, "amd64-boost").Core(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(core, data, 0o600); err != nil {
		t.Fatal(err)
	}
	list := func(flag string) map[string]bool {
		out, errs := inProcess(t, "info", "--no-cache", "--debuginfod=none", flag, core)
		if errs != "" {
			t.Errorf("%s: %s", flag, errs)
		}
		paths := map[string]bool{}
		for line := range strings.Lines(out) {
			_, path, _ := strings.Cut(strings.TrimSpace(line), "  ")
			paths[filepath.Base(path)] = true
		}
		return paths
	}
	all, some := list("--missing"), list("--missing=stack")
	for path := range some {
		if !all[path] {
			t.Errorf("%s is on the stack and not missing", path)
		}
	}
	if !some["boost"] || len(some) >= len(all) || some["libgcc_s.so.1"] {
		t.Errorf("on the stack %v, missing %v", some, all)
	}
	if _, errs := inProcess(t, "info", "--missing=stacks", core); !strings.Contains(errs, "want all or stack") {
		t.Errorf("%q", errs)
	}
}
