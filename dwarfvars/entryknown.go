package dwarfvars

import (
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind"
)

// What a caller passed may be what its own caller passed, and so on through a whole
// recursion. Answers are kept by frame, so that whoever reads the frames from the oldest
// to the youngest pays for one step each, however deep the stack is.

// An entryMemory keeps answers about frames.
type entryMemory struct {
	callers sync.Map // *unwind.Frame -> callerAnswer
	values  sync.Map // entryKey -> entryAnswer
	// limited counts how often evaluation was given up as nested too deeply: answers
	// that came of that are not kept, for asked in another way they are others.
	limited atomic.Int64
}

// An entryKey is a place in which something was when the function of a frame was
// entered.
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

// passedKnown answers what ask does, once for each place of a frame. What was passed to
// functions that have no frame any more is asked for each time.
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

// callSiteKnown is callSite, once for each frame.
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
