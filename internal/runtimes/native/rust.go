package native

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Rust's locks do not record who holds them. Who has locked one has its guard, which unlocks it when it is dropped. Unoptimised code
// calls for both; and the compiler calls to drop a guard exactly where it still exists. So code that cannot return without dropping
// the guard of a lock proves that its thread holds the lock.

// Rust's modules of locks, whose methods lock; each begins the names of a type with its guards.
var (
	rustStd     = []string{"std::sync::mutex::", "std::sync::rwlock::", "std::sync::poison::mutex::", "std::sync::poison::rwlock::"}
	rustLockAPI = []string{"lock_api::mutex::", "lock_api::rwlock::", "lock_api::remutex::"} // of parking_lot
)

// Optimised code has the locks' own code in it, and calls only where that must wait or wake others.
var rustSlow = []string{"lock_contended", "read_contended", "write_contended", "lock_slow", "lock_shared_slow", "lock_exclusive_slow",
	"wake", "wake_writer_or_readers", "unlock_slow", "unlock_shared_slow", "unlock_exclusive_slow"}

// rustSlowUnlocks is the first of rustSlow that unlocks.
const rustSlowUnlocks = 6

// rustLockCall says what a function of Rust, by its demangled name, does to locks. Their words are first in their types.
func rustLockCall(name string) (lockCall, bool) {
	name = strings.TrimPrefix(name, "<")
	for _, dropped := range []string{"core::ptr::drop_in_place<", "core::ptr::drop_in_place::<"} {
		if of, ok := strings.CutPrefix(name, dropped); ok {
			return lockCall{unlocks: true, rust: true}, rustGuard(of)
		}
	}
	// It has the guard itself. Of some compilers' names nothing tells of which type that is.
	if of, ok := strings.CutPrefix(name, "core::mem::drop"); ok && (of == "" || rustGuard(strings.TrimPrefix(strings.TrimPrefix(of, "::"), "<"))) {
		return lockCall{unlocks: true, rust: true, guard: -1, locks: []int{0, 1}}, true
	}
	c := lockCall{rust: true, guard: -1, locks: []int{0}}
	class, method := splitMethod(name)
	if k := slices.Index(rustSlow, method); k >= 0 && (strings.HasPrefix(class, "std::sys") || strings.HasPrefix(class, "parking_lot::raw_")) {
		c.slow, c.unlocks = true, k >= rustSlowUnlocks
		return c, true
	}
	std := hasAnyPrefix(class, rustStd)
	if !std && !hasAnyPrefix(class, rustLockAPI) || strings.Contains(class, "Guard") {
		return lockCall{}, false
	}
	if std { // a result that may be an error
		c.hidden, c.locks[0] = true, 1
	}
	switch method {
	case "lock", "read", "write":
	case "try_lock", "try_read", "try_write", "try_lock_for", "try_lock_until":
		c.tries = true
	default:
		return lockCall{}, false
	}
	return c, true
}

// rustGuard reports whether the name of a type is that of a guard of a lock.
func rustGuard(name string) bool {
	if !hasAnyPrefix(name, rustStd) && !hasAnyPrefix(name, rustLockAPI) {
		return false
	}
	typ, _, _ := strings.Cut(name, "<")
	return strings.HasSuffix(typ, "Guard")
}

func hasAnyPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// ofRust reports whether a lock is one that Rust's guards unlock, by its type.
func ofRust(typ string) bool {
	return strings.HasPrefix(typ, "std::sync::") || strings.HasPrefix(typ, "parking_lot::")
}

// drops reports whether an instruction drops the guard of a lock. It returns where the guard is; 0 if that is passed on in registers.
func (h *heldIn) drops(at, lock uint64) (guard uint64, ok bool) {
	u := h.f.event(at)
	if u == nil || !u.unlocks || !u.rust || u.by != nil {
		return 0, false
	}
	if u.guard < 0 {
		for _, n := range u.locks {
			v, known := h.address(u, n)
			if arg := h.f.Argument(u.call, n); !known && arg.Kind == provenance.Slot && h.cfa != 0 { // that another call has filled
				v, known = h.r.Word(h.cfa+uint64(arg.K)), true
			}
			if known && v == lock {
				return 0, true
			}
		}
		return 0, false
	}
	v, known := h.address(u, u.guard)
	return v, known && h.guards(v, lock)
}

// guards reports whether an object is a guard of a lock: its first or second word is the lock's address.
func (h *heldIn) guards(at, lock uint64) bool {
	return h.r.Word(at) == lock || h.r.Word(at+uint64(h.r.Arch.WordSize)) == lock
}

