// Package session answers questions about one opened dump or process, one at a time: its tasks and threads, the frames of
// one stack, the variables of one frame and their parts, registers, memory, code, and what an expression names. Each
// answer is made when it is asked for, and only as much of it as is asked for.
//
// Everything that can be asked about further has a number: a stack, a frame, a variable with parts. Numbers stay the
// same while the Session is open. The answers are those of a report of the same dump: frames, names, values and the
// reasons why there are none.
//
// Editors, prompts and other faces translate between a Session and their users; they analyse nothing.
package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Errors of a Session. The text of an error that wraps one of them has the details.
var (
	// ErrUnknown: there is no stack, frame or variable with this number.
	ErrUnknown = errors.New("not known in this session")
	// ErrExpired: so many variables were looked at since that this one was forgotten.
	ErrExpired = errors.New("forgotten: ask for what it is part of again")
)

// Options say how much a Session reads. A field that is zero has its default.
type Options struct {
	// Values limits how much of one value is read, as in a report.
	Values dwarfvars.Options
	// Runtimes are found in addition to those that corewalk knows.
	Runtimes []tasks.Finder
	// MaxRefs is how many variables with parts are remembered; 0 for 262,144.
	MaxRefs int
}

// A Session is an opened dump or process. Several goroutines may use it; it answers one question at a time.
type Session struct {
	t    *corewalk.Target
	o    Options
	made dwarfvars.Options // Values before SetValues

	mu      sync.Mutex      // guards what is below; no other lock is taken inside
	facts   *corewalk.Facts // nil before the first question
	closed  bool
	memory  *report.Memory
	summary *report.Report
	died    *report.Report // of the thread that died alone
	stacks  []*stack       // by StackID, from 1 on
	threads int            // how many of them are threads; 0 before they were listed
	rest    *taskList      // the tasks that have not been listed yet
	frames  []*frameAt
	refs    refTable
	grown   map[*report.Data]*report.Data // values of which more was read

	proposed   []string // names of the variables of one module, sorted, for Proposed
	proposedOf string   // that module's path
}

// New returns a Session of a Target, which it does not close. The Target may be used for other things, too. Stacks of a running process are
// those of the moment of the first question.
func New(t *corewalk.Target, o Options) *Session {
	if o.MaxRefs <= 0 {
		o.MaxRefs = 1 << 18
	}
	return &Session{t: t, o: o, made: o.Values, refs: refTable{most: o.MaxRefs}}
}

// Target returns the Target of the Session.
func (s *Session) Target() *corewalk.Target { return s.t }

// errClosed: a question came after Close.
var errClosed = errors.New("the session is closed")

// SetValues says how much of a value is read from now on, in place of the options that the Session was made with. Reports (Summary, Crash) keep those.
func (s *Session) SetValues(o dwarfvars.Options) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Values == o {
		return
	}
	if s.o.Values = o; s.facts != nil {
		s.facts.SetValues(o)
	}
	s.grown = nil
	for _, st := range s.stacks {
		st.read = nil
	}
}

// Close ends the Session, which answers nothing after it.
func (s *Session) Close() {
	s.mu.Lock()
	facts := s.facts
	s.closed = true
	s.rest.stopAll()
	s.facts, s.rest, s.stacks, s.frames, s.summary, s.died = nil, nil, nil, nil, nil, nil
	s.refs, s.grown = refTable{most: s.o.MaxRefs}, nil
	s.mu.Unlock()
	if facts != nil {
		facts.Close()
	}
}

// lock begins a question. It fails if ctx is done.
func (s *Session) lock(ctx context.Context) (unlock func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if err := context.Cause(ctx); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	return s.mu.Unlock, nil
}

// guarded answers a question. It fails if ctx is done, and with corewalk.ErrChanged if another process truncates a file
// that is being read.
func (s *Session) guarded(ctx context.Context, do func() error) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var failed error
	if s.closed {
		return errClosed
	}
	if s.facts == nil {
		if s.facts, err = s.t.Facts(corewalk.FactsOptions{Values: s.o.Values, Runtimes: s.o.Runtimes}); err != nil {
			return err
		}
	}
	defer s.facts.Ask(ctx)()
	if err := corewalk.Guard(func() { failed = do() }); err != nil {
		return err
	}
	return failed
}

