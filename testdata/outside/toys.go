package main

import (
	"context"
	"io"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// toys reports on a core whose program may have toys in it.
func toys(w io.Writer, core string) error {
	target, err := corewalk.Open(context.Background(), core)
	if err != nil {
		return err
	}
	defer target.Close()
	r, err := target.AnalyzeWith(context.Background(), corewalk.FactsOptions{Runtimes: []tasks.Finder{findToy}}, corewalk.AnalyzeOptions{})
	if err != nil {
		return err
	}
	return report.WriteText(w, r, report.TextOptions{})
}
