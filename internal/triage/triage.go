// Package triage analyses many dumps and groups them by bug.
//
// A thin supervisor hands paths to one analysis process, which uses all processors and shares what it reads
// from modules' files (corewalk.Cache). If that process dies, hangs or runs out of memory, the dumps that it
// was analysing are tried again, each alone. The one that caused it is reported, and the run continues.
//
// Dumps come from a Source and results go to a ledger.Store. Both are small interfaces that can be replaced by
// other sources and stores, and by many machines.
package triage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os/exec"
	"time"

	"github.com/corewalk/corewalk/internal/files/broker"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/modules"
)

// A Source lists the dumps to analyse.
type Source interface {
	// Dumps lists the paths of files. An error concerns one place that cannot be read; the list continues after
	// it.
	Dumps(ctx context.Context) iter.Seq2[string, error]
}

// A Chooser is a Source that is asked about each dump before it is analysed, with the build of its program as the analysis process reads it;
// "" if that has no identifier. One that is not wanted has no result: the Chooser has left it to others. It is called for one dump at a time.
type Chooser interface {
	Source
	Wanted(path, build string) bool
}

// A Digester is a Source that knows digests of files: what it has digested is not read once more for that.
type Digester interface {
	Source
	// Digest is the SHA-256 of a file as it is, in hex; "" if it is not known.
	Digest(path string) string
}

// Options configure a run. Only Command is required.
type Options struct {
	// Command starts the analysis process, which must call Serve.
	Command []string
	Env     []string // added to the environment of the analysis process
	// Settings are passed to the Configure of the analysis process as JSON; nil for none.
	Settings any
	// Deadline is the time limit for one dump; 0 is DefaultDeadline.
	Deadline time.Duration
	// Jobs is how many dumps are analysed at the same time; 0 for one per processor.
	Jobs int
	Args string // description of the run in the store
	// Fresh says that the store knows no dumps, so that it need not be asked for each.
	Fresh bool
	// Files says which files are looked for, in words that only equal others: a dump whose signature is weak is analysed again with other ones.
	Files string
	// Endless says that the source ends with the context only: that interrupts nothing.
	Endless bool
	// Confinement confines the analysis process; nil for none.
	Confinement Confinement
	// Denied, if set, receives the path of each module whose file is there, but cannot be read in the
	// Confinement. Dumps name it: it may be anything.
	Denied func(path string)
	// Fetch fetches files for the analysis process; nil if that does so itself.
	Fetch *broker.Server

	grace time.Duration // 0 is the constant
}

// A Confinement starts the analysis process so that it can read only some files.
type Confinement interface {
	// Start starts the process; it can also read the dumps also.
	Start(cmd *exec.Cmd, also []string) error
	// Reaches reports whether the process can read a dump that is not in also.
	Reaches(path string) bool
}

// DefaultDeadline is the time limit for the analysis of one dump.
const DefaultDeadline = 60 * time.Second

// A Sink receives events, one call at a time. It receives a dump once the store has it for good.
type Sink interface {
	// Dump receives an analysed or failed dump; known says that it was seen before.
	Dump(d ledger.Dump, known bool)
	// Trouble receives an error about a place that cannot be read, or an analysis process that died.
	Trouble(err error)
	// Progress receives how many dumps are done, and how many have been found so far; all says that all have
	// been found.
	Progress(done, found int, all bool)
}

// A Result is what came of a run.
type Result struct {
	ledger.Run
	// Groups are the run's, as the store's RunGroups lists them; nil if the store has to be asked.
	Groups []ledger.Group
	// Unkept is what the analysis decompressed of packages' files and could not keep.
	Unkept []modules.Unkept
}

// Run analyses all dumps of src and stores the results in store. It ends when ctx is done: dumps that are then
// being analysed are left for another run, and nothing that sink received is lost. The error concerns the
// store, or an analysis process that cannot be started.
func Run(ctx context.Context, o Options, src Source, store ledger.Store, sink Sink) (Result, error) {
	if len(o.Command) == 0 {
		return Result{}, errors.New("triage: no command for the analysis process")
	}
	if o.Deadline <= 0 {
		o.Deadline = DefaultDeadline
	}
	o.grace = cmp.Or(o.grace, grace)
	settings, err := json.Marshal(o.Settings)
	if err != nil {
		return Result{}, fmt.Errorf("triage: settings of the analysis process: %w", err)
	}
	run, err := store.Begin(ctx, o.Args)
	if err != nil {
		return Result{Run: run}, err
	}
	b := newBatch(store, sink, run.ID)
	s := supervisor{opts: o, settings: settings, batch: b}
	s.chooser, _ = src.(Chooser)
	s.digester, _ = src.(Digester)
	defer s.unkept() // no process is left behind
	werr := s.work(ctx, src)
	if err := b.flush(); werr == nil {
		werr = err
	}
	var groups []ledger.Group
	if werr == nil {
		linked := ctx
		if o.Endless {
			linked = context.WithoutCancel(ctx)
		}
		groups, werr = link(linked, store, run.ID, o.Fresh)
	}
	// Finish the run even if it was interrupted.
	done, err := store.Finish(context.WithoutCancel(ctx), run.ID)
	if werr == nil {
		werr = err
	}
	if werr != nil && !errors.Is(werr, context.Canceled) {
		return Result{Run: done}, fmt.Errorf("triage: %w", werr)
	}
	return Result{done, groups, s.unkept()}, nil
}
