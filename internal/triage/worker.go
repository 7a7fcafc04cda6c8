package triage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/files/broker"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/modules"
)

// WorkerOptions configure the analysis process.
type WorkerOptions struct {
	Open     []corewalk.Option // for each dump; without the options in Files
	Files    []corewalk.Option // where to find files of modules
	Deadline time.Duration     // for one dump; 0 is DefaultDeadline
	// Memory is the memory limit of the process, in bytes; 0 is DefaultMemory. Above it the process ends, and
	// the supervisor finds out which dump caused it.
	Memory int64
	// NoReports says that nobody will see the groups' reports, so that none are made: variables and causes are not looked for.
	NoReports bool
	// hook, if set, is called before each dump is opened. Tests use it to die.
	hook func(path string)
}

// DefaultMemory is the memory limit of the analysis process, in bytes.
const DefaultMemory = 4 << 30

// gcPercent is how far the heap of the analysis process grows between two collections.
const gcPercent = 300

// Why the process ends: errMemory, and errAlone if the supervisor is gone. Otherwise the supervisor waits for
// all dumps.
var (
	errMemory = errors.New("out of memory")
	errAlone  = errors.New("the supervisor is gone")
)

// A worker is the analysis process.
type worker struct {
	opts  WorkerOptions
	cache *modules.Cache
	names signature.Cache
	out   *lineWriter
	fetch *broker.Client
	next  chan order // to a goroutine that is done with a dump

	mu      sync.Mutex
	answers map[int]chan bool // by the number of the dump
	shown   map[string]bool   // signatures whose report was sent
	builds  map[string]bool   // builds of programs of which there was a dump
}

// A Configure makes the options of an analysis process from the Options.Settings of its supervisor, as JSON. fetch
// asks the supervisor for files (Options.Fetch).
type Configure func(settings json.RawMessage, fetch *broker.Client) (WorkerOptions, error)

// Serve is the main function of the analysis process: it reads its settings and orders from in and writes
// replies to out until in ends. The error is that of configure, errMemory if the process exceeded its memory
// limit, otherwise an error of the connection.
func Serve(ctx context.Context, in io.Reader, out io.Writer, configure Configure) error {
	lines := newLineReader(in)
	var first greeting
	if err := lines.read(&first); err == io.EOF {
		return nil // there is nothing to do
	} else if err != nil {
		return err
	}
	replies := newLineWriter(out)
	fetch := broker.NewClient(func(r broker.Request) error { return replies.write(reply{Fetch: &r}) })
	defer fetch.Close()
	o, err := configure(first.Settings, fetch)
	if err != nil {
		return err
	}
	if o.Deadline <= 0 {
		o.Deadline = DefaultDeadline
	}
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	// Most of what an analysis allocates is garbage when it ends, but what is kept for the next one is large:
	// frequent collections cost much and free little.
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(o.Memory / 4 * 3)
	w := &worker{opts: o, out: replies, fetch: fetch, next: make(chan order), answers: map[int]chan bool{}, shown: map[string]bool{}, builds: map[string]bool{},
		cache: corewalk.NewCache(ctx, o.Memory/4, o.Files...)}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go budget.WatchMemory(ctx, uint64(o.Memory), func() { cancel(errMemory) })
	var work sync.WaitGroup
	ended := make(chan error, 1)
	go func() { ended <- readLines(lines.readOrder, func(r order) error { w.take(ctx, r, &work); return nil }) }()
	select {
	case err := <-ended:
		w.refuse()
		close(w.next)
		fetch.Close()
		if !within(grace, work.Wait) {
			return errors.Join(err, errAlone) // a hanging dump would keep the process alive for ever
		}
		if list := w.cache.Unkept(); len(list) > 0 {
			w.out.write(reply{Unkept: list})
		}
		return errors.Join(err, w.cache.Close())
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errMemory) {
			w.out.write(reply{Memory: true})
		}
		return context.Cause(ctx) // unfinished dumps are abandoned: the process ends
	}
}

// within reports whether wait returns within d.
func within(d time.Duration, wait func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}

// take handles an order.
func (w *worker) take(ctx context.Context, o order, work *sync.WaitGroup) {
	if o.Fetched != nil {
		w.fetch.Answered(*o.Fetched)
		return
	}
	if o.Go != nil && o.Path == "" {
		w.mu.Lock()
		c := w.answers[o.N]
		delete(w.answers, o.N)
		w.mu.Unlock()
		if c != nil {
			c <- *o.Go
		}
		return
	}
	// A goroutine's stack grows several times during an analysis: the next one has a grown stack.
	select {
	case w.next <- o:
	default:
		work.Go(func() {
			for ok := true; ok; o, ok = <-w.next {
				w.dump(ctx, o)
			}
		})
	}
}

// refuse answers all dumps that wait for the supervisor, which is gone.
func (w *worker) refuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n, c := range w.answers {
		c <- false
		delete(w.answers, n)
	}
}

// dump identifies and analyses one dump.
func (w *worker) dump(ctx context.Context, o order) {
	opening := ctx // without the deadline: the supervisor kills an unpacking that takes too long
	ctx, cancel := context.WithTimeout(ctx, w.opts.Deadline)
	defer cancel()
	path := string(o.Path)
	if w.opts.hook != nil {
		w.opts.hook(path)
	}
	open := func() (*corewalk.Target, error) {
		return corewalk.Open(opening, path, append([]corewalk.Option{corewalk.WithCache(w.cache)}, w.opts.Open...)...)
	}
	id, target, err := identify(ctx, path, o.SHA256, open)
	defer func() {
		if target != nil {
			target.Close()
		}
	}()
	if err != nil {
		d := newDump(path, id)
		fault(&d, path, err)
		texts(&d)
		w.out.writeDump(o.N, &d, nil)
		return
	}
	if o.Build {
		if target == nil {
			target, err = open()
		}
		if err == nil {
			id.Build = build(target)
		}
	}
	if o.Go == nil && !w.ask(o.N, &id) {
		return
	}
	d := newDump(path, id)
	if target == nil && err == nil {
		target, err = open()
	}
	var denied []Exact
	if err == nil {
		a := analysis{names: &w.names}
		if !w.opts.NoReports {
			a.full, a.likely = w.first, w.firstOf(build(target))
		}
		denied, err = a.analyze(ctx, target, &d)
	}
	if err != nil {
		fault(&d, path, err)
	}
	texts(&d)
	w.out.writeDump(o.N, &d, denied)
}

// ask asks the supervisor whether to analyse a dump.
func (w *worker) ask(n int, id *identity) bool {
	answer := make(chan bool, 1)
	w.mu.Lock()
	w.answers[n] = answer
	w.mu.Unlock()
	w.out.write(reply{N: n, Identity: id})
	return <-answer
}

// first reports whether this process sees a signature for the first time.
func (w *worker) first(s *signature.Signature) bool { return w.add(w.shown, s.Hash) }

// firstOf reports whether this process sees a build of a program for the first time. Then its dump is probably the first
// of a signature, too.
func (w *worker) firstOf(build string) bool { return build != "" && w.add(w.builds, build) }

// add adds a key to a set; false if it is there or the set is full.
func (w *worker) add(set map[string]bool, key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if set[key] || len(set) > 1<<20 {
		return false
	}
	set[key] = true
	return true
}

// died returns the result of a dump that killed the analysis process.
func died(path string, kind, why string) ledger.Dump {
	d := newDump(path, identity{})
	d.FaultKind, d.Fault = kind, why
	if d.Fault == "" {
		d.Fault = fmt.Sprintf("the analysis was killed (%s)", kind)
	}
	return d
}
