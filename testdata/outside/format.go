package main

import (
	"context"
	"fmt"
	"io"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

// A format of its own: a line for each frame, with the arguments of the first one. The thread that crashed is written before the
// others are walked.
type lines struct {
	report.Whole
	w    io.Writer
	died int
}

// Shown implements report.Projection: the arguments of other frames are not read.
func (*lines) Shown(frames []report.Frame) []bool {
	shown := make([]bool, len(frames))
	shown[0] = true
	return shown
}

// Died is what a report.Projection may have besides.
func (l *lines) Died(r *report.Report) {
	l.died = r.Crash.Thread
	fmt.Fprintf(l.w, "%s: %s\n", r.Crash.Kind, r.Crash.Reason)
	l.thread(&r.Threads[0])
}

func (l *lines) thread(t *report.Thread) {
	for i, f := range t.Frames {
		fmt.Fprintf(l.w, "%d %s", i, f.Function)
		for _, v := range append(f.Args, f.Locals...) {
			fmt.Fprintf(l.w, " %s=%s", v.Name, v.Value)
		}
		fmt.Fprintln(l.w)
	}
}

// format reports on a core in that format.
func format(w io.Writer, core, dir string) error {
	target, err := corewalk.Open(context.Background(), core, corewalk.WithSearch(dir), corewalk.WithDebugDir(dir))
	if err != nil {
		return err
	}
	defer target.Close()
	l := &lines{w: w}
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsArgs, For: l})
	if err != nil {
		return err
	}
	for i := range r.Threads {
		if t := &r.Threads[i]; t.ID != l.died {
			l.thread(t)
		}
	}
	return nil
}
