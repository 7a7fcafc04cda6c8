package dap_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// The client of VS Code's package for tests of adapters talks to the program.
func TestAdapterPackage(t *testing.T) {
	fixture.Long(t)
	fixture.Tools(t)
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
	fixture.Programs(t, dir, nil, "corewalk")
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

// Neovim opens a core, shows the source of a frame, and asks for a value.
func TestNeovim(t *testing.T) {
	fixture.Long(t)
	fixture.Tools(t)
	nvim, err := exec.LookPath("nvim")
	if err != nil {
		t.Skip("nvim is not installed (Debian: neovim)")
	}
	dir := t.TempDir()
	fixture.Programs(t, dir, nil, "corewalk")
	script, err := filepath.Abs(filepath.Join("testdata", "neovim.lua"))
	if err != nil {
		t.Fatal(err)
	}
	c := fixture.Get(t, "amd64-vars-c-O0")
	source := filepath.Join(fixture.Root(t), "testdata", "src")
	cmd := exec.Command(nvim, "--headless", "--clean", "-c", "luafile "+script)
	cmd.Env = append(os.Environ(), "OUT="+filepath.Join(dir, "out"), "COREWALK="+filepath.Join(dir, "corewalk"), "CORE="+c.Core(t), "BINARY="+c.Binary(t),
		"SYSROOT="+c.Sysroot(t), "FROM=/src", "TO="+source, "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	out, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Reason, Line, Value, Error string
		Frames                     []string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(source, "vars.c"))
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Split(string(text), "\n")[106]
	if got.Reason != "exception" || got.Value != "9" || got.Line != line || !slices.Equal(got.Frames, []string{"stop", "arrays", "records", "numbers"}) {
		t.Errorf("%s, want the line %q", out, line)
	}
}
