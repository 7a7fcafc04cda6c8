package triage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/files/broker"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/modules"
)

// maxInWork is how many dumps are analysed at the same time at most.
const maxInWork = 1024

// maxIdle is how many analysis processes in a row may die without having a dump to analyse.
const maxIdle = 3

// grace is how long after a dump's deadline the analysis process is killed. The process itself ends the
// analysis at the deadline, unless it hangs.
const grace = 5 * time.Second

// interrupted is how long after an interrupt the dumps being analysed may still finish. Those that do not are
// analysed by the next run.
const interrupted = 100 * time.Millisecond

// A job is one dump to be analysed.
type job struct {
	n     int
	path  string
	since time.Time
}

// A supervisor has dumps analysed in another process.
type supervisor struct {
	opts     Options
	settings json.RawMessage
	batch    *batch
	chooser  Chooser  // nil if all dumps are wanted
	digester Digester // nil if no digests are known
	n        int
	strays   []string   // dumps that the confined process cannot read: links to other directories
	also     []string   // those of them that it can read after all
	leaving  []*process // those that have nothing more to do
}

func (s *supervisor) jobs() int {
	n := s.opts.Jobs
	if n <= 0 {
		n = 2 * runtime.GOMAXPROCS(0) // more than processors, because some wait for the disk
	}
	return min(n, maxInWork)
}

// maxAlso is how many strays one analysis process may read.
const maxAlso = 1000

// work processes the source. Strays come last, each lot with a process of its own.
func (s *supervisor) work(ctx context.Context, src Source) error {
	paths := make(chan string)
	feedCtx, stop := context.WithCancel(ctx)
	defer stop()
	go s.feed(feedCtx, src, paths)
	err := s.sessions(ctx, paths)
	for err == nil && ctx.Err() == nil && len(s.strays) > 0 {
		s.also = s.strays[:min(len(s.strays), maxAlso)]
		s.strays = s.strays[len(s.also):]
		lot := make(chan string, len(s.also))
		for _, path := range s.also {
			lot <- path
		}
		close(lot)
		err = s.sessions(ctx, lot)
	}
	return err
}

// sessions has dumps analysed, and starts a new analysis process whenever one dies.
func (s *supervisor) sessions(ctx context.Context, paths <-chan string) error {
	idle := 0
	for {
		left, end, err := s.session(ctx, paths, s.jobs())
		if err != nil || ctx.Err() != nil {
			return err
		}
		if end == nil {
			return nil
		}
		if idle++; len(left) > 0 {
			idle = 0
		}
		if idle == maxIdle {
			return fmt.Errorf("the analysis process keeps failing: %s", end.why)
		}
		for _, j := range left {
			if err := s.alone(ctx, j); err != nil {
				return err
			}
		}
	}
}

// feed sends the source's paths until there are no more.
func (s *supervisor) feed(ctx context.Context, src Source, paths chan<- string) {
	defer close(paths)
	defer s.batch.count(0, true)
	for path, err := range src.Dumps(ctx) {
		if err != nil {
			s.batch.trouble(err)
			continue
		}
		s.batch.count(1, false)
		if c := s.opts.Confinement; c != nil && !c.Reaches(path) {
			s.strays = append(s.strays, path) // read when paths has been closed
			continue
		}
		select {
		case paths <- path:
		case <-ctx.Done():
			return
		}
	}
}

// alone analyses by itself a dump that was being analysed when a process died.
func (s *supervisor) alone(ctx context.Context, j job) error {
	one := make(chan string, 1)
	one <- j.path
	close(one)
	left, end, err := s.session(ctx, one, 1)
	if err != nil || end == nil || len(left) == 0 || ctx.Err() != nil {
		return err
	}
	return s.batch.add(died(j.path, end.kind, end.why), false)
}

// An ending says why an analysis process ended early.
type ending struct{ kind, why string }