// surely reports whether the function, which has made the call e for a lock of Rust, still holds it: it can neither return without
// dropping the guard, nor lock again before, and has let no other code have the guard.
func (h *heldIn) surely(e *lockEvent, lock uint64) bool {
	if !e.rust || e.tries || e.by != nil {
		return false
	}
	var guards []uint64
	returns := false
	drop := func(at uint64) bool {
		_, ok := h.drops(at, lock)
		return ok
	}
	for i := range h.f.events {
		o := &h.f.events[i]
		if guard, ok := h.drops(o.at, lock); ok && guard != 0 && !slices.Contains(guards, guard) {
			guards = append(guards, guard)
		}
		if o.unlocks || o.at == h.pc {
			continue
		}
		addrs, known, _ := h.taken(o)
		if (!known || slices.Contains(addrs, lock)) && h.f.Reaches(h.pc, o.at, drop) {
			return false
		}
	}
	for ret := range h.f.Returns {
		if h.f.Reaches(h.pc, ret, drop) {
			return false
		}
		returns = true
	}
	return returns && len(guards) == 1 && !h.lent(guards[0], lock)
}

// passedArguments is how many arguments of a call are looked at for a guard.
const passedArguments = 4

// lent reports whether the call at which the function is, or memory of its frame, has a guard or its address.
func (h *heldIn) lent(guard, lock uint64) bool {
	if e := h.f.event(h.pc); e == nil || e.unlocks { // else it asks for a lock
		for n := range passedArguments {
			if v, _, ok := h.eval.Value(h.f.Argument(h.pc, n), 0); ok && (v == lock || v == guard) {
				return true
			}
		}
	}
	const largest = 1 << 12
	if h.cfa-h.sp > largest { // also before it
		return true
	}
	for at := h.sp; at < h.cfa; at += uint64(h.r.Arch.WordSize) {
		if h.r.Word(at) == guard {
			return true
		}
	}
	return false
}

// gives reports whether a function gives back a lock while it waits.
func (f *waitFunction) gives() bool {
	return f != nil && (f.kind == tasks.WaitCondition || slices.Contains(f.names, "pthread_cond_wait"))
}

// givenDepth is how many frames above the function that waits may have been called with a lock to give back.
const givenDepth = 3

// given reports whether a thread that waits for a condition gave back a lock meanwhile: a function on the way was called with its
// address, or with that of its guard.
func (r *runtime) given(set *functionSet, frames []*unwind.Frame, lock uint64) bool {
	for i, fr := range frames[:min(len(frames), givenDepth)] {
		f := set.at(fr.LookupAddr(), false)
		if f == nil {
			continue
		}
		var caller *unwind.Frame
		if i+1 < len(frames) {
			caller = frames[i+1]
		}
		eval, pc, ok := r.evaluator(f.Func, fr, caller)
		if !ok {
			continue
		}
		for n := range passedArguments {
			if v, _, ok := eval.Value(f.Argument(pc, n), 0); ok && v != 0 && (v == lock || r.Word(v) == lock) {
				return true
			}
		}
	}
	return false
}

// guardedBy adds a thread to those that possibly hold a lock of Rust if a variable of one of its frames is a guard of the lock. Optimised
// code has no calls that would tell; of a guard that was dropped, or given to others, it may still tell.
func (r *runtime) guardedBy(id unwind.ThreadID, frames []*unwind.Frame, from int, wanted []*wantedLock) {
	key := tasks.Key{Kind: tasks.KindThread, ID: uint64(id)}
	var left []*wantedLock
	for _, l := range wanted {
		if r.p.Files != nil && ofRust(l.waits[0].Object.Type) && !l.named && len(l.found) < maxCandidates &&
			!slices.ContainsFunc(l.found, func(c candidate) bool { return c.Key == key }) {
			left = append(left, l)
		}
	}
	for i := from; i < min(len(frames), maxHeldDepth) && len(left) > 0; i++ {
		if r.p.Spend(heldFrameCost) != nil {
			return
		}
		for _, lock := range r.guardsIn(frames, i) {
			if k := slices.IndexFunc(left, func(l *wantedLock) bool { return l.at == lock }); k >= 0 {
				left[k].found = append(left[k].found, candidate{Holder: tasks.Holder{Key: key, Certainty: tasks.Possible}})
				left = slices.Delete(left, k, k+1)
			}
		}
	}
}

// guardsIn lists the locks of which a frame has guards in its variables.
func (r *runtime) guardsIn(frames []*unwind.Frame, i int) (locks []uint64) {
	act, err := r.variables().At(frames, i)
	if err != nil {
		return nil
	}
	defer act.Close()
	for _, s := range act.Live() {
		for _, list := range [][]*dwarfvars.LocalVar{s.Params, s.Locals} {
			for _, v := range list {
				o, err := act.Object(v)
				if err != nil || !rustGuard(o.Type()) {
					continue
				}
				parts, _, _ := o.Children(0, maxGuardParts)
				for _, p := range parts {
					if at, err := p.Object.Number(); err == nil && at != 0 { // the lock's address
						locks = append(locks, at)
					}
				}
			}
		}
	}
	return locks
}

// maxGuardParts is how many members of a guard are looked at for the address of its lock.
const maxGuardParts = 4
