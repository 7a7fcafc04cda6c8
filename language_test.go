package corewalk_test

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A toy is a runtime of a language that one function of the program interprets.
type toy struct {
	p       *tasks.Process
	stepper *toyStepper
}

func (*toy) Name() string { return "toy" }

func (*toy) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	return func(func(*tasks.Task, error) bool) {}
}

func (t *toy) Steppers() []unwind.FrameStepper { return []unwind.FrameStepper{t.stepper} }

func (t *toy) Stretches(_ context.Context, _ unwind.ThreadID, frames []*unwind.Frame) ([]tasks.Stretch, error) {
	for i, f := range frames {
		if name, err := f.Name(); err == nil && strings.Contains(name, "main") && i > 0 {
			return []tasks.Stretch{{From: i, To: i + 1, Ended: true, Calls: []tasks.Call{
				{Language: "toy", Kind: tasks.CallInterpreted, Function: "inner", File: "a.toy", Line: 3},
				{Language: "toy", Kind: tasks.CallInterpreted, Function: "outer", File: "a.toy", Line: 9, Variables: func(bool, tasks.Limits) (args, own []tasks.SuspendedVariable) {
					return []tasks.SuspendedVariable{{Name: "n", Value: "7", Tree: endless}}, nil
				}},
			}}, {From: len(frames), To: len(frames) + 5}}, nil // the last is wrong
		}
	}
	return nil, nil
}

// endless is a tree that is a part of itself.
func endless() report.Data {
	v := report.Data{Kind: "struct", Text: "Loop", Children: make([]report.Child, 1)}
	v.Children[0] = report.Child{Name: "again", Data: v}
	return v
}

func (*toy) Raised(unwind.ThreadID) []tasks.Exception {
	return []tasks.Exception{{Language: "toy", Type: "Trouble", Message: "none left", File: "a.toy", Line: 3}}
}

// A toyStepper counts how often it is asked, and knows no frame.
type toyStepper struct{ asked atomic.Int64 }

func (s *toyStepper) Name() string     { return "toy" }
func (s *toyStepper) Priority() uint32 { return 0 }
func (s *toyStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	s.asked.Add(1)
	return unwind.StatusNotMe
}

func TestLanguageOfCaller(t *testing.T) {
	target, err := corewalk.Open(t.Context(), "testdata/cores/amd64-fiber/core.zst", corewalk.WithSysroot("testdata/sysroot/amd64"))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	plain, err := target.Analyze(t.Context(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &toyStepper{}
	find := func(p *tasks.Process) (tasks.Runtime, error) { return &toy{p: p, stepper: s}, nil }
	r, err := target.AnalyzeWith(t.Context(), corewalk.FactsOptions{Runtimes: []tasks.Finder{find}}, corewalk.AnalyzeOptions{For: report.Whole{Trees: true}})
	if err != nil {
		t.Fatal(err)
	}
	if s.asked.Load() == 0 {
		t.Error("the runtime's stepper was not asked")
	}
	was, is := plain.Threads[0].Frames, r.Threads[0].Frames
	if len(is) != len(was)+2 {
		t.Fatalf("%d frames, without the language %d", len(is), len(was))
	}
	kept := 0
	for i, f := range is {
		if f.Index != i {
			t.Errorf("frame %d has the index %d", i, f.Index)
		}
		if f.Language == "" {
			if f.PC != was[kept].PC || f.Function != was[kept].Function {
				t.Errorf("native frame %d differs", kept)
			}
			kept++
		}
	}
	var b strings.Builder
	if err := report.WriteText(&b, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"inner at a.toy:3", "outer(n=7) at a.toy:9", "toy: Trouble in a.toy:3: none left"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
	n := is[slices.IndexFunc(is, func(f report.Frame) bool { return f.Function == "outer" })].Args[0]
	if n.Data == nil || len(n.Data.Children) != 1 || n.Data.Children[0].Name != "again" {
		t.Errorf("the tree of n is %+v", n.Data)
	}
	if *plain.Crash.Frame != 0 || is[*r.Crash.Frame].Function != "inner" {
		t.Errorf("the report points to %s, want the call that ended the process", is[*r.Crash.Frame].Function)
	}
	levels := 0
	for d := n.Data; d != nil && levels < 100; levels++ {
		if len(d.Children) == 0 {
			break
		}
		d = &d.Children[0].Data
	}
	if levels == 0 || levels > 40 {
		t.Errorf("an endless tree has %d levels", levels)
	}
	folded := slices.IndexFunc(is, func(f report.Frame) bool { return f.Folded })
	if folded < 0 {
		t.Fatal("no frame is folded")
	}
	line := "\n  #" + strconv.Itoa(folded) + " "
	if strings.Contains(b.String(), line) {
		t.Error("a folded frame is shown")
	}
	b.Reset()
	if err := report.WriteText(&b, r, report.TextOptions{Native: true}); err != nil || !strings.Contains(b.String(), line) {
		t.Errorf("with Native, a folded frame is not shown (%v)", err)
	}
}

// A stubbed runtime names two frames as its own that only lead from call to call: the one that crashed, and its caller.
type stubbed struct{ toy }

func (*stubbed) Stretches(_ context.Context, _ unwind.ThreadID, frames []*unwind.Frame) (list []tasks.Stretch, err error) {
	for i := range min(2, len(frames)) {
		list = append(list, tasks.Stretch{From: i, To: i + 1, Named: true, Folded: true, Calls: []tasks.Call{{Language: "toy", Kind: tasks.CallJIT, Function: "stub" + strconv.Itoa(i)}}})
	}
	return list, nil
}

// TestFoldedNames: a runtime's own frame that only leads to a call is left out of the text, but not the crash's.
func TestFoldedNames(t *testing.T) {
	target, err := corewalk.Open(t.Context(), "testdata/cores/amd64-fiber/core.zst", corewalk.WithSysroot("testdata/sysroot/amd64"))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	find := func(p *tasks.Process) (tasks.Runtime, error) { return &stubbed{toy{p: p, stepper: &toyStepper{}}}, nil }
	r, err := target.AnalyzeWith(t.Context(), corewalk.FactsOptions{Runtimes: []tasks.Finder{find}}, corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *r.Crash.Frame != 0 || r.Threads[0].Frames[0].Folded || !r.Threads[0].Frames[1].Folded {
		t.Errorf("frame %d crashed; folded are %v, %v", *r.Crash.Frame, r.Threads[0].Frames[0].Folded, r.Threads[0].Frames[1].Folded)
	}
	for _, native := range []bool{false, true} {
		var b strings.Builder
		if err := report.WriteText(&b, r, report.TextOptions{Native: native}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "stub0") || strings.Contains(b.String(), "stub1") != native {
			t.Errorf("with Native %v:\n%s", native, b.String())
		}
	}
}
