package ask

import (
	"cmp"
	"context"
	"slices"

	"github.com/corewalk/corewalk/internal/service/question"
	"github.com/corewalk/corewalk/report"
)

// modules lists the modules: those that lack something first, of these the program.
func (sv *server) modules(ctx context.Context, q *question.Question, a *question.Answer) error {
	r, err := sv.s.Summary(ctx)
	if err != nil {
		return err
	}
	order := make([]*report.Module, len(r.Modules))
	for i := range r.Modules {
		order[i] = &r.Modules[i]
	}
	slices.SortStableFunc(order, func(x, y *report.Module) int {
		return cmp.Or(first(len(x.Wanted()) > 0, len(y.Wanted()) > 0), first(x.Main, y.Main))
	})
	order = order[min(q.First, len(order)):]
	if a.More = len(order) > q.Count; a.More {
		order = order[:q.Count]
	}
	for _, m := range order {
		out := question.Module{Path: report.Clean(m.Path), Base: m.Base.String(), ID: report.Clean(cmp.Or(m.BuildID, m.DebugID, m.GoBuildID)), Version: report.Clean(m.Version), Status: m.Status, Symbols: m.Symbols, Main: m.Main}
		out.Wanted = m.StorePaths()
		a.Modules = append(a.Modules, out)
	}
	return nil
}

// first orders what is so before what is not.
func first(x, y bool) int {
	switch {
	case x && !y:
		return -1
	case y && !x:
		return 1
	}
	return 0
}
