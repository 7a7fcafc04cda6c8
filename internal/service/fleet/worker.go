package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	ledgerDB "github.com/corewalk/corewalk/internal/triage/ledger/postgres"
)

// Options configure a Worker. All of it is required.
type Options struct {
	Name  string        // of this process among all; without a slash
	Jobs  int           // dumps that wait here, are being analysed, or whose results are being entered
	Limit time.Duration // for one dump, with all attempts to analyse it
	Log   *slog.Logger
}

// A Worker is the store.Store of a process that analyses dumps: Take gives what River's jobs allow.
type Worker struct {
	*Store
	o      Options
	client *river.Client[pgx.Tx]

	mu    sync.Mutex // guards what is below; no other lock is taken inside
	tell  func()
	free  map[string][]*permit // by project
	bound map[key]*permit
	taken int      // how many were taken
	hints []string // builds whose files are here, and what senders said of them: of those taken last, the newest last
	gone  []string // those that were forgotten, and of which the database has not been told
	lost  map[key]bool
}

type key struct{ project, id string }

// A permit is a job of River's that runs: it allows to take one upload.
type permit struct {
	ctx  context.Context
	job  *river.Job[waits]
	done chan struct{} // closed when the job is over
}

// NewWorker returns the store of a worker. Run does its work.
func NewWorker(s *Store, o Options) (*Worker, error) {
	w := &Worker{Store: s, o: o, tell: func() {}, free: map[string][]*permit{}, bound: map[key]*permit{}}
	workers := river.NewWorkers()
	river.AddWorker(workers, &runs{w: w})
	var err error
	w.client, err = river.NewClient(riverpgxv5.New(s.pool), &river.Config{
		ID: o.Name, Logger: s.log, Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: o.Jobs}, queueOf(o.Name): {MaxWorkers: o.Jobs}},
		FetchPollInterval: s.poll, JobTimeout: o.Limit, RescueStuckJobsAfter: o.Limit + time.Minute, CompletedJobRetentionPeriod: time.Hour,
	})
	return w, err
}

// Tell sets who is told that a dump may be taken.
func (w *Worker) Tell(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell = f
}

// Run takes jobs until ctx is done.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.DB.Beat(ctx, w.o.Name, 10*w.silent); err != nil {
		return err
	}
	if err := w.client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	tick := time.NewTicker(w.silent / 5)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			w.beat(ctx)
		case <-ctx.Done():
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return errors.Join(w.client.StopAndCancel(end), w.DB.Leave(end, w.o.Name))
}

// beat says that this worker is alive, takes back what dead ones have, and gives back what it has itself and does not know of: the
// database did not answer when that should have been given back.
func (w *Worker) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, w.silent)
	defer cancel()
	err := w.DB.Beat(ctx, w.o.Name, 10*w.silent)
	if err == nil {
		var n int
		if n, err = w.Recover(ctx); n > 0 {
			w.o.Log.Warn("a worker died: what it had is analysed again", "dumps", n)
		}
	}
	if err == nil {
		err = w.giveUp(ctx)
	}
	if err == nil {
		err = w.forget(ctx)
	}
	if err != nil && ctx.Err() == nil {
		w.o.Log.Error("the database does not answer", "error", err)
	}
}

// forget tells the database of which builds the files may not be here any more.
func (w *Worker) forget(ctx context.Context) error {
	w.mu.Lock()
	gone := slices.DeleteFunc(w.gone, func(s string) bool { return slices.Contains(w.hints, s) })
	w.gone = nil
	w.mu.Unlock()
	if len(gone) == 0 {
		return nil
	}
	err := w.DB.Without(ctx, w.o.Name, gone)
	if err != nil {
		w.mu.Lock()
		w.gone = append(w.gone, gone...)
		w.mu.Unlock()
	}
	return err
}

