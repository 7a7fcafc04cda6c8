package dwarfvars

import (
	"sync"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind"
)

// What a caller passed may be what its own caller passed, and so on through a whole recursion.
// Results are kept for each frame. So reading the frames from the oldest to the youngest takes
// one step each, however deep the stack is. Where an evaluation would go back through more
// callers than may wait for one another, it ends; what it was asking last is asked first then, by itself.

// An entryMemory keeps results for frames.
type entryMemory struct {
	callers sync.Map // *unwind.Frame -> callerAnswer
	values  sync.Map // *unwind.Frame -> *entryValues
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
	// end is the number of the stack's frames, if the answer depends on where it ends, else 0: the rest may be walked later.
	end int
}

// entryValues are the results for one frame, which has few.
type entryValues struct {
	mu   sync.Mutex // guards list; no other lock is taken inside
	list []entryAnswer
}

// find returns the answer for a place in a stack of n frames; nil if there is none.
func (v *entryValues) find(key entryKey, n int) *entryAnswer {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.list {
		if a := &v.list[i]; a.key == key && (a.end == 0 || a.end == n) {
			return &v.list[i]
		}
	}
	return nil
}

// Forget implements where.Process.
func (r *readerWhere) Forget(frames []*unwind.Frame) {
	for _, f := range frames {
		r.known.callers.Delete(f)
		r.known.values.Delete(f)
	}
}

// ForgetAll implements where.Process.
func (r *readerWhere) ForgetAll() {
	r.known.callers.Clear()
	r.known.values.Clear()
}

type callerAnswer struct {
	by     *caller
	err    error
	inputs *where.Inputs // as of an entryAnswer
	end    int           // likewise
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
		if a := kept.find(key, len(e.frames)); a != nil {
			e.depth.endsAt(a.end)
			e.inputs.AddAll(a.inputs)
			e.uses(a.doubt)
			return a.value, a.err
		}
	}
	var v op.Value
	var err error
	var inputs *where.Inputs
	var doubt bool
	limited, end := e.deepening(pending{key: key}, func() {
		doubt = e.doubting(func() { inputs = e.recorded(func() { v, err = ask() }) })
	})
	if limited {
		return v, err
	}
	if kept == nil {
		got, _ := m.values.LoadOrStore(e.frame(), new(entryValues))
		kept = got.(*entryValues)
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	kept.list = append(kept.list, entryAnswer{key, v, err, doubt, inputs, end})
	return v, err
}

// callSiteKnown returns the result of callSite, and keeps it for the frame.
func (e *evaluator) callSiteKnown() (*caller, error) {
	m, f := &e.r.known, e.frame()
	if v, ok := m.callers.Load(f); ok {
		if a := v.(callerAnswer); a.end == 0 || a.end == len(e.frames) {
			e.depth.endsAt(a.end)
			e.inputs.AddAll(a.inputs)
			return a.by, a.err
		}
	}
	var by *caller
	var err error
	var inputs *where.Inputs
	if limited, end := e.deepening(pending{site: true}, func() { inputs = e.recorded(func() { by, err = e.callSite() }) }); !limited {
		m.callers.Store(f, callerAnswer{by, err, inputs, end})
	}
	return by, err
}

// A pending question is one that an evaluation had to give up: what was passed at a place to the function of a frame, or where
// that was called.
type pending struct {
	fn    *Function
	index int // of the frame
	key   entryKey
	site  bool // where it was called
}

// A depth is how far an evaluation goes back.
type depth struct {
	limited bool // maxNested was reached
	last    pending
	known   bool // last is
	end     int  // the number of the stack's frames, if the last one's caller was asked for
}

// endsAt takes note that an answer depends on where the stack ends. It may be called on nil.
func (d *depth) endsAt(n int) {
	if d != nil {
		d.end = max(d.end, n)
	}
}

// deepening asks something of the frame, and again after what it had to give up was asked by itself, as often as that leads
// further. It reports whether the answer is still limited: it is not kept then, since it would differ in another evaluation. end is
// as of an entryAnswer.
func (e *evaluator) deepening(p pending, ask func()) (limited bool, end int) {
	p.fn, p.index = e.fn, e.index
	if d := e.depth; d != nil {
		outer := d.end
		d.end = 0
		ask()
		end, d.end = d.end, max(d.end, outer)
		if d.limited && !d.known {
			d.last, d.known = p, true
		}
		return d.limited, end
	}
	defer func() { e.depth = nil }()
	by, byErr, inputs := e.by, e.byErr, e.inputs.Copy()
	var before []pending // what is to be asked before, the last one first
	for {
		d, at := new(depth), p
		if n := len(before); n > 0 {
			at = before[n-1]
			e.askFirst(at, d)
		} else {
			e.depth, e.by, e.byErr = d, by, byErr
			e.inputs.Become(inputs) // those of an answer that was given up do not count
			ask()
		}
		switch {
		case !d.limited && len(before) == 0:
			return false, d.end
		case !d.limited:
			before = before[:len(before)-1]
		case !d.known || d.last.index <= at.index || e.frame().Spend(evalCost) != nil:
			return true, 0
		default:
			before = append(before, d.last)
		}
	}
}

// askFirst asks what an evaluation had to give up. The answer is kept, if d is not limited then.
func (e *evaluator) askFirst(p pending, d *depth) {
	a := e.r.activation(p.fn, e.frames, p.index)
	defer a.Close()
	a.e.depth = d
	if e.inputs != nil {
		a.e.inputs = new(where.Inputs)
	}
	if p.site {
		_, _ = a.e.callSiteKnown()
		return
	}
	place := entryPlace{reg: p.key.reg, pointed: p.key.pointed}
	_, _ = a.e.passedKnown(p.key, func() (op.Value, error) { return a.e.passedAt(place) })
}
