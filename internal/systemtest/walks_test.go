package systemtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// What is kept of the walks of a dump.
const (
	walkThreads = 4  // with different stacks
	walkFirst   = 12 // frames
	walkLast    = 3  // frames
	walkDeepest = 300
)

// explainedWalks are the fixtures of which the steppers' notes are kept too: each kind of
// note is in one of them.
var explainedWalks = []string{
	"aarch64-clang-O0", "aarch64-go-stripped", "alpha-crash-O0", "amd64-asm-between", "amd64-bad-sp", "amd64-clang-O0-deep",
	"amd64-debug-frame-only", "amd64-epilogue-no-cfi", "amd64-fiber", "amd64-filter-none", "amd64-go-cgo", "amd64-mingw-probe",
	"amd64-null-call", "amd64-prologue-no-cfi", "amd64-realign-O2", "amd64-rewritten-copy", "amd64-rewritten-nopoint",
	"amd64-signal-altstack", "amd64-smash-return", "amd64-smash-return-canonical", "amd64-words-thread", "amd64-wrong-cfi",
	"arm-notables", "i386-clang-O0", "s390x-crash-O0", "sparc64-notables",
}

// tableSteppers are the steppers that read what compilers say of their frames.
var tableSteppers = []string{"Debug", "PEUnwind", "SymCFI", "WinFrame", "Exidx", "MadeCode"}

// TestGoldenWalks compares the frames of every fixture with those that were approved: who
// found each, every register that the step restored and where, what the other steppers say
// of it, and why the walk ended. TestWalkRegisters compares the same frames with gdb's. A
// second walk does without the tables of compilers.
func TestGoldenWalks(t *testing.T) {
	t.Parallel()
	for _, c := range append(fixture.Cases(t), fixture.Minidumps(t)...) {
		t.Run(c.Name, func(t *testing.T) {
			if !*update {
				c.SampleOnly(t)
			}
			target := openCase(t, c)
			var text bytes.Buffer
			opts := []unwind.Option{unwind.WithVerify()}
			if slices.Contains(explainedWalks, c.Name) {
				opts = append(opts, unwind.WithExplain())
			}
			stacks := distinctStacks(t, target, opts...)
			for _, s := range stacks {
				fmt.Fprintf(&text, "thread %d\n", s.Thread)
				writeWalk(&text, s, nil)
			}
			if len(stacks) > 0 {
				fmt.Fprintf(&text, "thread %d without tables\n", stacks[0].Thread)
				writeWalk(&text, walkWithoutTables(t, target, stacks[0].Thread, opts...), stacks[0])
			}
			golden(t, c, "walk.txt", text.Bytes())
		})
	}
}