// session runs one analysis process until there are no more paths. If the process ends early, end says why and
// left are the dumps that were being analysed. An error concerns the store, or a process that cannot be
// started.
func (s *supervisor) session(ctx context.Context, paths <-chan string, jobs int) (left []job, end *ending, err error) {
	p, err := s.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	inWork := map[int]job{}
	var stopping <-chan time.Time
	done := ctx.Done()
	tick := time.NewTicker(batchTime)
	defer tick.Stop()
	var kind string
	for paths != nil || len(inWork) > 0 {
		var next <-chan string
		if paths != nil && len(inWork) < jobs && stopping == nil {
			next = paths
		}
		select {
		case path, ok := <-next:
			if !ok {
				paths = nil
				continue
			}
			s.n++
			inWork[s.n] = job{s.n, path, time.Now()}
			o := order{N: s.n, Path: Exact(path), Go: s.unasked(), Build: s.chooser != nil}
			if s.digester != nil {
				o.SHA256 = s.digester.Digest(path)
			}
			p.orders.write(o)
		case r, ok := <-p.replies:
			if !ok {
				return ended(inWork), p.ending(kind), s.batch.flush()
			}
			if r.Memory {
				kind = ledger.FaultMemory
				continue
			}
			if err := s.reply(ctx, p, inWork, r); err != nil {
				p.kill()
				return nil, nil, err
			}
		case <-tick.C:
			if err := s.batch.overdue(); err != nil {
				p.kill()
				return nil, nil, err
			}
			if s.late(inWork) {
				kind = ledger.FaultTimeout
				p.kill()
			}
		case <-done:
			done, paths = nil, nil
			stopping = time.After(interrupted)
		case <-stopping:
			p.kill()
			return nil, nil, s.batch.flush()
		}
	}
	p.orders.close()
	s.leaving = append(s.leaving, p)
	p.leave() // while the process ends, the last results are stored
	return nil, nil, s.batch.flush()
}

// reply handles a reply of the analysis process.
func (s *supervisor) reply(ctx context.Context, p *process, inWork map[int]job, r reply) error {
	j, ok := inWork[r.N]
	switch {
	case r.Fetch != nil && s.opts.Fetch != nil:
		s.opts.Fetch.Serve(ctx, *r.Fetch, func(a broker.Answer) { p.orders.write(order{Fetched: &a}) })
		return nil
	case !ok:
		return nil
	case r.Dump != nil:
		delete(inWork, r.N)
		s.denied(r.Denied)
		r.Dump.Path = newDump(j.path, identity{}).Path // whatever the process says
		r.Dump.Files = s.opts.Files
		return s.batch.add(*r.Dump, false)
	case r.Identity != nil:
		if s.chooser != nil && !s.chooser.Wanted(j.path, buildOf(r.Identity)) {
			wanted := false
			p.orders.write(order{N: r.N, Go: &wanted})
			delete(inWork, r.N)
			s.batch.count(-1, false)
			return nil
		}
		if s.opts.Fresh {
			p.orders.write(order{N: r.N, Go: &s.opts.Fresh})
			return nil
		}
		known, err := s.batch.store.Known(context.WithoutCancel(ctx), r.Identity.ID)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		wanted := err != nil || known.Weak && known.Files != s.opts.Files
		p.orders.write(order{N: r.N, Go: &wanted})
		if !wanted {
			delete(inWork, r.N)
			d := newDump(j.path, *r.Identity)
			known.Path, known.SeenAt, known.Report = d.Path, d.SeenAt, nil
			return s.batch.add(known, true)
		}
	}
	return nil
}

// denied passes on what the confinement kept from being read.
func (s *supervisor) denied(paths []Exact) {
	if s.opts.Denied == nil {
		return
	}
	for _, p := range paths[:min(len(paths), maxDenied)] {
		s.opts.Denied(string(p))
	}
}

// late reports whether a dump has been in analysis for longer than an analysis that ends itself can take.
func (s *supervisor) late(inWork map[int]job) bool {
	for _, j := range inWork {
		if time.Since(j.since) > s.opts.Deadline+s.opts.grace {
			return true
		}
	}
	return false
}

// buildOf is what the analysis process, which may have been taken over by a dump, says of a build.
func buildOf(id *identity) string {
	if len(id.Build) > maxBuildID {
		return ""
	}
	return id.Build
}

// unasked is the answer to go on without asking; nil if the store or the source has to be asked.
func (s *supervisor) unasked() *bool {
	if s.opts.Fresh && s.chooser == nil {
		return &s.opts.Fresh
	}
	return nil
}

