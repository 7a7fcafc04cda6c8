package main

import (
	"context"
	"math/rand/v2"
	"sync/atomic"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

// written counts what is written of one input, in bytes.
var written atomic.Uint64

// counter is where everything is written to. Workers do one input at a time.
type counter struct{}

func (counter) Write(b []byte) (int, error) {
	written.Add(uint64(len(b)))
	return len(b), nil
}

// service does what a service for dumps does: the report of everything that is in the dump, as data or as text or as
// both, and what is known before an analysis. It returns the report, nil if there is none.
func service(open func(opts ...corewalk.Option) (*corewalk.Target, error), rng *rand.Rand) *report.Report {
	return serviceWith(open, rng, corewalk.FactsOptions{})
}

// serviceWith is service for facts that are found out in another way.
func serviceWith(open func(opts ...corewalk.Option) (*corewalk.Target, error), rng *rand.Rand, how corewalk.FactsOptions) *report.Report {
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
		report.WriteInfoText(counter{}, in, report.TextOptions{})
		report.WriteInfoJSON(counter{}, in)
		report.WriteMissing(counter{}, in.Modules)
		for range t.Identity() {
		}
	}
	if err != nil {
		return nil
	}
	o := corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, For: report.Whole{Trees: true},
		Include: corewalk.Include{Source: 2, Code: true, Memory: true, Environment: corewalk.EnvironmentMasked, Details: true}}
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
		report.WriteText(counter{}, r, text)
	case 1:
		report.WriteJSON(counter{}, r)
	case 2:
		report.WriteStackwalk(counter{}, r)
	default:
		report.WriteText(counter{}, r, text)
		report.WriteJSON(counter{}, r)
		report.WriteStackwalk(counter{}, r)
	}
	signature.Of(r)
	return r
}
