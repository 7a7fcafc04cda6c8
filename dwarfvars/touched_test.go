//go:build countdwarf

package dwarfvars_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// These are built with the tag countdwarf, with which internal/format/dwarf counts the
// bytes of entries that are read: go test -tags countdwarf ./dwarfvars

// TestUnitsRead walks every fixture and reads the variables of all frames. Of units
// that no frame falls in no more than the first entry may be read, but for entries
// that others refer to, and for units that do not say where their code is. Types of
// Go are looked for by name: what an interface holds is known by its name only.
func TestUnitsRead(t *testing.T) {
	own := 0
	for _, c := range fixture.Cases(t) {
		target := openCase(t, c)
		dwarf.ResetCounted()
		frames := map[*dwarf.Unit]bool{}
		readAll(t, target, true, frames)
		own += len(frames)
		dwarf.Counted(func(u *dwarf.Unit, n dwarf.Count) {
			if frames[u] || u.Language == dwarf.LangGo {
				return
			}
			if n.BeyondRoot > 0 && !n.Referred && tellsCode(u) {
				t.Errorf("%s: %d bytes of the unit at %#x, which no frame falls in", c.Name, n.BeyondRoot, u.Off)
			}
			if size := int(u.End - u.Off); n.Referred && n.Bytes > max(size/2, 4096) {
				t.Errorf("%s: %d bytes of %d of the unit at %#x, to which entries refer", c.Name, n.Bytes, size, u.Off)
			}
		})
	}
	if own < 100 {
		t.Errorf("%d units with frames: nothing was counted", own)
	}
}

// tellsCode reports whether the first entry of a unit says where its code is.
func tellsCode(u *dwarf.Unit) bool {
	high, ranges := u.Value(u.Root(), dwarf.AttrHighPC), u.Value(u.Root(), dwarf.AttrRanges)
	return high.Present() || ranges.Present()
}

// BenchmarkTouched opens a core, walks its threads and reads every variable of
// every frame, and reports how many bytes of entries that read: walk-B/op by the
// walk, vars-B/op by the variables on top of it, in so many units. The walk reads
// none, as long as nothing is named. A directory in COREWALK_BIG with a program "w4",
// and its "core", as make bench-peers makes them, is measured too.
func BenchmarkTouched(b *testing.B) {
	for _, name := range []string{"amd64-vars-c-O2", "amd64-vars-cxx-O2", "amd64-vars-go-O0"} {
		c := fixture.Get(b, name)
		b.Run(name, func(b *testing.B) {
			benchTouched(b, c.Core(b), corewalk.WithExecutable(c.Binary(b)),
				corewalk.WithSysroot(c.Sysroot(b)), corewalk.WithDebugDir(b.TempDir()))
		})
	}
	if big := os.Getenv("COREWALK_BIG"); big != "" {
		b.Run("big", func(b *testing.B) {
			benchTouched(b, filepath.Join(big, "core"), corewalk.WithExecutable(filepath.Join(big, "w4")))
		})
	}
}

func benchTouched(b *testing.B, core string, opts ...corewalk.Option) {
	var walked, read, units int
	var variables uint64
	for b.Loop() {
		target, err := corewalk.Open(context.Background(), core, opts...)
		if err != nil {
			b.Fatal(err)
		}
		dwarf.ResetCounted()
		readAll(b, target, false, nil)
		before, _ := bytesRead()
		variables = readAll(b, target, true, nil)
		var all int
		all, units = bytesRead()
		if err := target.Close(); err != nil {
			b.Fatal(err)
		}
		walked, read = walked+before, read+all-before
	}
	b.ReportMetric(float64(walked)/float64(b.N), "walk-B/op")
	b.ReportMetric(float64(read)/float64(b.N), "vars-B/op")
	b.ReportMetric(float64(units), "units")
	b.ReportMetric(float64(variables), "variables")
}

func bytesRead() (bytes, units int) {
	dwarf.Counted(func(_ *dwarf.Unit, n dwarf.Count) {
		bytes += n.Bytes
		units++
	})
	return bytes, units
}

// readAll walks every thread, and reads the variables of every frame if asked. It
// returns their number; units gets those that frames fall in.
func readAll(b testing.TB, target *corewalk.Target, variables bool, units map[*dwarf.Unit]bool) (n uint64) {
	b.Helper()
	w, err := target.NewWalker()
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	threads, err := target.ProcessState().ThreadIDs()
	if err != nil {
		b.Fatal(err)
	}
	r := target.Variables()
	for _, id := range threads {
		stack, _ := w.WalkStack(id)
		for i := range stack.Frames {
			if !variables {
				continue
			}
			a, err := r.At(stack.Frames, i)
			if err != nil {
				continue
			}
			if units != nil {
				units[a.Unit()] = true
			}
			for _, s := range a.Live() {
				for _, list := range [][]*dwarfvars.LocalVar{s.Params, s.Locals} {
					for _, v := range list {
						_ = a.Read(v, dwarfvars.Options{}).String()
						n++
					}
				}
			}
			a.Close()
		}
	}
	return n
}
