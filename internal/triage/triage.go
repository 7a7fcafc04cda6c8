// Package triage analyses many dumps and groups them by bug.
//
// A thin supervisor hands paths to one analysis process, which works on all
// processors and shares what it reads of modules' files (corewalk.Cache). If that
// process dies, hangs or runs out of memory, the dumps that were in work are tried
// again, each alone; the one that did it is reported, and the run goes on.
//
// Dumps come from a Source and results go to a ledger.Store: both are small
// interfaces, so that other sources and stores, and many machines, can take their
// places.
package triage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// A Source tells which dumps are to be looked at.
type Source interface {
	// Dumps lists the paths of files. An error is about one place that cannot be
	// looked at; what comes after it still counts.
	Dumps(ctx context.Context) iter.Seq2[string, error]
}

// Options say how to work. The zero Options are usable but for Command.
type Options struct {
	// Command starts the analysis process, which must call Serve.
	Command []string
	Env     []string // added to the environment of the analysis process
	// Deadline is how long one dump may take; 0 is DefaultDeadline.
	Deadline time.Duration
	// Jobs is how many dumps are in work at a time; 0 for one for each processor.
	Jobs int
	Args string // what to call the run in the store
	// Fresh says that the store knows no dumps, so that it is not asked for each.
	Fresh bool
}

// DefaultDeadline is how long the analysis of one dump may take.
const DefaultDeadline = 60 * time.Second

// A Sink is told what happens, one call at a time. Dumps are told only when the store
// has them for good.
type Sink interface {
	// Dump is an analysed or failed dump; known says that it was seen before.
	Dump(d ledger.Dump, known bool)
	// Trouble is a place that cannot be looked at, or an analysis process that died.
	Trouble(err error)
	// Progress tells how many dumps are done, and how many there are as far as is
	// known; all says that all are.
	Progress(done, found int, all bool)
}

// Run looks at all dumps of src and keeps the results in store. It ends when ctx is
// done: what is in work then is left for another time, and nothing that was told to
// sink is lost. The error is about the store, or about an analysis process that
// cannot be started at all.
func Run(ctx context.Context, o Options, src Source, store ledger.Store, sink Sink) (ledger.Run, error) {
	if len(o.Command) == 0 {
		return ledger.Run{}, errors.New("triage: no command for the analysis process")
	}
	if o.Deadline <= 0 {
		o.Deadline = DefaultDeadline
	}
	run, err := store.Begin(ctx, o.Args)
	if err != nil {
		return run, err
	}
	b := newBatch(store, sink, run.ID)
	s := supervisor{opts: o, batch: b}
	werr := s.work(ctx, src)
	if err := b.flush(); werr == nil {
		werr = err
	}
	if werr == nil {
		werr = link(ctx, store, run.ID)
	}
	// The run is ended also where it was broken off.
	done, err := store.Finish(context.WithoutCancel(ctx), run.ID)
	if werr == nil {
		werr = err
	}
	if werr != nil && !errors.Is(werr, context.Canceled) {
		return done, fmt.Errorf("triage: %w", werr)
	}
	return done, nil
}