// Summary is the report of the dump without variables of other threads than the one that crashed: why the process died,
// the stacks, tasks that wait for each other, the modules, warnings. It is made once; do not change it.
func (s *Session) Summary(ctx context.Context) (r *report.Report, err error) {
	err = s.guarded(ctx, func() error {
		r, err = s.report(ctx)
		return err
	})
	return r, err
}

// A summary needs what text shows.
type summary struct{ report.TextOptions }

// Needs implements report.Projection.
func (s summary) Needs() report.Needs {
	n := s.TextOptions.Needs()
	n.ShareFrames = true
	return n
}

func (s *Session) report(ctx context.Context) (*report.Report, error) {
	if s.summary != nil {
		return s.summary, nil
	}
	r, err := s.analyze(ctx, corewalk.AnalyzeOptions{For: summary{}})
	if err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil { // it is not whole
		return nil, err
	}
	s.summary = r
	return r, nil
}

// analyze makes a report, which does not depend on what was set before somebody asked for it.
func (s *Session) analyze(ctx context.Context, o corewalk.AnalyzeOptions) (*report.Report, error) {
	s.facts.SetValues(s.made)
	defer s.facts.SetValues(s.o.Values)
	return s.facts.Analyze(ctx, o)
}

// Crash says why the process died, and in which thread; nil if nothing says that it died. It walks that thread only.
// Do not change the result.
func (s *Session) Crash(ctx context.Context) (c *report.Crash, err error) {
	err = s.guarded(ctx, func() error {
		r, err := s.crash(ctx)
		if r != nil {
			c = r.Crash
		}
		return err
	})
	return c, err
}

// Around lists the memory around the bad address, the values of the crashed thread's registers, and its stack pointer; none if nothing says that the process died.
func (s *Session) Around(ctx context.Context) (list []report.MemoryArea, err error) {
	err = s.guarded(ctx, func() error {
		died, ok := s.t.Died()
		if !ok {
			return nil
		}
		o := ofCrash(died)
		o.Include.Memory = true
		r, err := s.analyze(ctx, o)
		if err == nil {
			err = context.Cause(ctx) // it is not whole
		}
		if err == nil {
			list = r.Memory
		}
		return err
	})
	return list, err
}

// ofCrash walks the thread that died only.
func ofCrash(died unwind.ThreadID) corewalk.AnalyzeOptions {
	return corewalk.AnalyzeOptions{Threads: []unwind.ThreadID{died}, Locals: corewalk.LocalsNone, NoTasks: true, MaxFrames: maxCrashFrames}
}

func (s *Session) crash(ctx context.Context) (*report.Report, error) {
	died, ok := s.t.Died()
	if s.died != nil || !ok {
		return s.died, nil
	}
	r, err := s.analyze(ctx, ofCrash(died))
	if err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil { // it is not whole
		return nil, err
	}
	s.died = r
	return r, nil
}

// maxCrashFrames is how many frames of the thread that died are looked at to find out why.
const maxCrashFrames = 1000

// Info lists what is in the dump: modules, mappings, notes, the system.
func (s *Session) Info(ctx context.Context) (in *report.Info, err error) {
	err = s.guarded(ctx, func() error {
		in = s.t.Info()
		return nil
	})
	return in, err
}

// Memory says what fills the memory of the process. All memory that may be written is read, once. Do not change the answer.
func (s *Session) Memory(ctx context.Context) (m *report.Memory, err error) {
	err = s.guarded(ctx, func() error {
		if s.memory != nil {
			m = s.memory
			return nil
		}
		whole, err := s.facts.Memory(ctx, corewalk.MemoryOptions{})
		if err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil { // it is not whole
			return err
		}
		s.memory, m = whole.Memory, whole.Memory
		return nil
	})
	return m, err
}

func unknown(what string, id int) error { return fmt.Errorf("%s %d is %w", what, id, ErrUnknown) }
