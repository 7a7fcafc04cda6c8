package systemtest

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// A watcher is a stepper that finds no frame. It calls see with each frame.
type watcher struct{ see func(in *unwind.Frame) }

func (w *watcher) CallerFrame(in, _ *unwind.Frame) unwind.Status {
	w.see(in)
	return unwind.StatusNotMe
}
func (*watcher) Priority() uint32 { return 0 }
func (*watcher) Name() string     { return "watcher" }

// The crashed thread is written before the second thread is walked, and the whole is what it would be otherwise.
func TestFirstThreadFirst(t *testing.T) {
	for _, name := range []string{"amd64-thread-crash", "amd64-threads"} {
		target := openCase(t, fixture.Get(t, name))
		crashed, err := target.ProcessState().DefaultThread()
		if err != nil {
			t.Fatal(err)
		}
		opts := report.TextOptions{AllLocals: true}
		var out bytes.Buffer
		text := report.NewTextWriter(&out, opts)
		others := 0
		facts := watchedFacts(t, target, func(in *unwind.Frame) {
			if in.Thread() != crashed && in.IsTopFrame() {
				if others++; !strings.Contains(out.String(), ", crashed\n") || !strings.Contains(out.String(), "#0 ") {
					t.Fatalf("%s: thread %d is walked when only this is written:\n%s", name, in.Thread(), out.String())
				}
			}
		})
		r, err := facts.Analyze(context.Background(), corewalk.AnalyzeOptions{For: text})
		if err != nil {
			t.Fatal(err)
		}
		if err := text.Finish(r); err != nil {
			t.Fatal(err)
		}
		if others == 0 {
			t.Errorf("%s: no other thread was walked", name)
		}
		whole, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := report.WriteText(&want, whole, opts); err != nil {
			t.Fatal(err)
		}
		if out.String() != want.String() {
			t.Errorf("%s: written in two parts:\n%s\nat once:\n%s", name, out.String(), want.String())
		}
	}
}

// watchedFacts are those of a target in which saw is called with each frame whose caller is looked for.
func watchedFacts(t *testing.T, target *corewalk.Target, saw func(*unwind.Frame)) *corewalk.Facts {
	t.Helper()
	facts, err := target.Facts(corewalk.FactsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(facts.Close)
	if err := facts.Walker().AddStepper(&watcher{saw}); err != nil {
		t.Fatal(err)
	}
	return facts
}

// A deadline that ends while the second thread is walked leaves the crashed thread, and a line that says so.
func TestDeadlineAfterFirst(t *testing.T) {
	target := openCase(t, fixture.Get(t, "amd64-threads"))
	crashed, _ := target.ProcessState().DefaultThread()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	facts := watchedFacts(t, target, func(in *unwind.Frame) {
		if in.Thread() != crashed {
			cancel(context.DeadlineExceeded)
			time.Sleep(time.Millisecond)
		}
	})
	r, err := facts.Analyze(ctx, corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report.WriteText(&out, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{", crashed\n", "Analysis stopped after 2 of 51 threads"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " ")+"\n"+out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