// giveUp gives back what the database says that this worker has, and it does not.
func (w *Worker) giveUp(ctx context.Context) error {
	has, err := w.DB.Has(ctx, w.o.Name+"/")
	lost := map[key]bool{}
	for i := range has {
		k := key{has[i].Project, has[i].ID}
		w.mu.Lock()
		known, before := w.bound[k] != nil, w.lost[k]
		w.mu.Unlock()
		switch {
		case known:
		case before && err == nil: // it was not being taken just then
			err = w.GiveBack(ctx, k.project, k.id, "the database did not answer")
		default:
			lost[k] = true
		}
	}
	w.mu.Lock()
	w.lost = lost
	w.mu.Unlock()
	return err
}

// runs has River run the jobs of a Worker.
type runs struct {
	river.WorkerDefaults[waits]
	w *Worker
}

// NextRetry implements river.Worker.
func (r *runs) NextRetry(*river.Job[waits]) time.Time { return time.Now().Add(r.w.retry) }

// Work implements river.Worker. A job is over when an upload that was taken with it is, or when there is none.
func (r *runs) Work(ctx context.Context, job *river.Job[waits]) error {
	w := r.w
	p := &permit{ctx: ctx, job: job, done: make(chan struct{})}
	w.mu.Lock()
	w.free[job.Args.Project] = append(w.free[job.Args.Project], p)
	tell := w.tell
	w.mu.Unlock()
	tell()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	case <-time.After(w.reserve()):
		if w.withdraw(p) { // this worker has no time for it: others may have
			return w.handOn(ctx, job)
		}
		select {
		case <-p.done:
			return nil
		case <-ctx.Done():
		}
	}
	if w.withdraw(p) { // nothing was taken with it
		return river.JobSnooze(0)
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return w.late(p)
	}
	// This process ends: its analysis gives back what it has.
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
	}
	return nil
}

// handOn gives a job that this worker has not used to one that is alive and has fewer, else back to the queue. Put back without a name, it might
// come here again and again: workers ask for jobs every second, and the one that asks first gets all.
func (w *Worker) handOn(ctx context.Context, job *river.Job[waits]) error {
	to, err := w.idler(ctx)
	switch {
	case err != nil || to == "" && job.Args.Build == "":
		return river.JobSnooze(0) // beat tells of a database that does not answer
	case to == "":
		to = river.QueueDefault
	}
	return w.again(ctx, func(tx pgx.Tx) error {
		_, err := w.insert.InsertTx(ctx, tx, waits{Project: job.Args.Project}, &river.InsertOpts{Queue: to})
		return errors.Join(err, completed(ctx, tx, job))
	})
}

// idler returns the queue of the worker that has the fewest jobs, running or waiting for it alone, if they are at least two fewer than this one has.
func (w *Worker) idler(ctx context.Context) (queue string, err error) {
	names, err := w.DB.Alive(ctx, w.silent)
	if err != nil {
		return "", err
	}
	queues := make([]string, len(names))
	for i, name := range names {
		queues[i] = queueOf(name)
	}
	rows, err := w.pool.Query(ctx, `SELECT w.name, w.queue, (SELECT count(*) FROM river_job WHERE kind = $1 AND state = 'running' AND attempted_by[array_length(attempted_by, 1)] = w.name)
			+ (SELECT count(*) FROM river_job WHERE kind = $1 AND state = 'available' AND queue = w.queue) AS jobs
		FROM unnest($2::text[], $3::text[]) AS w (name, queue) ORDER BY jobs, random()`, waits{}.Kind(), names, queues)
	if err != nil {
		return "", err
	}
	var name, of string
	var jobs, fewest, own int
	first := true
	_, err = pgx.ForEachRow(rows, []any{&name, &of, &jobs}, func() error {
		if first {
			queue, fewest, first = of, jobs, false
		}
		if name == w.o.Name {
			own = jobs
		}
		return nil
	})
	if fewest+2 > own {
		queue = ""
	}
	return queue, err
}

// own reports whether a permit is for one upload of a build, which others have left to this worker.
func (p *permit) own() bool { return p.job.Args.Build != "" }

// withdraw takes back a permit that nobody has used.
func (w *Worker) withdraw(p *permit) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.free[p.job.Args.Project]
	i := slices.Index(list, p)
	if i < 0 {
		return false
	}
	w.free[p.job.Args.Project] = slices.Delete(list, i, i+1)
	return true
}

