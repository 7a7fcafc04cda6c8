package main

import (
	"context"
	"io"
	"math/rand/v2"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

// service does what a service for dumps does: the report of everything that is in the dump, as data or as text or as
// both, and what is known before an analysis. It returns the report, nil if there is none.
func service(open func(opts ...corewalk.Option) (*corewalk.Target, error), rng *rand.Rand) *report.Report {
	ctx := context.Background()
	var opts []corewalk.Option
	if rng.IntN(4) == 0 {
		opts = append(opts, corewalk.WithForceMismatched())
	}
	t, err := open(opts...)
	if t == nil {
		if err == nil {
			panic("neither a target nor an error")
		}
		_ = err.Error()
		return nil
	}
	defer t.Close()
	if err != nil || rng.IntN(3) == 0 {
		in := t.Info()
		report.WriteInfoText(io.Discard, in, report.TextOptions{})
		report.WriteInfoJSON(io.Discard, in)
		report.WriteMissing(io.Discard, in.Modules)
		for range t.Identity() {
		}
	}
	if err != nil {
		return nil
	}
	o := corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, For: report.Whole{Trees: true},
		Include: corewalk.Include{Source: 2, Code: true, Memory: true, Environment: corewalk.EnvironmentMasked, Details: true}}
	var how corewalk.FactsOptions
	switch rng.IntN(8) {
	case 0:
		how.Explain, how.Verify = true, true
	case 1:
		how.Values.Raw = true
	}
	r, err := t.AnalyzeWith(ctx, how, o)
	if err != nil {
		return nil
	}
	text := report.TextOptions{ShowRegisters: true, AllLocals: true, Explain: how.Explain}
	switch rng.IntN(4) {
	case 0:
		text = report.TextOptions{MaxFrames: 20, Color: true, Width: 60}
	case 1:
		text.Wide, text.Unfolded = true, true
	}
	switch rng.IntN(4) {
	case 0:
		report.WriteText(io.Discard, r, text)
	case 1:
		report.WriteJSON(io.Discard, r)
	case 2:
		report.WriteStackwalk(io.Discard, r)
	default:
		report.WriteText(io.Discard, r, text)
		report.WriteJSON(io.Discard, r)
		report.WriteStackwalk(io.Discard, r)
	}
	signature.Of(r)
	return r
}
