package dwarfvars

import (
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind"
)

// What a caller passed may be what its own caller passed, and so on through a whole recursion.
// Results are kept for each frame. So reading the frames from the oldest to the youngest takes
// one step each, however deep the stack is.

// An entryMemory keeps results for frames.
type entryMemory struct {
	callers sync.Map // *unwind.Frame -> callerAnswer
	values  sync.Map // *unwind.Frame -> *entryValues
	// limited counts how often maxNested was reached. Results that depend on that are not kept,
	// since they would differ in another evaluation.
	limited atomic.Int64
}

// An entryKey is a place at the entry of a function.
type entryKey struct {
	reg     uint64
	pointed bool
}

type entryAnswer struct {
	key    entryKey
	value  op.Value
	err    error
	doubt  bool          // it is doubtful
	inputs *where.Inputs // what it depends on; nil if that was not recorded
}

// entryValues are the results for one frame, which has few.
type entryValues struct {
	mu   sync.Mutex // guards list; no other lock is taken inside
	list []entryAnswer
}

func (v *entryValues) find(key entryKey) *entryAnswer {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.list {
		if v.list[i].key == key {
			return &v.list[i]
		}
	}
	return nil
}

// Forget implements where.Process.
func (r *readerWhere) Forget(frames []*unwind.Frame) {
	for _, f := range frames {
		r.called.Delete(f)
		r.known.callers.Delete(f)
		r.known.values.Delete(f)
	}
}

// Limited implements where.Process.
func (r *readerWhere) Limited() int64 { return r.known.limited.Load() }

type callerAnswer struct {
	by     *caller
	err    error
	inputs *where.Inputs // as of an entryAnswer
}

// passedKnown returns the result of ask, and keeps it for the place in the frame. It keeps none
// for functions that were left by tail calls.
func (e *evaluator) passedKnown(key entryKey, ask func() (op.Value, error)) (op.Value, error) {
	if e.virtual {
		return ask()
	}
	m := &e.r.known
	var kept *entryValues
	if v, ok := m.values.Load(e.frame()); ok {
		kept = v.(*entryValues)
		if a := kept.find(key); a != nil {
			e.inputs.AddAll(a.inputs)
			e.uses(a.doubt)
			return a.value, a.err
		}
	}
	before := m.limited.Load()
	var v op.Value
	var err error
	var inputs *where.Inputs
	doubt := e.doubting(func() { inputs = e.recorded(func() { v, err = ask() }) })
	if m.limited.Load() != before {
		return v, err
	}
	if kept == nil {
		got, _ := m.values.LoadOrStore(e.frame(), new(entryValues))
		kept = got.(*entryValues)
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	kept.list = append(kept.list, entryAnswer{key, v, err, doubt, inputs})
	return v, err
}

// callSiteKnown returns the result of callSite, and keeps it for the frame.
func (e *evaluator) callSiteKnown() (*caller, error) {
	m, f := &e.r.known, e.frame()
	if v, ok := m.callers.Load(f); ok {
		a := v.(callerAnswer)
		e.inputs.AddAll(a.inputs)
		return a.by, a.err
	}
	before := m.limited.Load()
	var by *caller
	var err error
	inputs := e.recorded(func() { by, err = e.callSite() })
	if m.limited.Load() == before {
		m.callers.Store(f, callerAnswer{by, err, inputs})
	}
	return by, err
}