// late ends an upload's attempt that takes too long.
func (w *Worker) late(p *permit) error {
	w.mu.Lock()
	var k key
	for at, b := range w.bound {
		if b == p {
			k = at
		}
	}
	delete(w.bound, k)
	w.mu.Unlock()
	if k.id == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), time.Minute)
	defer cancel()
	why := fmt.Sprintf("its analysis did not end within %s", w.o.Limit)
	w.o.Log.Error("a dump takes too long", "project", k.project, "dump", k.id, "limit", w.o.Limit)
	return w.again(ctx, func(tx pgx.Tx) error {
		u, err := w.DB.In(tx).Late(ctx, k.project, k.id, why)
		if err == nil && u.State == store.Waiting {
			err = w.enqueue(ctx, tx, k.project, time.Time{})
		}
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
}

// maxHints is how many builds a worker remembers to have the files of, in memory or on disk.
const maxHints = 64

// fair is how often the oldest dump is taken, whatever its build.
const fair = 4

// Take implements store.Store.
func (w *Worker) Take(ctx context.Context, worker, project string) (store.Upload, error) {
	for {
		w.mu.Lock()
		list := w.free[project]
		if len(list) == 0 {
			w.mu.Unlock()
			return store.Upload{}, store.ErrNone
		}
		p := list[0]
		w.free[project] = list[1:]
		w.taken++
		hints := slices.Clone(w.hints)
		byAge := w.taken%fair == 0
		w.mu.Unlock()
		u, err := store.Upload{}, error(store.ErrNone)
		if p.own() {
			u, err = w.DB.TakeOf(ctx, worker, project, []string{p.job.Args.Build})
		}
		if errors.Is(err, store.ErrNone) && !byAge && len(hints) > 0 {
			u, err = w.DB.TakeOf(ctx, worker, project, hints)
		}
		if errors.Is(err, store.ErrNone) {
			u, err = w.DB.Take(ctx, worker, project)
		}
		switch {
		case err == nil:
			w.bind(u, p)
			return u, nil
		case errors.Is(err, store.ErrNone):
			var left bool
			if left, err = w.DB.Waits(ctx, project); err == nil && !left { // what the job was for has been taken with another, or is done
				close(p.done)
				continue
			}
			if err == nil {
				err = store.ErrNone // those that wait are reserved for others, or others have their rows for a moment: they may not take them
			}
		}
		w.mu.Lock()
		w.free[project] = append(w.free[project], p)
		w.mu.Unlock()
		return u, err
	}
}

func (w *Worker) bind(u store.Upload, p *permit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bound[key{u.Project, u.ID}] = p
}

// remember notes what is known of the build of an upload that is analysed here: its files will be here.
func (w *Worker) remember(u *store.Upload, build string) {
	for _, h := range []string{store.Hint(u), build} {
		if h != "" {
			w.hints = append(slices.DeleteFunc(w.hints, func(s string) bool { return s == h }), h)
		}
	}
	if n := len(w.hints) - maxHints; n > 0 {
		w.gone = append(w.gone, w.hints[:n]...)
		w.hints = slices.Clone(w.hints[n:])
	}
}

// crowd is how many dumps wait for the workers who have the files of their build until another gets the files, too: so many are always there for
// a worker that is not idle, and few of them are enough.
const crowd = 16

// Wanted decides whether this worker analyses an upload that it has taken, now that its build is known: see work.Config. If not, the upload, its job
// and its new job for another worker change in one transaction.
func (w *Worker) Wanted(ctx context.Context, u *store.Upload, build string) bool {
	w.mu.Lock()
	has := build == "" || slices.Contains(w.hints, build)
	if has {
		w.remember(u, build)
	}
	w.mu.Unlock()
	if has {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var to string
	err := pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) (err error) {
		db := w.DB.In(tx)
		if to, err = db.Place(ctx, w.o.Name, u.Project, u.ID, build, w.silent, crowd); err != nil || to == w.o.Name {
			return err
		}
		if err := db.Pass(ctx, u.Project, u.ID, build, w.reserve()); err != nil {
			return err
		}
		if _, err := w.insert.InsertTx(ctx, tx, waits{Project: u.Project, Build: build}, &river.InsertOpts{Queue: queueOf(to)}); err != nil {
			return err
		}
		return w.complete(ctx, tx, u.Project, u.ID)
	})
	if err != nil || to == w.o.Name {
		if err != nil {
			w.o.Log.Warn("no worker can be chosen for a dump: this one analyses it", "project", u.Project, "dump", u.ID, "error", err)
			return true
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.remember(u, build)
		return true
	}
	w.o.Log.Info("left to a worker that has its files", "project", u.Project, "dump", u.ID, "build", build, "worker", to)
	w.release(u.Project, u.ID)
	return false
}

func (w *Worker) permitOf(project, id string) *permit {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bound[key{project, id}]
}

// release ends the jobs of uploads.
func (w *Worker) release(project string, ids ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		k := key{project, id}
		if p := w.bound[k]; p != nil {
			delete(w.bound, k)
			close(p.done)
		}
	}
}

