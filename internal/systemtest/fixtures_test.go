package systemtest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// openCase opens a fixture as its case.json says.
func openCase(t testing.TB, c fixture.Case, opts ...corewalk.Option) *corewalk.Target {
	t.Helper()
	target, err := corewalk.Open(context.Background(), c.Core(t), caseOptions(t, c, opts...)...)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	t.Cleanup(func() { target.Close() })
	return target
}

// caseOptions add to opts what opens a fixture with the files that are shipped, and no other.
func caseOptions(t testing.TB, c fixture.Case, opts ...corewalk.Option) []corewalk.Option {
	t.Helper()
	opts = append(opts, corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t)))
	for i := 0; i+1 < len(c.Args); i += 2 {
		dir := filepath.Join(c.Dir, c.Args[i+1])
		switch c.Args[i] {
		case "--debug-dir":
			opts = append(opts, corewalk.WithDebugDir(dir))
		case "--search":
			opts = append(opts, corewalk.WithSearch(dir))
		default:
			t.Fatalf("%s: unknown argument %s", c.Name, c.Args[i])
		}
	}
	if !slices.Contains(c.Args, "--debug-dir") { // not this machine's own
		opts = append(opts, corewalk.WithDebugDir(t.TempDir()))
	}
	for _, dir := range c.Search(t) {
		opts = append(opts, corewalk.WithSearch(dir))
	}
	// Libraries of the case's own lie beside its core.
	opts = append(opts, corewalk.WithSearch(c.Dir))
	return opts
}

func analyzeCase(t testing.TB, c fixture.Case) *report.Report {
	t.Helper()
	r, err := openCase(t, c).Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return r
}

// asChecked compares the stacks of a fixture's report with what its case.json says, which was checked by hand.
func asChecked(t *testing.T, c fixture.Case, r *report.Report) {
	t.Helper()
	if len(r.Threads) != c.Threads {
		t.Errorf("%d threads, want %d", len(r.Threads), c.Threads)
	}
	if c.Signal != "" && (r.Crash == nil || r.Crash.Signal != c.Signal && r.Crash.Exception != c.Signal) {
		t.Errorf("crash %+v, want %s", r.Crash, c.Signal)
	}
	if len(r.Threads) == 0 {
		return
	}
	if err := matchChain(c.Frames(t), r.Threads[0].Frames); err != nil {
		t.Errorf("%v\n%s", err, stackText(&r.Threads[0]))
	}
	matchOthers(t, c, r)
}

// matchOthers compares the other threads with the case's groups.
func matchOthers(t *testing.T, c fixture.Case, r *report.Report) {
	left := r.Threads[1:]
	for i, g := range c.Others {
		var rest []report.Thread
		n := 0
		for _, th := range left {
			if n < g.Threads && matchChain(g.Frames(t), th.Frames) == nil {
				n++
			} else {
				rest = append(rest, th)
			}
		}
		if n != g.Threads {
			t.Errorf("group %d (%v): %d threads, want %d", i, g.Chain, n, g.Threads)
		}
		left = rest
	}
	if len(c.Others) > 0 && len(left) > 0 {
		t.Errorf("%d threads fit no group, such as\n%s", len(left), stackText(&left[0]))
	}
}

// matchChain compares a chain with the frames of a report.
func matchChain(want []fixture.Frame, got []report.Frame) error {
	var flat []fixture.Frame
	for _, w := range want {
		for range w.Repeat {
			flat = append(flat, w)
		}
	}
	// reach[i] says that flat[:i] fits the frames so far.
	reach := make([]bool, len(flat)+1)
	open := func() {
		for i, w := range flat {
			if reach[i] && w.Any {
				reach[i+1] = true
			}
		}
	}
	reach[0] = true
	open()
	for n := range got {
		next := make([]bool, len(flat)+1)
		some := false
		for i, w := range flat {
			if !reach[i] {
				continue
			}
			if w.Any {
				next[i], some = true, true
			} else if fits(w, &got[n]) {
				next[i+1], some = true, true
			}
		}
		if !some {
			return fmt.Errorf("frame %d (%s) does not fit: %s wanted", n, frameText(&got[n]), wanted(flat, reach))
		}
		reach = next
		open()
	}
	if !reach[len(flat)] {
		return fmt.Errorf("the stack ends after %d frames: %s wanted", len(got), wanted(flat, reach))
	}
	return nil
}

func wanted(flat []fixture.Frame, reach []bool) string {
	var words []string
	for i, w := range flat {
		if reach[i] {
			words = append(words, fmt.Sprintf("%+v", w))
		}
	}
	if len(words) == 0 {
		return "the end"
	}
	return strings.Join(words, " or ")
}

func fits(w fixture.Frame, f *report.Frame) bool {
	switch {
	case w.Signal:
		return f.Signal != ""
	case f.Signal != "":
		return false
	case w.Wild:
		return f.Source.File == "" && f.Trust == report.TrustContext
	}
	return (w.Function == "" || w.Function == f.Function) &&
		(w.Module == "" || w.Module == moduleBase(f.Module)) &&
		w.Inlined == f.Inlined && w.Tail == f.Tail
}

func frameText(f *report.Frame) string {
	kind := ""
	if f.Inlined {
		kind = " inlined"
	} else if f.Tail {
		kind = " tail"
	}
	return fmt.Sprintf("%s%s at %s:%d in %s pc %v [%s, %s]%s", f.Function, kind, filepath.Base(f.Source.File), f.Source.Line, moduleBase(f.Module), f.PC, f.Trust, f.Stepper, f.Signal)
}

func stackText(th *report.Thread) string {
	var b strings.Builder
	for i := range th.Frames {
		if i == 40 {
			fmt.Fprintf(&b, "... %d frames\n", len(th.Frames))
			break
		}
		fmt.Fprintf(&b, "#%d %s\n", i, frameText(&th.Frames[i]))
	}
	fmt.Fprintf(&b, "end: %s %s\n", th.End, th.EndDetail)
	return b.String()
}

// moduleBase answers the name of a module without its directories, of Windows too.
func moduleBase(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }
