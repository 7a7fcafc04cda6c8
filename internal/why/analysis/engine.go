package analysis

import (
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An Engine finds facts of a process at one moment: for reports, and for who asks about one stack at a time. What it found, and may be
// asked for again, it keeps: stacks, names, where calls led to, runtimes of languages. No answer depends on what was asked before. It is
// not for several goroutines.
type Engine struct {
	Parts
	arch   *arch.Arch
	mem    procmem.Reader
	stacks stacks

	calls            []unwind.Call          // scratch
	lookedUp         int64                  // of lookUps, what is charged
	noSource         map[string]error       // source files that are not shown
	moved            map[*unwind.Frame]bool // frames shown at another place of a merged call than their address says
	languageSteppers []tasks.Runtime        // steppers that know what frames are in their language, and have not walked one yet
	searchedStacks   map[string]bool        // stacks in which languages were looked for
	searchedKey      []byte
	direct           map[unwind.Address]unwind.Address // where direct calls lead to, by their return addresses
	targets          map[*unwind.Frame]unwind.Address  // where the other calls led to, by the frames that they led to
	named            map[nameKey][]report.Frame        // entries of frames
	witnesses        int                               // made for one question to find out what was called; see called
	untraced         map[unwind.Address]bool           // return addresses of calls through values that cannot be traced back
	allocator        fact[heap.Allocator]              // of which a report reads a part
	wholeHeaps       fact[[]heap.Allocator]            // of which all may be read
	objects          []heap.Objects                    // runtimes that know what is in wholeHeaps
	unread           error                             // why the heap of an allocator cannot be read that is there
	asked            bool                              // somebody asks about an address: all may be read
	naming           *owners                           // by the frames of a thread, for questions about addresses
	namingOf         unwind.ThreadID
	namingAsked      bool
}

// A fact is found when it is first asked for, and kept.
type fact[T any] struct {
	value T
	found bool
}

func (f *fact[T]) of(find func() T) T {
	if !f.found {
		f.value, f.found = find(), true
	}
	return f.value
}

// Begin begins a question: what limits one begins anew.
func (e *Engine) Begin() {
	e.witnesses = 0
	e.allocator, e.naming = fact[heap.Allocator]{}, nil // what may be read of a heap is for one question
}

// forgetCalls drops where calls through values led to, as far as that could be traced. Of a stack that was cut less can be traced: another
// question is not to be told that.
func (e *Engine) forgetCalls() { e.targets, e.untraced = nil, nil }

// forgetEvaluations drops what was evaluated of frames. What finds out about a crash evaluates frames with the registers of a fault, and parts
// of stacks. Nobody else may be told what came of that.
func (e *Engine) forgetEvaluations() {
	e.targets = nil
	if e.Variables != nil {
		where.ProcessOf(e.Variables).ForgetAll()
	}
}

// NewEngine returns the Engine of a process.
func NewEngine(p Parts) *Engine {
	e := &Engine{Parts: p, arch: p.Proc.Arch(), mem: procmem.Of(p.Proc)}
	if p.Walker != nil {
		e.lookedUp = e.lookUps()
		e.stacks = stacks{walker: p.Walker, keep: p.Keep, kept: map[unwind.ThreadID]*unwind.Stack{}}
		for _, s := range p.Walker.StepperGroup().Steppers() {
			rt, ok := s.(tasks.Runtime)
			if ok && !slices.ContainsFunc(p.Found, func(f tasks.Runtime) bool { return f.Name() == rt.Name() }) { // the caller's is known already
				e.languageSteppers = append(e.languageSteppers, rt)
			}
		}
	}
	if p.Variables != nil {
		where.ProcessOf(p.Variables).Ask(callers{e})
	}
	return e
}
