package tasks

import (
	"context"
	"iter"
	"sync"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Process is what a Runtime reads.
type Process struct {
	State unwind.ProcessState
	Files modules.Source
	// Modules are the libraries in which a runtime may be: those that code of walked stacks
	// is in, or all.
	Modules []*libstate.Library
	Symbols unwind.SymbolReader
	// Names names code; nil if nothing does.
	Names unwind.SymbolLookup
	// Budget bounds the work; nil for no bound.
	Budget unwind.Budget
	// Limits say how much is read of the values of suspended tasks.
	Limits Limits

	threadsOnce sync.Once
	threads     map[uint64]unwind.ThreadID // by the ids that the process knows
	own         map[unwind.ThreadID]uint64 // those ids, of a dump from outside of the process's pid namespace; nil for others
}

// OwnThreadIDs is what a Process's State may implement: the ids by which the process knows its threads differ from those of
// ThreadIDs if it is in another pid namespace.
type OwnThreadIDs interface {
	// OwnThreadID returns the id by which the process itself knows a thread; 0 if the thread has ended.
	OwnThreadID(id unwind.ThreadID) uint64
}

// ThreadKnownAs returns the thread that the process knows by an id, as its memory has it; false if it has none.
func (p *Process) ThreadKnownAs(own uint64) (unwind.ThreadID, bool) {
	p.identify()
	id, ok := p.threads[own]
	return id, ok
}

// OwnThreadID returns the id that the process's memory has for a thread; 0 if the thread has ended.
func (p *Process) OwnThreadID(id unwind.ThreadID) uint64 {
	if names, ok := p.State.(OwnThreadIDs); ok {
		return names.OwnThreadID(id)
	}
	p.identify()
	if own, ok := p.own[id]; ok {
		return own
	}
	return uint64(id)
}

// identify finds out by which ids the process knows its threads.
func (p *Process) identify() {
	p.threadsOnce.Do(func() {
		ids, _ := p.State.ThreadIDs()
		names, live := p.State.(OwnThreadIDs)
		if !live {
			p.own = ownIDs(p.State, ids)
		}
		p.threads = make(map[uint64]unwind.ThreadID, len(ids))
		for _, id := range ids {
			own := uint64(id)
			if live {
				own = names.OwnThreadID(id)
			} else if p.own != nil {
				own = p.own[id]
			}
			if own != 0 {
				p.threads[own] = id
			}
		}
	})
}

// ForgetPages gives back the memory that reading a process from a file has taken so far, if its state can: the stacks of a
// hundred thousand tasks are read once each. Everything can be read afterwards, too.
func ForgetPages(state unwind.ProcessState) {
	if s, ok := state.(interface{ ForgetPages() }); ok {
		s.ForgetPages()
	}
}

// Spend charges work to the budget of the process, in its units. After an error the work
// must end with what it has.
func (p *Process) Spend(units int) error {
	if p.Budget == nil {
		return nil
	}
	return p.Budget.Spend(units)
}

// A Finder looks for one runtime in a process, by a symbol or a note of a module that is
// mapped, and returns nil if the runtime is not there. It must cost nothing then.
type Finder func(p *Process) (Runtime, error)

// A Runtime lists the tasks of one scheduler. It must allow concurrent use.
type Runtime interface {
	// Name is the runtime's name in reports: "go", "native".
	Name() string
	// Tasks yields the tasks, in the order in which the runtime itself lists them, and
	// errors for what could not be read; after an error it may go on. It ends when ctx is
	// done.
	Tasks(ctx context.Context) iter.Seq2[*Task, error]
}

// A Waiter is a Runtime that can tell more of what a task waits for once its stack is
// known. Wait returns nil if it knows nothing.
type Waiter interface {
	Wait(ctx context.Context, t *Task, frames []*unwind.Frame) *Wait
}

// A Resolver is a Runtime that can tell more of who ends the waits of tasks once all of them are known. walk walks the
// stack of a thread. Resolve adds to the Holders of waits.
type Resolver interface {
	Resolve(ctx context.Context, all []*Task, walk func(context.Context, unwind.ThreadID) []*unwind.Frame)
}

// A Linker is a Waiter that can tell who could end the waits of tasks, once the stacks of all tasks are known.
type Linker interface {
	Waiter
	// Links begins to collect the stacks of tasks.
	Links() Links
}

// Links finds who could end the waits of a runtime's tasks. One goroutine may use it.
type Links interface {
	// Saw is called for each task once its Wait is known. It must copy what it needs of frames: the task's Start and
	// Handle may be gone afterwards.
	Saw(t *Task, frames []*unwind.Frame)
	// Link adds Holders to the Waits of the tasks that were seen.
	Link(ctx context.Context)
}

// A Sampled runtime can be read again and again while a process runs, at one moment after the other.
type Sampled interface {
	Runtime
	// Needs says which memory must be copied at one moment, to list the tasks and to walk their stacks later. It is called
	// while the process is stopped. It calls take with ranges [first address, address after the last); afterwards it can read
	// them in mem, to find what they lead to.
	Needs(mem arch.Memory, take func(ranges [][2]arch.Address))
	// At returns the same runtime for another moment of the same process.
	At(now *Process) Runtime
}

// A Describer is a Runtime that says which version it found, and how its layout is known,
// in words for reports: "go1.22.12, layout from DWARF".
type Describer interface {
	Describe() string
}