// distinctStacks walks the default thread and a few more, no two of them with the same
// return addresses.
func distinctStacks(t testing.TB, target *corewalk.Target, opts ...unwind.Option) []*unwind.Stack {
	t.Helper()
	w, err := target.NewWalker(append(opts, unwind.WithMaxFrames(walkDeepest))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	threads, err := w.AvailableThreads()
	if err != nil {
		t.Fatal(err)
	}
	var stacks []*unwind.Stack
	seen := map[string]bool{}
	for _, th := range append([]unwind.ThreadID{unwind.NullThread}, threads...) {
		if len(stacks) == walkThreads {
			break
		}
		s, _ := w.WalkStack(th)
		var key strings.Builder
		for _, f := range s.Frames {
			fmt.Fprintf(&key, "%x ", f.RA())
		}
		if !seen[key.String()] {
			seen[key.String()] = true
			stacks = append(stacks, s)
		}
	}
	return stacks
}

// walkWithoutTables walks a thread as if no binary had unwind tables.
func walkWithoutTables(t testing.TB, target *corewalk.Target, th unwind.ThreadID, opts ...unwind.Option) *unwind.Stack {
	t.Helper()
	w, err := target.NewWalker(append(opts, unwind.WithMaxFrames(walkFirst+walkLast))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	for _, s := range w.StepperGroup().Steppers() {
		if slices.Contains(tableSteppers, s.Name()) {
			if err := w.StepperGroup().RemoveAddressRanges([]unwind.AddrRange{{Start: 0, End: 1<<64 - 1}}, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, _ := w.WalkStack(th)
	return s
}

// writeWalk writes the frames of a stack, those that are like another walk's in short.
func writeWalk(text *bytes.Buffer, s, like *unwind.Stack) {
	for i, f := range s.Frames {
		if i >= walkFirst && i < len(s.Frames)-walkLast {
			if i == walkFirst {
				fmt.Fprintf(text, "... %d frames\n", len(s.Frames)-walkFirst-walkLast)
			}
			continue
		}
		by := f.Trust().String()
		if f.Stepper() != nil {
			by = f.Stepper().Name() + "/" + by
		}
		words := frameWords(f)
		if like != nil && i < len(like.Frames) && frameWords(like.Frames[i]) == words {
			words = "the same"
		}
		fmt.Fprintf(text, "%d %s %s%s\n", i, by, words, verdictWords(f))
		for _, a := range f.Attempts() {
			if len(a.Notes) > 0 || a.Refused != "" {
				fmt.Fprintf(text, "  %s %v: %s\n", a.Stepper.Name(), a.Status, strings.TrimSuffix(strings.Join(append(slices.Clone(a.Notes), a.Refused), "; "), "; "))
			}
		}
	}
	fmt.Fprintf(text, "end: %v", s.End)
	if s.Err != nil {
		fmt.Fprintf(text, ", %v", s.Err)
	}
	text.WriteByte('\n')
}

// frameWords tells a frame: pc, stack pointer, CFA, and the registers that are other than
// its callee's or known from elsewhere; of those that calls may change, all that are known.
func frameWords(f *unwind.Frame) string {
	a := f.Walker().ProcessState().Arch()
	words := []string{fmt.Sprintf("pc %x%s sp %x%s", f.RA(), place(f, f.RALocation(), a.PC), f.SP(), place(f, f.SPLocation(), a.SP))}
	if cfa, ok := f.CFA(); ok {
		words = append(words, fmt.Sprintf("cfa %x", cfa))
	}
	for _, flag := range []struct {
		word string
		set  bool
	}{{"no call", f.NonCall()}, {"trampoline", f.IsTrampoline()}, {"bottom", f.IsBottomFrame()}} {
		if flag.set {
			words = append(words, flag.word)
		}
	}
	for r := range arch.Reg(a.NumRegs()) {
		if r == a.PC || r == a.SP {
			continue
		}
		v, at, known := f.Reg(r)
		if callee := f.PrevFrame(); callee != nil {
			u, before, was := callee.Reg(r)
			if f.RALocation().Doubtful { // as all registers are
				at.Doubtful, before.Doubtful = false, false
			}
			switch {
			case !known && (!was || !a.CalleeSaved.Has(r)), known == was && v == u && at == before && a.CalleeSaved.Has(r):
				continue
			}
		} else if !a.CalleeSaved.Has(r) {
			continue
		}
		if !known {
			words = append(words, a.RegName(r)+"=?")
			continue
		}
		words = append(words, fmt.Sprintf("%s=%x%s", a.RegName(r), v, place(f, at, r)))
	}
	return strings.Join(words, " ")
}

// place tells where register r of f was found: in memory, relative to its callee's CFA, or
// in a register, if not in r itself. "?" follows what is doubtful.
func place(f *unwind.Frame, at unwind.Location, r arch.Reg) string {
	if at.Doubtful {
		at.Doubtful = false
		return place(f, at, r) + "?"
	}
	switch at.Kind {
	case unwind.LocAddress:
		if callee := f.PrevFrame(); callee != nil {
			if cfa, ok := callee.CFA(); ok && at.Addr-cfa+1<<12 < 2<<12 {
				return fmt.Sprintf("@%+d", int64(at.Addr-cfa))
			}
		}
		return fmt.Sprintf("@%x", at.Addr)
	case unwind.LocRegister:
		if at.Reg != r {
			return "@" + f.Walker().ProcessState().Arch().RegName(at.Reg)
		}
	}
	return ""
}

// verdictWords tells what the other steppers say of a frame.
func verdictWords(f *unwind.Frame) string {
	var text strings.Builder
	for _, v := range f.Verdicts() {
		switch {
		case v.Agrees:
			fmt.Fprintf(&text, "; %s too", v.Stepper.Name())
		case v.Bottom:
			fmt.Fprintf(&text, "; %s: the bottom", v.Stepper.Name())
		default:
			fmt.Fprintf(&text, "; %s: pc %x sp %x", v.Stepper.Name(), v.RA, v.SP)
			if v.HasFP {
				fmt.Fprintf(&text, " fp %x", v.FP)
			}
		}
	}
	return text.String()
}
