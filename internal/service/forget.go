package service

import (
	"context"
	"errors"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// A Retention says which dumps of each project are kept. What the ledger knows of the others stays.
type Retention struct {
	Age      time.Duration // 0 for ever
	PerGroup int           // of each group the newest; 0 for all
	Bytes    int64         // the newest, of so many bytes in all; 0 for all
}

// retainAgain is how often it is looked whether there are too many dumps.
const retainAgain = 5 * time.Minute

// every is how often dumps are removed; 0 for never.
func (r *Retention) every() time.Duration {
	age := min(time.Hour, max(r.Age/10, time.Second))
	switch {
	case r.PerGroup > 0 || r.Bytes > 0:
		if r.Age > 0 {
			return min(age, retainAgain)
		}
		return retainAgain
	case r.Age > 0:
		return age
	}
	return 0
}

// forget removes dumps that are not to be kept, now and then.
func (s *Service) forget(ctx context.Context) {
	every := s.c.Keep.every()
	if every == 0 {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := s.forgetOnce(ctx, time.Now()); err != nil && ctx.Err() == nil {
			s.c.Log.Error("dumps that are not to be kept are not removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// forgetAtOnce is how many dumps are removed in one transaction.
const forgetAtOnce = 100

func (s *Service) forgetOnce(ctx context.Context, now time.Time) error {
	keep := store.Retention{PerGroup: s.c.Keep.PerGroup, Bytes: s.c.Keep.Bytes}
	if s.c.Keep.Age > 0 {
		keep.After = now.Add(-s.c.Keep.Age)
	}
	projects, err := s.c.Store.Projects(ctx)
	if err != nil {
		return err
	}
	for _, p := range projects {
		for {
			list, err := s.c.Store.Forget(ctx, p, keep, forgetAtOnce)
			if err != nil {
				return err
			}
			for i := range list {
				if err := s.removeFiles(ctx, &list[i]); err != nil {
					return err
				}
			}
			s.metrics.add("corewalk_forgotten_total", int64(len(list)))
			if len(list) < forgetAtOnce {
				break
			}
		}
	}
	return nil
}

// removeFiles removes the files of a dump that is not stored any more.
func (s *Service) removeFiles(ctx context.Context, u *store.Upload) error {
	s.sessions.drop(u.Project, u.ID)
	err := s.c.Objects.Remove(ctx, dumpKey(u))
	for _, a := range u.Attachments {
		err = errors.Join(err, s.c.Objects.Remove(ctx, attachmentKey(u.Project, u.ID, a.SHA256)))
	}
	return err
}
