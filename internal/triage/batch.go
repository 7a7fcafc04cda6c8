package triage

import (
	"context"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// A batch collects results, so that the store is written a few times a second instead of once per dump.
type batch struct {
	store ledger.Store
	sink  Sink
	run   int64

	mu      sync.Mutex
	dumps   []ledger.Dump
	known   []bool
	since   time.Time // when the oldest of dumps was added
	done    int
	found   int
	all     bool
	failure error // of the store; nothing is stored after it
}

// Limits of a batch.
const (
	batchDumps = 64
	batchTime  = 200 * time.Millisecond
)

func newBatch(store ledger.Store, sink Sink, run int64) *batch {
	return &batch{store: store, sink: sink, run: run}
}

// add adds the result of one dump.
func (b *batch) add(d ledger.Dump, known bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.dumps) == 0 {
		b.since = time.Now()
	}
	b.dumps = append(b.dumps, d)
	b.known = append(b.known, known)
	if len(b.dumps) < batchDumps && time.Since(b.since) < batchTime {
		return b.failure
	}
	return b.keep()
}

// flush stores what was collected.
func (b *batch) flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.keep()
}

// overdue stores results that have waited long enough.
func (b *batch) overdue() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.dumps) == 0 || time.Since(b.since) < batchTime {
		return b.failure
	}
	return b.keep()
}

func (b *batch) keep() error {
	if len(b.dumps) == 0 || b.failure != nil {
		return b.failure
	}
	// Results are stored even when the run is being interrupted.
	if b.failure = b.store.Add(context.Background(), b.run, b.dumps); b.failure != nil {
		return b.failure
	}
	for i, d := range b.dumps {
		b.sink.Dump(d, b.known[i])
	}
	b.done += len(b.dumps)
	b.dumps, b.known = b.dumps[:0], b.known[:0]
	b.sink.Progress(b.done, b.found, b.all)
	return nil
}

// count records how many dumps there are.
func (b *batch) count(n int, all bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.found += n
	b.all = b.all || all
}

// trouble reports an error that concerns no dump.
func (b *batch) trouble(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sink.Trouble(err)
}
