package systemtest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// TestJIT: registered code has names, lines, variables and unwind tables, and stands
// among the modules, whichever way its file was made.
func TestJIT(t *testing.T) {
	for name, at := range map[string]string{"amd64-jit-object": "[jit 0x7", "amd64-jit-placed": "[jit 0x10000000]"} {
		t.Run(name, func(t *testing.T) {
			target := openCase(t, fixture.Get(t, name))
			libs, err := target.ProcessState().LibraryTracker().Libraries(false)
			if err != nil || len(libs) != 4 {
				t.Fatalf("%d libraries before the walk, %v", len(libs), err)
			}
			r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
			if err != nil {
				t.Fatal(err)
			}
			frames := r.Threads[0].Frames
			for i, want := range []string{"jit_leaf 11", "jit_middle 18", "jit_entry 6"} {
				f := &frames[i]
				function, line, _ := strings.Cut(want, " ")
				if f.Function != function || f.Source.File != "/src/jit_code.c" || line != strconv.Itoa(f.Source.Line) ||
					!strings.HasPrefix(f.Module, at) || i > 0 && f.Trust != report.TrustCFI {
					t.Errorf("frame %d: %s at %s:%d in %s [%s], want %s", i, f.Function, f.Source.File, f.Source.Line, f.Module, f.Trust, want)
				}
			}
			if v := frames[1].Locals; len(v) != 1 || v[0].Value != "{8, 0, 0, 0}" {
				t.Errorf("locals of jit_middle: %+v", v)
			}
			jit := 0
			for _, m := range r.Modules {
				if strings.HasPrefix(m.Path, "[jit ") {
					jit++
					if m.Status != report.ModuleMatched || m.Symbols != report.SymbolsDWARF || m.File != "" {
						t.Errorf("%+v", m)
					}
				}
			}
			if jit != 2 || !r.Complete() {
				t.Errorf("%d modules of compiled code; complete %v", jit, r.Complete())
			}
		})
	}
}

// TestJITNotLookedFor: nobody asks for the list where no frame calls for it.
func TestJITNotLookedFor(t *testing.T) {
	target := openCase(t, fixture.Get(t, "amd64-jit-object"))
	tracker := target.ProcessState().LibraryTracker()
	libs, _ := tracker.Libraries(false)
	for _, l := range libs {
		tracker.LibraryAt(l.Start)
		tracker.LibraryAt(l.End)
	}
	if again, _ := tracker.Libraries(false); len(again) != len(libs) {
		t.Error("compiled code was looked for")
	}
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if top, err := w.InitialFrame(unwind.NullThread); err != nil {
		t.Fatal(err)
	} else if _, ok := tracker.LibraryAt(top.RA()); !ok {
		t.Error("no library at the compiled code")
	}
	if again, _ := tracker.Libraries(false); len(again) != len(libs)+2 {
		t.Errorf("%d libraries with the compiled code's", len(again))
	}
}

// TestJITApart: what one dump has registered does not show in another of the same
// program.
func TestJITApart(t *testing.T) {
	a, b := openCase(t, fixture.Get(t, "amd64-jit-placed")), openCase(t, fixture.Get(t, "amd64-jit-object"))
	at := func(target *corewalk.Target) (*libstate.Library, bool) {
		return target.ProcessState().LibraryTracker().LibraryAt(0x10000000)
	}
	la, okA := at(a)
	lb, okB := at(b) // registered there too, but another process's
	if !okA || !okB || la == lb || la.HeaderAddr == lb.HeaderAddr {
		t.Errorf("%+v, %+v", la, lb)
	}
}

// TestJITDamaged: a damaged list is a warning; the walk goes on without it.
func TestJITDamaged(t *testing.T) {
	c := fixture.Get(t, "amd64-jit-object")
	data, err := os.ReadFile(c.Core(t))
	if err != nil {
		t.Fatal(err)
	}
	target := openCase(t, c)
	libs, _ := target.ProcessState().LibraryTracker().Libraries(false)
	sym, ok := target.SymbolLookup().(unwind.SymbolReader).SymbolByName(libs[0], libraries.JITDescriptor)
	if !ok {
		t.Fatal("no descriptor")
	}
	for _, s := range target.Core().Segments() {
		if sym.Addr >= s.Start && sym.Addr < s.Start+s.InDump {
			data[s.Offset+sym.Addr-s.Start] = 9 // the version
		}
	}
	path := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged, err := corewalk.Open(context.Background(), path, corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t)), corewalk.WithDebugDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer damaged.Close()
	r, err := damaged.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	warned := false
	for _, w := range r.Warnings {
		warned = warned || w.Code == "jit" && strings.Contains(w.Message, "version 9")
	}
	if !warned || r.Threads[0].Frames[0].Function != "" {
		t.Errorf("%+v", r.Warnings)
	}
}