// complete marks the job of an upload as done, as a part of a transaction.
func (w *Worker) complete(ctx context.Context, tx pgx.Tx, project, id string) error {
	p := w.permitOf(project, id)
	if p == nil {
		return nil // its time was over, or its worker was thought dead
	}
	return completed(context.WithoutCancel(p.ctx), tx, p.job)
}

// completed marks a job that runs as done, as a part of a transaction.
func completed(ctx context.Context, tx pgx.Tx, job *river.Job[waits]) error {
	_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
	if errors.Is(err, river.ErrNotFound) { // it has been removed from the queue
		return nil
	}
	return err
}

// Finish implements store.Store.
func (w *Worker) Finish(ctx context.Context, project, id string, r store.Result) error {
	err := w.again(ctx, func(tx pgx.Tx) error {
		return errors.Join(w.DB.In(tx).Finish(ctx, project, id, r), w.complete(ctx, tx, project, id))
	})
	w.release(project, id)
	return err
}

// GiveBack implements store.Store. The upload waits a moment, longer each time.
func (w *Worker) GiveBack(ctx context.Context, project, id, why string) error {
	defer w.release(project, id)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // giveUp does it otherwise
	defer cancel()
	return w.again(ctx, func(tx pgx.Tx) error {
		db := w.DB.In(tx)
		u, err := db.Upload(ctx, project, id)
		if err != nil {
			return err
		}
		if err := db.GiveBack(ctx, project, id, why); err != nil {
			return err
		}
		var from time.Time
		if u.Attempts > 1 {
			from = time.Now().Add(min(time.Duration(u.Attempts)*time.Second, time.Minute))
		}
		return errors.Join(w.enqueue(ctx, tx, project, from), w.complete(ctx, tx, project, id))
	})
}

// Enter enters dumps in a project's ledger, what came of their uploads in their rows, and ends their jobs: all or none. It goes on for as long
// as the database does not answer: see work.Config.
func (w *Worker) Enter(ctx context.Context, project string, run int64, dumps []ledger.Dump, of []store.Finished) error {
	err := w.again(ctx, func(tx pgx.Tx) error {
		var before string
		if err := tx.QueryRow(ctx, "SELECT current_setting('search_path')").Scan(&before); err != nil {
			return err
		}
		path := "SELECT set_config('search_path', $1, true)"
		if _, err := tx.Exec(ctx, path, pgx.Identifier{Ledger(project)}.Sanitize()); err != nil {
			return err
		}
		if err := ledgerDB.AddTx(ctx, tx, run, dumps); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, path, before); err != nil {
			return err
		}
		if err := w.DB.In(tx).FinishAll(ctx, project, of); err != nil {
			return err
		}
		for i := range of {
			if err := w.complete(ctx, tx, project, of[i].ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("results cannot be stored: %w", err)
	}
	for i := range of {
		w.release(project, of[i].ID)
	}
	return nil
}
