package triage

import (
	"context"
	"os"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/signature"
)

// Row returns the result for one dump, t, which is in the file f, with the report for the case that it is the first of its
// group. path is where the dump will be found.
func Row(ctx context.Context, t *corewalk.Target, f *os.File, path string) ledger.Dump {
	st, err := f.Stat()
	if err != nil {
		d := newDump(path, identity{})
		fault(&d, path, err)
		return d
	}
	id, _, err := identifyFile(f, st, func() (*corewalk.Target, error) { return t, nil })
	d := newDump(path, id)
	if err == nil {
		a := analysis{names: new(signature.Cache), full: func(*signature.Signature) bool { return true }, likely: true}
		_, err = a.analyze(ctx, t, &d)
	}
	if err != nil {
		fault(&d, path, err)
	}
	texts(&d)
	return d
}

// Died returns the result for a dump whose analysis ended without one.
func Died(path, kind, why string) ledger.Dump { return died(path, kind, why) }

// Enter stores results that were made elsewhere, as one run.
func Enter(ctx context.Context, store ledger.Store, args string, dumps []ledger.Dump) error {
	run, err := store.Begin(ctx, args)
	if err != nil {
		return err
	}
	if err := store.Add(ctx, run.ID, dumps); err != nil {
		return err
	}
	if _, err := link(ctx, store, run.ID, false); err != nil {
		return err
	}
	_, err = store.Finish(ctx, run.ID)
	return err
}
