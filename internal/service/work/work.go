// Package work has the dumps that wait in a store analysed, project by project, and enters them in the project's ledger.
package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// Config says what a Worker works with. All of it is required but Enter, Wanted, Hash, Idle, AtOnce, Ahead and Counted.
type Config struct {
	Name    string // of this worker among others
	Store   store.Store
	Objects objects.Store
	// Key returns the key of an upload's file.
	Key    func(u *store.Upload) string
	Ledger func(ctx context.Context, project string) (ledger.Store, error)
	// Run is triage.Run with the options for a project.
	Run func(ctx context.Context, project string, src triage.Source, to ledger.Store, sink triage.Sink) error
	// Enter, if set, enters the results of dumps in a project's ledger, for a run of it, and in Store what came of their uploads,
	// together. Without it the ledger has them first, and uploads whose results do not get into Store are analysed again.
	Enter func(ctx context.Context, project string, run int64, dumps []ledger.Dump, of []store.Finished) error
	// Wanted, if set, is asked about each upload when the build of its program is known, before it is analysed. If it says no, it has given the
	// upload to others. One that is analysed alone is not asked about.
	Wanted func(ctx context.Context, u *store.Upload, build string) bool
	// Hash, if set, makes of an identifier of a machine what is kept of it.
	Hash func(ctx context.Context, project, id string) string
	Log  *slog.Logger
	// Idle is how long the analysis processes of a project wait for more dumps; 0 for 20 s. What they read from binaries is
	// shared as long as they live.
	Idle time.Duration
	// Age is how long the analysis processes of a project live at most, but for what they have begun; 0 for 5 minutes. They remember which files there were not:
	// what another process stores is found by the next ones. Renew tells of what this one stores.
	Age time.Duration
	// AtOnce is how many projects have analysis processes at the same time; 0 for 4.
	AtOnce int
	// Ahead is how many files are fetched at a time for one project; 0 for 1.
	Ahead int
	// Counted is told of each dump whether it could be analysed, and how long it took from being taken.
	Counted func(analysed bool, took time.Duration)
}

// A Worker analyses dumps.
type Worker struct {
	c     Config
	more  chan struct{}
	slots chan struct{}

	mu      sync.Mutex               // held while a dump is taken in the store, whose locks are taken inside, and guards busy
	busy    map[string]chan struct{} // projects with analysis processes; what is sent there tells of another dump
	running sync.WaitGroup

	files  sync.Mutex     // guards stored; no other lock is taken inside
	stored map[string]int // how often files came for the dumps of a project
}

// poll is how often the store is asked though nobody told of a dump: another process may have stored one.
const poll = 2 * time.Second

// New returns a worker.
func New(c Config) *Worker {
	if c.Idle <= 0 {
		c.Idle = 20 * time.Second
	}
	if c.Age <= 0 {
		c.Age = 5 * time.Minute
	}
	if c.AtOnce <= 0 {
		c.AtOnce = 4
	}
	c.Ahead = max(c.Ahead, 1)
	if c.Counted == nil {
		c.Counted = func(bool, time.Duration) {}
	}
	return &Worker{c: c, more: make(chan struct{}, 1), slots: make(chan struct{}, c.AtOnce), busy: map[string]chan struct{}{}, stored: map[string]int{}}
}

// Renew tells that files came with which dumps of a project are analysed: those that are taken from now on are analysed by processes that look for them.
func (w *Worker) Renew(project string) {
	w.files.Lock()
	defer w.files.Unlock()
	w.stored[project]++
}

// renewals is how often Renew was called for a project.
func (w *Worker) renewals(project string) int {
	w.files.Lock()
	defer w.files.Unlock()
	return w.stored[project]
}

// Tell tells the worker that a dump waits.
func (w *Worker) Tell() { signal(w.more) }

