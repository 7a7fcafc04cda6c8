package steppers_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/symlookup"
	"github.com/corewalk/corewalk/unwind"
)

// walkCase walks the crashing thread of a fixture.
func walkCase(tb testing.TB, name string) (*unwind.Walker, *unwind.Stack) {
	tb.Helper()
	ctx := context.Background()
	c := fixture.Get(tb, name)
	p, err := corestate.Open(ctx, c.Core(tb))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.Close() })
	files, err := modules.New(ctx, p.DumpMemory(), modules.WithMachine(p.Arch().Name), modules.WithSysroot(c.Sysroot(tb)),
		modules.WithExecutable(c.Binary(tb)), modules.WithDebugDir(tb.TempDir()), modules.WithSearch(c.Dir))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { files.Close() })
	libs, _ := p.BuildLibraries(files)
	p.SetBacking(files)
	group, err := steppers.DefaultGroup(p.Arch(), files)
	if err != nil {
		tb.Fatal(err)
	}
	names := symlookup.New(libs, files, symlookup.WithRelocated(p.Arch(), p.DumpMemory()))
	w, err := unwind.NewWalker(p, unwind.WithGroup(group), unwind.WithSymbolLookup(names), unwind.WithSymbolReader(names))
	if err != nil {
		tb.Fatal(err)
	}
	s, _ := w.WalkStack(unwind.NullThread)
	return w, s
}

// TestFixtureSteppers checks who finds the frames of real stacks that call frame
// information does not lead through, and how they end.
func TestFixtureSteppers(t *testing.T) {
	tests := []struct {
		name string
		want string // function/trust of each frame, "*" for the rest
		end  unwind.EndReason
	}{
		{"amd64-asm-between", "crash/context on_item/cfi each_item/cfi walk/analysis main/cfi *", unwind.EndBottom},
		{"amd64-no-tables-fp", "crash/context fold/frame-pointer spread/frame-pointer deep/frame-pointer main/frame-pointer *", unwind.EndBottom},
		{"amd64-no-tables-omit-fp", "crash/context fold/frame-pointer spread/analysis deep/analysis main/analysis *", unwind.EndBottom},
		{"amd64-prologue-no-cfi", "stumble/context caller/frame-pointer main/cfi *", unwind.EndBottom},
		{"amd64-epilogue-no-cfi", "leave_late/context caller/frame-pointer main/cfi *", unwind.EndBottom},
		{"amd64-null-call", "?/context invoke/wild-pc dispatch/cfi main/cfi *", unwind.EndBottom},
		{"amd64-data-call", "not_code/context invoke/wild-pc dispatch/cfi main/cfi *", unwind.EndBottom},
		{"amd64-smash-return", "copy_name/context ?/cfi", unwind.EndNoStepper},
		{"amd64-bad-sp", "lose_stack/context", unwind.EndNoStepper},
		{"amd64-fiber", "crash/context body/cfi fiber_main/cfi ?/cfi", unwind.EndBottom},
		{"amd64-musl-static", "fill/context visit/cfi main/cfi libc_start_main_stage2/cfi _start/analysis", unwind.EndBottom},
		{"amd64-go-cgo", "*", unwind.EndBottom},
		{"amd64-signal-altstack", "*", unwind.EndBottom},
		{"amd64-stripped", "*", unwind.EndBottom},
		{"amd64-static-pie", "*", unwind.EndBottom},
	}
	for _, tc := range tests {
		t.Run(strings.TrimPrefix(tc.name, "amd64-"), func(t *testing.T) {
			_, s := walkCase(t, tc.name)
			var got []string
			for _, f := range s.Frames {
				name, err := f.Name()
				if err != nil {
					name = "?"
				}
				got = append(got, name+"/"+f.Trust().String())
			}
			want := strings.Fields(tc.want)
			open := want[len(want)-1] == "*"
			if open {
				want = want[:len(want)-1]
				got = got[:min(len(got), len(want))]
			}
			if !slices.Equal(got, want) || s.End != tc.end {
				t.Errorf("%s, end %v (%v); want %s, %v", got, s.End, s.Err, want, tc.end)
			}
		})
	}
}

// TestFixtureSignalRegisters: what a signal interrupted has every register.
func TestFixtureSignalRegisters(t *testing.T) {
	_, s := walkCase(t, "amd64-signal-altstack")
	i := slices.IndexFunc(s.Frames, func(f *unwind.Frame) bool { return f.IsTrampoline() })
	if i < 0 || i+1 >= len(s.Frames) {
		t.Fatalf("no signal frame among %d", len(s.Frames))
	}
	f := s.Frames[i+1]
	if f.Stepper().Name() != "SigHandler" || !f.NonCall() {
		t.Errorf("by %s, non-call %v", f.Stepper().Name(), f.NonCall())
	}
	a := f.Walker().ProcessState().Arch()
	for n := range uint64(17) { // DWARF's rax to rip
		r, _ := a.FromDWARF(n)
		if _, loc, ok := f.Reg(r); !ok || loc.Kind != unwind.LocAddress {
			t.Errorf("%s: known %v, %s", a.RegName(r), ok, loc.Describe(a))
		}
	}
}

func BenchmarkWalkFixture(b *testing.B) {
	for _, name := range []string{"amd64-recursion-12000", "amd64-threads", "amd64-no-tables-omit-fp"} {
		b.Run(filepath.Base(name), func(b *testing.B) {
			w, s := walkCase(b, name)
			b.ReportAllocs()
			for b.Loop() {
				s, _ = w.WalkStack(unwind.NullThread)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(s.Frames)), "ns/frame")
		})
	}
}
