package dap_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	serve "github.com/corewalk/corewalk/internal/faces/dap"
	"github.com/corewalk/corewalk/internal/fixture"
)

// The extension for Visual Studio Code is built, tested by node's runner, with VS Code's package for tests of adapters as the client of the
// program, and packed.
func TestVSCode(t *testing.T) {
	fixture.Long(t)
	fixture.Tools(t)
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed (Debian: nodejs)")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed (Debian: npm)")
	}
	dir := t.TempDir()
	at := filepath.Join(fixture.Root(t), "editors", "vscode")
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json", "README.md", "LICENSE"} {
		data, err := os.ReadFile(filepath.Join(at, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "src"), os.DirFS(filepath.Join(at, "src"))); err != nil {
		t.Fatal(err)
	}
	c := fixture.Get(t, "amd64-vars-c-O0")
	run := func(args ...string) (string, error) {
		cmd := exec.Command(npm, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "COREWALK="+filepath.Join(dir, "corewalk"), "CORE="+c.Core(t), "BINARY="+c.Binary(t), "SYSROOT="+c.Sysroot(t),
			"SOURCES="+filepath.Join(fixture.Root(t), "testdata", "src"), "ARGUMENTS="+strings.Join(serve.Arguments(), " "))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("ci", "--silent", "--no-audit", "--no-fund"); err != nil {
		t.Skipf("npm cannot fetch what builds the extension: %v %s", err, out)
	}
	fixture.Programs(t, dir, nil, "corewalk")
	for _, args := range [][]string{{"run", "build"}, {"test"}, {"run", "package", "--", "-o", "corewalk.vsix"}} {
		out, err := run(args...)
		if err != nil {
			t.Fatalf("npm %q: %v %s", args, err, out)
		}
		if args[0] == "test" && (!regexp.MustCompile(`(?m)^\S+ pass \d\d+$`).MatchString(out) || !regexp.MustCompile(`(?m)^\S+ skipped 0$`).MatchString(out)) {
			t.Errorf("%s", out)
		}
	}
	if st, err := os.Stat(filepath.Join(dir, "corewalk.vsix")); err != nil || st.Size() < 4000 || st.Size() > 100_000 {
		t.Errorf("%v %v", st, err)
	}
}

// The lock file names no server: npm asks the registry that it is set up for.
func TestLockFile(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(fixture.Root(t), "editors", "vscode", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), `"resolved"`) || !strings.Contains(string(data), `"integrity"`) {
		t.Error("write it with npm install --omit-lockfile-registry-resolved")
	}
}

// The plugin for Neovim opens a core by nvim-dap, or what stands in for it; the cause and the frames are in the quickfix list.
func TestNeovim(t *testing.T) {
	fixture.Long(t)
	fixture.Tools(t)
	nvim, err := exec.LookPath("nvim")
	if err != nil {
		t.Skip("nvim is not installed (Debian: neovim)")
	}
	dir, root := t.TempDir(), fixture.Root(t)
	fixture.Programs(t, dir, nil, "corewalk")
	here := filepath.Join(root, "internal", "faces", "dap", "testdata", "nvim")
	with := os.Getenv("COREWALK_NVIM_DAP") // a copy of nvim-dap
	if with == "" {
		with = here
	}
	c := fixture.Get(t, "amd64-vars-c-O0")
	source := filepath.Join(root, "testdata", "src")
	options, err := json.Marshal(object{"command": filepath.Join(dir, "corewalk"), "launch": object{"sysroot": c.Sysroot(t), "sourceMap": object{"/src": source}}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(nvim, "--headless", "--clean", "--cmd", "let g:corewalk = "+string(options), "--cmd", "set runtimepath+="+with,
		"-c", "source "+filepath.Join(root, "editors", "nvim", "plugin", "corewalk.lua"), "-c", "luafile "+filepath.Join(here, "test.lua"))
	cmd.Env = append(os.Environ(), "OUT="+filepath.Join(dir, "out"), "CORE="+c.Core(t), "BINARY="+c.Binary(t), "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	out, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Line, Value, More, Configured string
		Texts                         []string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(source, "vars.c"))
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Split(string(text), "\n")[106]
	if got.Value != "9" || got.Line != line || got.More != "corewalk: 0 more" || got.Configured != "corewalk: open core" || len(got.Texts) < 8 ||
		got.Texts[0] != "SIGSEGV: write of 4 bytes at null" || !strings.HasPrefix(got.Texts[1], "cause: *p where p = 0x0") ||
		!slices.Contains(got.Texts, "#2 records") {
		t.Errorf("%s, want the line %q", out, line)
	}
}
