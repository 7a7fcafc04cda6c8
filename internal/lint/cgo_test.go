package lint

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNoC: a program that uses the library needs C code for the names of users in archives only, which a build tag leaves out.
func TestNoC(t *testing.T) {
	for tag, want := range map[string][]string{"osusergo": nil, "none": {"os/user"}} {
		cmd := exec.Command("go", "list", "-deps", "-tags", tag, "-f", "{{if .CgoFiles}}{{.ImportPath}}{{end}}", module, module+"/crashself")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(strings.Fields(string(out)), func(p string) bool { return p == "runtime/cgo" && want != nil })
		if !slices.Equal(got, want) {
			t.Errorf("with the tag %s, these have C code: %q", tag, got)
		}
	}
}