// name is by whom the dumps of a project are taken: they are analysed together.
func (w *Worker) name(project string) string { return w.c.Name + "/" + project }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run works until ctx is done. Dumps whose analysis has begun then are given back. The error concerns the store.
func (w *Worker) Run(ctx context.Context) error {
	defer w.running.Wait()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		select {
		case w.slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		u, err := w.next(ctx)
		switch {
		case err == nil:
			w.begin(ctx, u)
			continue
		case errors.Is(err, store.ErrNone):
		case ctx.Err() != nil:
		default:
			w.c.Log.Error("no dump can be taken", "error", err)
		}
		<-w.slots
		select {
		case <-w.more:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// next takes a dump of a project that has no analysis processes, and tells those that have some of others.
func (w *Worker) next(ctx context.Context) (store.Upload, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	projects, err := w.c.Store.Projects(ctx)
	if err != nil {
		return store.Upload{}, err
	}
	for _, p := range projects {
		if c := w.busy[p]; c != nil {
			signal(c)
			continue
		}
		u, err := w.c.Store.Take(ctx, w.name(p), p)
		if !errors.Is(err, store.ErrNone) {
			if err == nil {
				w.busy[p] = make(chan struct{}, 1)
			}
			return u, err
		}
	}
	return store.Upload{}, store.ErrNone
}

// begin analyses a dump and those of its project that come after it.
func (w *Worker) begin(ctx context.Context, first store.Upload) {
	w.mu.Lock()
	more := w.busy[first.Project]
	w.mu.Unlock()
	w.running.Go(func() {
		defer func() {
			w.mu.Lock()
			delete(w.busy, first.Project)
			w.mu.Unlock()
			<-w.slots
			w.Tell()
		}()
		r := &run{w: w, ctx: ctx, project: first.Project, more: more, began: time.Now(), renewals: w.renewals(first.Project), next: &first, done: make(chan struct{}, 1), taken: map[string]*taken{}}
		defer r.giveBack()
		to, err := w.c.Ledger(ctx, first.Project)
		if err == nil {
			to = together{to, r}
			var src triage.Source = r
			if w.c.Wanted != nil {
				src = choosing{r}
			}
			err = w.c.Run(ctx, first.Project, src, to, r)
		}
		if err != nil && ctx.Err() == nil {
			r.failure = err
			w.c.Log.Error("the analysis cannot go on", "project", first.Project, "error", err)
			select { // what is wrong will not be right at once
			case <-ctx.Done():
			case <-time.After(poll):
			}
		}
	})
}

// A run is a triage.Source of one project's dumps, and the triage.Sink of what comes of them.
type run struct {
	w       *Worker
	ctx     context.Context
	project string
	more    chan struct{}
	began   time.Time
	// renewals are those that there were when it began.
	renewals int
	next     *store.Upload // taken already
	failure  error

	done    chan struct{}     // tells that there is a result
	feeding sync.WaitGroup    // Dumps
	mu      sync.Mutex        // guards the two below; no other lock is taken inside
	taken   map[string]*taken // by path
	over    bool              // nothing more is taken
}

type taken struct {
	u       store.Upload
	since   time.Time
	release func()
}

// Dumps implements triage.Source: it ends when no dump has come for some time. Files are fetched while others are analysed.
func (r *run) Dumps(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r.mu.Lock()
		over := r.over
		if !over {
			r.feeding.Add(1)
		}
		r.mu.Unlock()
		if over {
			return
		}
		defer r.feeding.Done()
		ctx, stop := context.WithCancel(ctx)
		paths := make(chan string)
		go func() {
			defer close(paths)
			r.fetch(ctx, paths)
		}()
		for path := range paths {
			if ctx.Err() == nil && !yield(path, nil) {
				stop() // what is still fetched is given back with the rest
			}
		}
		stop()
	}
}

// fetch takes uploads and sends the paths of their files, until no upload has come for some time.
func (r *run) fetch(ctx context.Context, paths chan<- string) {
	var fetching sync.WaitGroup
	defer fetching.Wait()
	slots := make(chan struct{}, r.w.c.Ahead)
	for {
		u, ok := r.take(ctx)
		if !ok {
			return
		}
		if u.Alone {
			fetching.Wait()
			r.alone(ctx)
			r.fetchOne(ctx, u, paths)
			r.alone(ctx)
			continue
		}
		slots <- struct{}{}
		fetching.Go(func() {
			defer func() { <-slots }()
			r.fetchOne(ctx, u, paths)
		})
	}
}

// fetchOne fetches the file of an upload that was taken, and sends its path.
func (r *run) fetchOne(ctx context.Context, u store.Upload, paths chan<- string) {
	path, release, err := r.w.c.Objects.Local(ctx, r.w.c.Key(&u))
	if err != nil {
		r.without(ctx, u, err)
		return
	}
	r.mu.Lock()
	r.taken[path] = &taken{u, time.Now(), release}
	r.mu.Unlock()
	select {
	case paths <- path:
	case <-ctx.Done(): // giveBack has it
	}
}

// alone waits until nothing is being analysed.
func (r *run) alone(ctx context.Context) {
	for ctx.Err() == nil {
		r.mu.Lock()
		n := len(r.taken)
		r.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-r.done:
		case <-time.After(poll):
		case <-ctx.Done():
		}
	}
}

// old reports whether the processes of a run may not know files that there are.
func (r *run) old() bool {
	return r.w.renewals(r.project) != r.renewals || time.Since(r.began) > r.w.c.Age
}

// take returns the next dump; false if there is none for long enough, or others are to analyse it.
func (r *run) take(ctx context.Context) (store.Upload, bool) {
	if u := r.next; u != nil {
		r.next = nil
		return *u, true
	}
	end := time.NewTimer(r.w.c.Idle)
	defer end.Stop()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for ctx.Err() == nil && !r.old() {
		u, err := r.w.c.Store.Take(ctx, r.w.name(r.project), r.project)
		if err == nil {
			return u, true
		}
		if !errors.Is(err, store.ErrNone) && ctx.Err() == nil {
			r.w.c.Log.Error("no dump can be taken", "project", r.project, "error", err)
		}
		select {
		case <-r.more:
		case <-tick.C:
		case <-end.C:
			return u, false
		case <-ctx.Done():
		}
	}
	return store.Upload{}, false
}

// without ends an upload whose file cannot be had: it has no result if there is none, and waits if there may be.
func (r *run) without(ctx context.Context, u store.Upload, err error) {
	if ctx.Err() != nil {
		r.back(&u, "the service was ended")
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = r.w.c.Store.Finish(context.WithoutCancel(r.ctx), u.Project, u.ID, store.Result{Fault: "its file is gone"})
	} else {
		err = errors.Join(err, r.w.c.Store.GiveBack(context.WithoutCancel(r.ctx), u.Project, u.ID, err.Error()))
		time.Sleep(poll)
	}
	if err != nil {
		r.w.c.Log.Error("the file of a dump cannot be read", "project", u.Project, "dump", u.ID, "error", err)
	}
}

// Digest implements triage.Digester: what was received was digested then.
func (r *run) Digest(path string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.taken[path]; t != nil {
		return t.u.SHA256
	}
	return ""
}

// choosing is a run whose uploads may be left to others.
type choosing struct{ *run }

// Wanted implements triage.Chooser.
func (c choosing) Wanted(path, build string) bool {
	r := c.run
	r.mu.Lock()
	t := r.taken[path]
	delete(r.taken, path) // nobody gives it back who does not have it any more
	r.mu.Unlock()
	if t == nil || t.u.Alone || r.w.c.Wanted(context.WithoutCancel(r.ctx), &t.u, build) {
		if t != nil {
			r.mu.Lock()
			r.taken[path] = t
			r.mu.Unlock()
		}
		return true
	}
	t.release()
	signal(r.done)
	return false
}

// together is a project's ledger that is written together with the store.
type together struct {
	ledger.Store
	r *run
}

// Add implements ledger.Store.
func (t together) Add(ctx context.Context, run int64, dumps []ledger.Dump) error {
	uploads := make([]*store.Upload, len(dumps))
	t.r.mu.Lock()
	for i := range dumps {
		if taken := t.r.taken[dumps[i].Path]; taken != nil {
			uploads[i] = &taken.u
		}
	}
	t.r.mu.Unlock()
	var of []store.Finished
	for i, u := range uploads {
		if u != nil {
			of = append(of, store.Finished{ID: u.ID, Result: t.r.resultOf(u, &dumps[i])})
		}
	}
	if enter := t.r.w.c.Enter; enter != nil {
		return enter(ctx, t.r.project, run, dumps, of)
	}
	if err := t.Store.Add(ctx, run, dumps); err != nil {
		return err
	}
	return t.r.w.c.Store.FinishAll(ctx, t.r.project, of)
}

func (r *run) resultOf(u *store.Upload, d *ledger.Dump) store.Result {
	read := make([]store.Attribute, len(d.Attributes))
	told := map[string]string{}
	for i, a := range d.Attributes {
		read[i] = store.Attribute{Name: a[0], Value: a[1]}
		told[a[0]] = a[1]
	}
	out := store.Result{Group: d.Group, Fault: d.Fault, Reason: d.Reason, Program: d.Program, Build: d.Build, Attributes: store.AttributesOf(u.Annotations, read), Needed: d.Needed}
	hash := func(id string) string {
		if id == "" || r.w.c.Hash == nil {
			return ""
		}
		return r.w.c.Hash(context.WithoutCancel(r.ctx), r.project, id)
	}
	if u.User == "" {
		out.User = hash(store.TakeID(told, store.IDUser))
	}
	if u.Machine == "" {
		out.Machine = hash(cmp.Or(d.Client, store.TakeID(told, store.IDMachine)))
	}
	return out
}

// Dump implements triage.Sink: the ledger has the dump, and the store its result.
func (r *run) Dump(d ledger.Dump, _ bool) {
	r.mu.Lock()
	t := r.taken[d.Path]
	delete(r.taken, d.Path)
	r.mu.Unlock()
	if t == nil {
		r.w.c.Log.Error("a dump that was not taken", "path", d.Path)
		return
	}
	defer signal(r.done)
	t.release()
	took := time.Since(t.since)
	r.w.c.Counted(d.Fault == "", took)
	r.w.c.Log.Info("analysed", "project", r.project, "dump", t.u.ID, "group", d.Group, "reason", d.Reason, "fault", d.Fault, "seconds", took.Seconds())
}

// Trouble implements triage.Sink.
func (r *run) Trouble(err error) {
	r.w.c.Log.Warn("trouble", "project", r.project, "error", err)
}

// Progress implements triage.Sink.
func (r *run) Progress(int, int, bool) {}

// giveBack gives back what has no result.
func (r *run) giveBack() {
	why := "the service was ended"
	if r.failure != nil {
		why = fmt.Sprint("the analysis could not go on: ", r.failure)
	}
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.feeding.Wait() // the analysis may end before its source has
	if r.next != nil {
		r.back(r.next, why)
	}
	r.mu.Lock()
	taken := maps.Clone(r.taken)
	r.mu.Unlock()
	for _, t := range taken {
		t.release()
		r.back(&t.u, why)
	}
}

func (r *run) back(u *store.Upload, why string) {
	err := r.w.c.Store.GiveBack(context.WithoutCancel(r.ctx), u.Project, u.ID, why)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.w.c.Log.Error("a dump cannot be given back", "project", u.Project, "dump", u.ID, "error", err)
	}
}
