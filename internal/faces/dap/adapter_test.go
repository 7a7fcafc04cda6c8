package dap_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// The client of VS Code's package for tests of adapters talks to the program.
func TestAdapterPackage(t *testing.T) {
	fixture.Long(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed (Debian: nodejs)")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed (Debian: npm)")
	}
	dir := t.TempDir()
	install := exec.Command(npm, "install", "--silent", "--prefix", dir, "@vscode/debugadapter-testsupport@1.68.0")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm cannot fetch @vscode/debugadapter-testsupport: %v %s", err, out)
	}
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./cmd/corewalk", "./cmd/corewalk-full")
	build.Dir = fixture.Root(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "adapter.js"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "adapter.js"), script, 0o644); err != nil {
		t.Fatal(err)
	}
	c := fixture.Get(t, "amd64-vars-c-O0")
	out, err := exec.Command(node, filepath.Join(dir, "adapter.js"), filepath.Join(dir, "corewalk"), c.Core(t), c.Binary(t), c.Sysroot(t)).Output()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	var got struct {
		Reason, Watch, Refused string
		Threads, Locals        int
		Frames, Parts          []string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got.Reason != "exception" || got.Watch != "9" || got.Threads != 1 || got.Locals != 8 || !slices.Equal(got.Parts, []string{"next", "name", "visit", "weight", "{...}", "flags"}) ||
		len(got.Frames) < 5 || got.Frames[2] != "records" || got.Refused != "the process is only read: it is not run and not changed" {
		t.Errorf("%s", out)
	}
}
