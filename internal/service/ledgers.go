package service

import (
	"context"
	"errors"
	"sync"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// ledgers are those of the projects, opened when they are asked for first.
type ledgers struct {
	open func(ctx context.Context, project string) (ledger.Store, error)

	mu   sync.Mutex // held while a ledger is opened or closed, and guards list; a ledger's own locks are taken inside
	list map[string]ledger.Store
}

func (l *ledgers) get(ctx context.Context, project string) (ledger.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.list[project]; s != nil {
		return s, nil
	}
	s, err := l.open(ctx, project)
	if err != nil {
		return nil, err
	}
	if l.list == nil {
		l.list = map[string]ledger.Store{}
	}
	l.list[project] = s
	return s, nil
}

func (l *ledgers) close() error {
	l.mu.Lock()
	list := l.list
	l.list = nil
	l.mu.Unlock()
	var errs []error
	for _, s := range list {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
