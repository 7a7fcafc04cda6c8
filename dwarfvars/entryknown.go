package dwarfvars

import (
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind"
)

// What a caller passed may be what its own caller passed, and so on through a whole recursion.
// Results are kept for each frame. So reading the frames from the oldest to the youngest takes
// one step each, however deep the stack is.

// An entryMemory keeps results for frames.
type entryMemory struct {
	callers sync.Map // *unwind.Frame -> callerAnswer
	values  sync.Map // entryKey -> entryAnswer
	// limited counts how often maxNested was reached. Results that depend on that are not kept,
	// since they would differ in another evaluation.
	limited atomic.Int64
}

// An entryKey is a place at the entry of a frame's function.
type entryKey struct {
	frame   *unwind.Frame
	reg     uint64
	pointed bool
}

type entryAnswer struct {
	value op.Value
	err   error
}

type callerAnswer struct {
	by  *caller
	err error
}

// passedKnown returns the result of ask, and keeps it for the place in the frame. It keeps none
// for functions that were left by tail calls.
func (e *evaluator) passedKnown(key entryKey, ask func() (op.Value, error)) (op.Value, error) {
	if e.virtual {
		return ask()
	}
	m := &e.r.known
	if v, ok := m.values.Load(key); ok {
		a := v.(entryAnswer)
		return a.value, a.err
	}
	before := m.limited.Load()
	v, err := ask()
	if m.limited.Load() == before {
		m.values.Store(key, entryAnswer{v, err})
	}
	return v, err
}

// callSiteKnown returns the result of callSite, and keeps it for the frame.
func (e *evaluator) callSiteKnown() (*caller, error) {
	m, f := &e.r.known, e.frame()
	if v, ok := m.callers.Load(f); ok {
		a := v.(callerAnswer)
		return a.by, a.err
	}
	before := m.limited.Load()
	by, err := e.callSite()
	if m.limited.Load() == before {
		m.callers.Store(f, callerAnswer{by, err})
	}
	return by, err
}
