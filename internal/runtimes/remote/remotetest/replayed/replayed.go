// Package replayed reads kept dumps of runtimes as if no file of theirs were on this machine.
package replayed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A Dump is a kept dump, without a budget.
type Dump struct {
	Process *tasks.Process
	Died    unwind.ThreadID
	Stack   []*unwind.Frame // of the thread that died
}

// elsewhere renames the directories of programs and libraries in a dump, by as many bytes, as this machine's files with a dump's build-ids are
// used wherever they are.
var elsewhere = strings.NewReplacer("/lib/x86_64-linux-gnu/", "/lib/x86-64-linux-gnu/", "/usr/bin/", "/usr/bln/", "/bin/beam.", "/bln/beam.",
	"/lib64/ld-linux", "/llb64/ld-linux")

// Open reads a dump.
func Open(tb testing.TB, path string) *Dump {
	tb.Helper()
	target, err := corewalk.Open(tb.Context(), moved(tb, path), corewalk.WithSysroot(tb.TempDir()), corewalk.WithDebugDir(tb.TempDir()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { target.Close() })
	tb.Cleanup(func() {
		if files, program := target.Files(); len(files) > 0 || program != "" {
			tb.Errorf("%s: files of this machine are read: %s %s", path, files, program)
		}
	})
	out := &Dump{}
	facts, err := target.Facts(corewalk.FactsOptions{Runtimes: []tasks.Finder{func(p *tasks.Process) (tasks.Runtime, error) {
		out.Process = p
		return nil, nil
	}}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(facts.Close)
	out.Process.Budget = nil
	if out.Died, err = out.Process.State.DefaultThread(); err != nil {
		tb.Fatal(err)
	}
	w, err := target.NewWalker()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { w.Close() })
	s, err := w.WalkStack(out.Died)
	if err != nil && (s == nil || len(s.Frames) == 0) { // a stack may end early without the files
		tb.Fatal(err)
	}
	out.Stack = s.Frames
	return out
}

// moved returns a copy of a dump whose modules are at paths that this machine does not have.
func moved(tb testing.TB, path string) string {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if filepath.Ext(path) == dumpEnds {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		if err != nil {
			tb.Fatal(err)
		}
		defer d.Close()
		if b, err = d.DecodeAll(b, nil); err != nil {
			tb.Fatal(err)
		}
	}
	out := filepath.Join(tb.TempDir(), "core")
	if err := os.WriteFile(out, []byte(elsewhere.Replace(string(b))), 0o600); err != nil {
		tb.Fatal(err)
	}
	return out
}
