package systemtest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

// converted writes the other format of a dump into a file.
func converted(t *testing.T, from *corewalk.Target, name string) (string, *corewalk.Converted) {
	t.Helper()
	var b bytes.Buffer
	w, err := from.Convert(&b, "")
	if err != nil {
		t.Fatal(err)
	}
	if w.Size != uint64(b.Len()) {
		t.Errorf("%d bytes were written, not %d", b.Len(), w.Size)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, w
}

func opened(t *testing.T, path string, opts []corewalk.Option) *corewalk.Target {
	t.Helper()
	target, err := corewalk.Open(context.Background(), path, opts...)
	if target == nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	return target
}

// TestConvert: the stacks of a core, of the minidump that is made of it, and of the core that is made of that are the same, and so
// are the signal, the thread that died, and the build-ids of modules.
func TestConvert(t *testing.T) {
	t.Parallel()
	for _, c := range fixture.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			c.ThirdOnly(t)
			opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(c.Dir), corewalk.WithSearch(c.Dir), corewalk.WithExecutable(c.Binary(t))}
			core := opened(t, c.Core(t), opts)
			switch {
			case core.Core() == nil:
				t.Skip("not an ELF core")
			case !strings.HasPrefix(c.Name, "amd64") && !strings.HasPrefix(c.Name, "i386") && !strings.HasPrefix(c.Name, "arm") && !strings.HasPrefix(c.Name, "aarch64"):
				if _, err := core.Convert(new(bytes.Buffer), ""); err == nil || !strings.Contains(err.Error(), "cannot be made a minidump") {
					t.Errorf("converted: %v", err)
				}
				return
			}
			if w, err := core.Convert(new(bytes.Buffer), "core"); err == nil {
				t.Errorf("a core was made a core: %v", w)
			}
			path, w := converted(t, core, "dump.dmp")
			t.Log(w.Lost)
			dump := opened(t, path, opts)
			threads, frames, err := corewalk.SameStacks(core, dump)
			if err != nil || threads == 0 || frames == 0 {
				t.Errorf("minidump: %d threads, %d frames: %v", threads, frames, err)
			}
			sameDeath(t, core, dump, w.Lost)
			bare := opened(t, path, []corewalk.Option{corewalk.WithSysroot(t.TempDir())}) // with nobody's files
			alone, _ := converted(t, bare, "alone")
			if threads, frames, err := corewalk.SameStacks(bare, opened(t, alone, []corewalk.Option{corewalk.WithSysroot(t.TempDir())})); err != nil {
				t.Errorf("without files: %d threads, %d frames: %v", threads, frames, err)
			}
			path, second := converted(t, dump, "core")
			t.Log(second.Lost)
			again := opened(t, path, opts)
			if threads, frames, err := corewalk.SameStacks(core, again); err != nil {
				t.Errorf("core: %d threads, %d frames: %v", threads, frames, err)
			}
			sameDeath(t, core, again, w.Lost)
		})
	}
}

// sameDeath compares what ended the process, unless its loss is listed.
func sameDeath(t *testing.T, a, b *corewalk.Target, lost []string) {
	t.Helper()
	ra, err := a.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	if err != nil {
		t.Fatal(err)
	}
	rb, err := b.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	if err != nil {
		t.Fatal(err)
	}
	if x, y := ra.Dump.PID, rb.Dump.PID; x != y {
		t.Errorf("process %d became %d", x, y)
	}
	for i := range ra.Threads {
		if i >= len(rb.Threads) || ra.Threads[i].ID != rb.Threads[i].ID || ra.Threads[i].Crashed != rb.Threads[i].Crashed {
			t.Errorf("thread %d is not as before", ra.Threads[i].ID)
		}
	}
	ids := map[string]string{}
	for _, m := range rb.Modules {
		ids[filepath.Base(m.Path)] = m.BuildID
	}
	for _, m := range ra.Modules {
		if id, ok := ids[filepath.Base(m.Path)]; ok && id != m.BuildID && m.BuildID != "" {
			t.Errorf("%s had build-id %s, has %s", m.Path, m.BuildID, id)
		}
	}
	if x, y := ra.Crash, rb.Crash; x != nil && y == nil {
		t.Errorf("died of nothing")
	} else if x != nil && !strings.Contains(strings.Join(lost, "\n"), "sent the signal") && (x.Signal != y.Signal || x.Code != y.Code || x.Reason != y.Reason) {
		t.Errorf("died of %q, then of %q", x.Reason, y.Reason)
	}
}

// TestConvertWindows: a minidump of Windows is refused with the reason.
func TestConvertWindows(t *testing.T) {
	for _, c := range fixture.Minidumps(t) {
		target := opened(t, c.Core(t), nil)
		var b bytes.Buffer
		if _, err := target.Convert(&b, ""); err == nil || !strings.Contains(err.Error(), "Windows cannot be made an ELF core: an ELF core of Linux has no form") || b.Len() > 0 {
			t.Errorf("%s: %d bytes: %v", c.Name, b.Len(), err)
		}
	}
}

// TestConvertGDB: gdb walks a core that was made of a minidump as it walks the core of which that was made.
func TestConvertGDB(t *testing.T) {
	t.Parallel()
	fixture.Tools(t)
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Skip("gdb is not installed (Debian: gdb)")
	}
	pcs := regexp.MustCompile(`(?m)^#\d+ .*`)
	for i, name := range []string{"amd64-threads", "amd64-static", "amd64-signal-altstack"} {
		t.Run(name, func(t *testing.T) {
			if i > 0 {
				fixture.Long(t)
			}
			c := fixture.Get(t, name)
			opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t))}
			path, _ := converted(t, opened(t, c.Core(t), opts), "dump.dmp")
			path, _ = converted(t, opened(t, path, opts), "core")
			stacks := func(core string) string {
				out, err := exec.Command(gdb, "-nx", "-batch", "-iex", "set sysroot "+c.Sysroot(t), "-iex", "set debuginfod enabled off", "-ex", "thread apply all backtrace",
					c.Binary(t), core).CombinedOutput()
				if err != nil {
					t.Fatalf("gdb: %v\n%s", err, out)
				}
				return strings.Join(pcs.FindAllString(string(out), -1), "\n")
			}
			want, got := stacks(c.Core(t)), stacks(path)
			if want != got || strings.Count(want, "\n") < 2 {
				t.Errorf("gdb walks\n%s\nand of the converted core\n%s", want, got)
			}
		})
	}
}
