package systemtest

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// analyzeWithout reports on a copy of a fixture's core beside which its binary
// does not lie; debug is where debug files are.
func analyzeWithout(t *testing.T, c fixture.Case, debug string, opts ...corewalk.Option) *report.Report {
	t.Helper()
	core, err := os.ReadFile(c.Core(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(path, core, 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := corewalk.Open(context.Background(), path, append(opts, corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(debug))...)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mainModule(t *testing.T, r *report.Report) report.Module {
	t.Helper()
	for _, m := range r.Modules {
		if m.Main {
			return m
		}
	}
	t.Fatal("no main program")
	return report.Module{}
}

// Where only the debug file of the program is there, names and lines come from
// it, and the report says that the program itself is missing.
func TestDebugFileWithoutBinary(t *testing.T) {
	c := fixture.Get(t, "amd64-build-id")
	debug := filepath.Join(c.Dir, "debug")
	files, _ := filepath.Glob(filepath.Join(debug, ".build-id/*/*.debug"))
	if len(files) != 1 {
		t.Fatalf("debug files %q", files)
	}
	for name, r := range map[string]*report.Report{
		"found": analyzeWithout(t, c, debug),
		"given": analyzeWithout(t, c, t.TempDir(), corewalk.WithExecutable(files[0])),
	} {
		m := mainModule(t, r)
		if m.Status != report.ModuleMissing || m.File != "" || m.DebugFile != files[0] || m.Symbols != report.SymbolsDWARF {
			t.Errorf("%s: module %+v", name, m)
		}
		fs := r.Threads[0].Frames
		if len(fs) < 2 || fs[0].Function != "store" || !fs[0].Inlined || fs[1].Function != "fill" || fs[1].Source.Line != 32 {
			t.Errorf("%s: %s", name, stackText(&r.Threads[0]))
		}
		if !slices.ContainsFunc(r.Warnings, func(w report.Warning) bool {
			return w.Code == "module-missing" && strings.Contains(w.Message, "only its debug information")
		}) {
			t.Errorf("%s: warnings %+v", name, r.Warnings)
		}
	}
}

// .debug_frame of the debug file leads through the program.
func TestDebugFrameWithoutBinary(t *testing.T) {
	fixture.Tools(t)
	objcopy, err := exec.LookPath("objcopy")
	if err != nil {
		t.Skip("objcopy is not installed: no debug file can be made (Debian: binutils)")
	}
	c := fixture.Get(t, "amd64-debug-frame-only")
	file := filepath.Join(t.TempDir(), "program.debug")
	if out, err := exec.Command(objcopy, "--only-keep-debug", c.Binary(t), file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := analyzeWithout(t, c, t.TempDir(), corewalk.WithExecutable(file))
	if err := matchChain(c.Frames(t), r.Threads[0].Frames); err != nil {
		t.Errorf("%v\n%s", err, stackText(&r.Threads[0]))
	}
	if m := mainModule(t, r); m.Status != report.ModuleMissing {
		t.Errorf("module %+v", m)
	}
}

// A slim core has unwind rules of the addresses on its stacks, which a debug file does not have.
func TestDebugFileWithSlimCore(t *testing.T) {
	c := fixture.Get(t, "amd64-build-id")
	debug := corewalk.WithDebugDir(filepath.Join(c.Dir, "debug"))
	whole, err := corewalk.Open(t.Context(), c.Core(t), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t)), debug, corewalk.ForSlim())
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	path := filepath.Join(t.TempDir(), "slim")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := whole.WriteSlim(t.Context(), f, corewalk.SlimOptions{}); err != nil {
		t.Fatal(err)
	}
	want, err := whole.Analyze(t.Context(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	forgetUnwindTables(t, path, c.Binary(t))
	slim, err := corewalk.Open(t.Context(), path, corewalk.WithSysroot(t.TempDir()), debug)
	if err != nil {
		t.Fatal(err)
	}
	defer slim.Close()
	got, err := slim.Analyze(t.Context(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	told := func(r *report.Report) (out []string) {
		for _, f := range r.Threads[0].Frames {
			if f.Module == mainModule(t, r).Path {
				out = append(out, fmt.Sprint(f.Function, " by ", f.Trust, " at line ", f.Source.Line))
			}
		}
		return out
	}
	if want, got := told(want), told(got); len(want) < 3 || !slices.Equal(want, got) {
		t.Errorf("of the slim core, with the debug file only: %q\nof the whole: %q", got, want)
	}
}

// forgetUnwindTables blanks what a core has of a small program's unwind tables: those of large ones are not in slim cores.
func forgetUnwindTables(t *testing.T, core, program string) {
	t.Helper()
	b, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := f.Section(".eh_frame").Data()
	if err != nil || !bytes.Contains(b, table) {
		t.Fatalf("the core has no unwind table: %v", err)
	}
	if err := os.WriteFile(core, bytes.ReplaceAll(b, table, make([]byte, len(table))), 0o600); err != nil {
		t.Fatal(err)
	}
}