func ended(inWork map[int]job) []job {
	var list []job
	for _, j := range inWork {
		list = append(list, j)
	}
	return list
}

// A process is an analysis process.
type process struct {
	cmd     *exec.Cmd
	orders  *orders
	replies chan reply
	stderr  tail
	wait    func() error
	unkept  []modules.Unkept // when gone is closed
	gone    chan struct{}
	left    sync.Once
}

// orders is the connection on which a process gets its orders.
type orders struct {
	lines *lineWriter
	pipe  io.WriteCloser
	kill  func()
	stuck time.Duration // how long the process may leave its orders unread
}

// maxStuck is how long an honest process may leave its orders unread: it has a goroutine for them.
const maxStuck = 30 * time.Second

// write writes an order. An error ends the replies, too.
func (o *orders) write(v any) {
	if d, ok := o.pipe.(interface{ SetWriteDeadline(time.Time) error }); ok {
		d.SetWriteDeadline(time.Now().Add(o.stuck))
	}
	if err := o.lines.write(v); errors.Is(err, os.ErrDeadlineExceeded) {
		o.kill()
	}
}

func (o *orders) close() { o.pipe.Close() }

func (s *supervisor) start(ctx context.Context) (*process, error) {
	// The Ctrl-C that interrupts the run must not kill it: dumps that are nearly done are not lost.
	cmd := exec.Command(s.opts.Command[0], s.opts.Command[1:]...)
	ownGroup(cmd)
	cmd.Env = append(os.Environ(), s.opts.Env...)
	p := &process{cmd: cmd, replies: make(chan reply, 64), gone: make(chan struct{})}
	cmd.Stderr = &p.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	begin := cmd.Start
	if c := s.opts.Confinement; c != nil {
		begin = func() error { return c.Start(cmd, s.also) }
	}
	if err := begin(); err != nil {
		return nil, fmt.Errorf("cannot start the analysis process: %w", err)
	}
	p.orders = &orders{newLineWriter(in), in, p.kill, maxStuck}
	p.wait = sync.OnceValue(cmd.Wait)
	go func() {
		defer close(p.replies)
		err := readLines(newLineReader(out).readReply, func(r reply) error { p.replies <- r; return nil })
		if err != nil {
			p.kill()
		}
	}()
	p.orders.write(greeting{s.settings})
	return p, nil
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	p.leave()
}

// leave lets the process end by itself, with nobody who waits for its replies. It may be called several times: what notices that a process has to be
// killed does not know of the others.
func (p *process) leave() { p.left.Do(func() { go p.drain() }) }

// drain waits for the end of the process.
func (p *process) drain() {
	defer close(p.gone)
	for r := range p.replies {
		p.unkept = modules.AddUnkept(p.unkept, r.Unkept...)
	}
	p.wait()
}

// unkept waits for the processes that have nothing more to do, and returns what they could not keep.
func (s *supervisor) unkept() (list []modules.Unkept) {
	for _, p := range s.leaving {
		<-p.gone
		list = modules.AddUnkept(list, p.unkept...)
	}
	s.leaving = nil
	return list
}

// ending says why the process ended, once its replies have ended.
func (p *process) ending(kind string) *ending {
	err := p.wait()
	e := &ending{kind: kind}
	switch {
	case kind == ledger.FaultTimeout:
		e.why = "the analysis did not finish in time"
	case kind == ledger.FaultMemory:
		e.why = "the analysis exceeded its memory limit"
	default:
		e.kind = ledger.FaultCrashed
		e.why = "the analysis crashed"
		if err != nil {
			e.why += ": " + err.Error()
		}
		if line := p.stderr.first(); line != "" {
			e.why += " (" + line + ")"
		}
	}
	return e
}

// A tail keeps the start of what a process writes to its standard error.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const maxTail = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b[:min(len(b), maxTail-min(t.buf.Len(), maxTail))])
	return len(b), nil
}

// first returns the first line.
func (t *tail) first() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, _, _ := strings.Cut(t.buf.String(), "\n")
	return strings.TrimSpace(line)
}
