package golang

import (
	"maps"
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/format/gopclntab"
)

// Functions that lock or unlock for their callers: a method that calls Lock and returns. Who holds the lock then has no frame that
// took it, but the call of such a function.

// helpers are the functions that have been looked at, by their entries: what they do for their callers, the zero event for nothing.
type helpers map[uint64]lockEvent

// maxHelper is how long a helper is at most, in bytes of code. They are short: what is long does more than lock.
const maxHelper = 1 << 10

// helper says what calling a function locks or unlocks, found in its own code; false for nothing.
func (r *runtime) helper(f gopclntab.Func, known helpers) (lockEvent, bool) {
	if known == nil {
		return lockEvent{}, false
	}
	e, ok := known[f.Entry]
	if !ok && len(known) < maxCodes {
		e = r.effect(f)
		known[f.Entry] = e
	}
	return e, e != lockEvent{}
}

// effect looks for what is locked when a function returns and was not when it began, or the other way round. It must be part of what
// the first argument points to; an unlock of anything else is one of which nothing is known.
func (r *runtime) effect(f gopclntab.Func) (found lockEvent) {
	if isLockCode(f.Name()) {
		return found
	}
	insts, index := r.decode(f, maxHelper)
	events := r.lockEvents(f, insts, nil)
	if len(events) == 0 {
		return found
	}
	n := r.number(insts, index, events, -1)
	effects := map[lockEvent]bool{}
	for i, e := range events {
		lasts := false
		if e.unlocks { // what was locked before
			lasts = search(insts, index, 0, i, func(k int) bool {
				other, ok := events[k]
				return ok && !other.unlocks && other.rw == e.rw && other.reader == e.reader && other.lock == e.lock
			})
		} else {
			for to := range insts {
				lasts = lasts || insts[to].Kind == disasm.Ret && reaches(insts, index, events, i, to)
			}
			lasts = lasts && !r.defers(insts, index, i)
		}
		if lasts {
			effects[lockEvent{rw: e.rw, reader: e.reader, unlocks: e.unlocks, lock: e.lock}] = true
		}
	}
	all := slices.Collect(maps.Keys(effects))
	if len(all) == 1 {
		if part, ok := n.partOfArgument(all[0].lock); ok {
			found = all[0]
			found.part, found.lock = part, 0
			return found
		}
	}
	if slices.ContainsFunc(all, func(e lockEvent) bool { return e.unlocks }) {
		return lockEvent{unlocks: true, any: true}
	}
	return found
}

// defers reports whether deferred calls are made after an instruction: one may unlock. Where the compiler writes the calls themselves
// into the code, the runtime's function for them is not reached from there.
func (r *runtime) defers(insts []disasm.Inst, index map[uint64]int, from int) bool {
	for to := range insts {
		if in := &insts[to]; in.Kind == disasm.Call {
			if f, ok := r.im.GoFuncAt(in.Target - r.lib.LoadBias); ok && f.Name() == "runtime.deferreturn" && search(insts, index, from, to, func(int) bool { return false }) {
				return true
			}
		}
	}
	return false
}

// partOfArgument says where in what a function's first argument points to an address is; false if it is elsewhere.
func (n *numbering) partOfArgument(v int) (uint64, bool) {
	if n.arg == 0 || v == 0 {
		return 0, false
	}
	if v == n.arg {
		return 0, true
	}
	q := n.all[v]
	return q.k, q.op == opAdd && q.of == n.arg
}
