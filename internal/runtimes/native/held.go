package native

import (
	"context"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A thread that holds a lock took it in one of its functions, mostly one that it is still in: code there called for the lock,
// and control can come from that call to where the function is now without the call that unlocks. Its argument then was the lock's address,
// which the frame mostly still has. An object that unlocks when it is destroyed (std::lock_guard) has it, too.

// Limits on the search for where locks were taken.
const (
	maxHolding     = 64  // threads that hold something
	maxAsked       = 256 // threads that may hold a lock whose owner is not recorded
	maxHeldDepth   = 64  // frames of a thread
	maxCandidates  = 16  // of the holders of a lock
	heldFrameCost  = 256
	maxGuardedWord = maxScoped
)

// A wantedLock is a lock that threads wait for.
type wantedLock struct {
	at    uint64
	waits []*tasks.Wait
	// named says that memory says who holds it, or did until it ended.
	named bool
	more  bool // candidates than are kept
	found []candidate
}

// A candidate is a thread that possibly holds a lock.
type candidate struct {
	tasks.Holder
	always bool // no way leads past the call that took it
}

// heldLocks says of the locks that threads wait for where those who hold them took them; and of those without a recorded owner, who
// possibly did.
func (r *runtime) heldLocks(ctx context.Context, all []*tasks.Task, walk func(context.Context, unwind.ThreadID) []*unwind.Frame) {
	locks := map[uint64]*wantedLock{}
	var order []*wantedLock
	holding := map[unwind.ThreadID][]*wantedLock{}
	nameless := false
	for _, t := range all {
		w := t.Wait
		if w == nil || t.Runtime != r.Name() || w.Kind != tasks.WaitLock && w.Kind != tasks.WaitReadLock || w.Object.Address == 0 {
			continue
		}
		l := locks[w.Object.Address]
		if l == nil {
			l = &wantedLock{at: w.Object.Address}
			locks[l.at] = l
			order = append(order, l)
		}
		l.waits = append(l.waits, w)
		for _, h := range w.Holders {
			if h.Kind == tasks.KindThread {
				l.named = true
				if id := unwind.ThreadID(h.ID); !slices.Contains(holding[id], l) {
					holding[id] = append(holding[id], l)
				}
			}
		}
		l.named = l.named || w.Abandoned
		nameless = nameless || w.Proved && !l.named
	}
	if len(order) == 0 {
		return
	}
	var threads []unwind.ThreadID
	ids, _ := r.p.State.ThreadIDs()
	for _, id := range ids {
		if (nameless || holding[id] != nil) && len(threads) < maxAsked {
			threads = append(threads, id)
		}
	}
	if !nameless {
		threads = threads[:min(len(threads), maxHolding)]
	}
	set := &functionSet{r: r, known: map[uint64]*function{}}
	for _, id := range threads {
		if ctx.Err() != nil || r.p.Spend(1) != nil {
			break
		}
		frames := walk(ctx, id)
		from := 0
		fn, _, at := r.function(frames)
		if at >= 0 {
			from = at + 1 // what waits holds nothing for itself
		}
		wanted := holding[id]
		if nameless {
			wanted = slices.Clone(wanted)
			for _, l := range order {
				if !l.named && !(fn.gives() && r.given(set, frames[from:], l.at)) {
					wanted = append(wanted, l)
				}
			}
		}
		r.takenBy(set, id, frames[from:], wanted)
		r.guardedBy(id, frames, from, wanted)
	}
	for _, l := range order {
		l.tell(len(ids) > maxAsked)
	}
}

// tell gives the waits for a lock what was found of who holds it.
func (l *wantedLock) tell(more bool) {
	// Who has surely called for the lock counts more than who may have, and nobody besides one that holds it for certain.
	sure := slices.ContainsFunc(l.found, func(c candidate) bool { return c.always })
	certain := slices.ContainsFunc(l.found, func(c candidate) bool { return c.Certainty == tasks.Certain })
	var holders []tasks.Holder
	if certain && !l.shared() && countCertain(l.found) > 1 { // one of them is wrong
		for i := range l.found {
			l.found[i].Certainty = tasks.Possible
		}
		certain = false
	}
	for _, c := range l.found {
		if c.Certainty == tasks.Certain || !certain && (c.always || !sure) {
			holders = append(holders, c.Holder)
		}
	}
	for _, w := range l.waits {
		if len(w.Holders) == 0 {
			if !l.named && w.Proved && len(holders) > 0 {
				w.Holders = slices.Clone(holders)
				w.Open = w.Open || (more || l.more) && holders[0].Certainty != tasks.Certain
				w.All = w.Note == readersNote
			}
			continue
		}
		for i := range w.Holders {
			h := &w.Holders[i]
			if k := slices.IndexFunc(l.found, func(c candidate) bool { return c.Key == h.Key }); k >= 0 {
				h.AcquiredAt = l.found[k].AcquiredAt
			}
		}
	}
}

// shared reports whether several threads may hold the lock at a time.
func (l *wantedLock) shared() bool { return strings.Contains(l.waits[0].Object.Type, "RwLock") }

func countCertain(found []candidate) (n int) {
	for _, c := range found {
		if c.Certainty == tasks.Certain {
			n++
		}
	}
	return n
}

// takenBy finds where a thread took locks.
func (r *runtime) takenBy(set *functionSet, id unwind.ThreadID, frames []*unwind.Frame, wanted []*wantedLock) {
	key := tasks.Key{Kind: tasks.KindThread, ID: uint64(id)}
	left := wanted
	for _, wrappers := range []bool{false, true} {
		places := make([]evidence, len(left))
		for i, f := range frames[:min(len(frames), maxHeldDepth)] {
			if len(left) == 0 || r.p.Spend(heldFrameCost) != nil {
				break
			}
			var caller *unwind.Frame
			if i+1 < len(frames) {
				caller = frames[i+1]
			}
			r.takenIn(set, f, caller, left, places, wrappers)
		}
		var rest []*wantedLock
		for i, l := range left {
			t, always := places[i].taken(l.named)
			switch {
			case t == nil:
				rest = append(rest, l)
			case len(l.found) == maxCandidates:
				l.more = true
			default:
				certainty := tasks.Possible
				if len(places[i].surely) > 0 {
					certainty = tasks.Certain
				}
				l.found = append(l.found, candidate{tasks.Holder{Key: key, Certainty: certainty, AcquiredAt: t}, always})
			}
		}
		left = rest
	}
}

// evidence is what the frames of a thread tell of where it took one lock.
type evidence struct {
	surely   []lockPlace // by a call of which the lock is still held: the code proves it
	guarded  []lockPlace // by an object that still has the lock's address
	matching []lockPlace // by a call whose argument was the lock
	loops    []lockPlace // by a call that is repeated, and whose last argument was another
	unknown  []lockPlace // by a call of which it is not known
}

// A lockPlace is a call that locks. No way leads past it to where the function is now if it was always made.
type lockPlace struct {
	pc     unwind.Address
	always bool
}

// taken says where a lock was taken, and whether that call was surely made; nil if it is not known. named says that memory proves that the
// thread holds it. Of several places the innermost guard counts, and the outermost call.
func (e *evidence) taken(named bool) (t *tasks.AcquiredAt, always bool) {
	var at lockPlace
	certainty := tasks.Possible
	switch {
	case len(e.surely) > 0:
		at, certainty = e.surely[0], tasks.Certain
	case len(e.guarded) > 0:
		at = e.guarded[0]
		if named {
			certainty = tasks.Certain
		}
	case len(e.matching) > 0:
		at = e.matching[len(e.matching)-1]
		if named && len(e.matching) == 1 {
			certainty = tasks.Likely
		}
	case named && len(e.loops) == 1:
		at = e.loops[0]
	case named && len(e.loops) == 0 && len(e.unknown) == 1:
		at = e.unknown[0]
	default:
		return nil, false
	}
	return &tasks.AcquiredAt{PC: at.pc, Certainty: certainty}, at.always
}

// takenIn adds what one frame tells of where locks were taken.
func (r *runtime) takenIn(set *functionSet, fr, caller *unwind.Frame, wanted []*wantedLock, places []evidence, wrappers bool) {
	f := set.at(fr.LookupAddr(), wrappers)
	if f == nil || !slices.ContainsFunc(f.events, func(e lockEvent) bool { return !e.unlocks }) {
		return
	}
	eval, pc, ok := r.evaluator(f.Func, fr, caller)
	if !ok {
		return
	}
	h := &heldIn{r: r, f: f, eval: eval, pc: pc, sp: fr.SP()}
	h.cfa, _ = fr.CFA()
	for i := range f.events {
		e := &f.events[i]
		if e.unlocks || e.slow && e.call == pc || !f.Reaches(e.at, pc, func(at uint64) bool { return h.ends(at, e) }) {
			continue
		}
		addrs, known, guarded := h.taken(e)
		at := lockPlace{e.at, !f.Reaches(f.Start(), pc, func(at uint64) bool { return at == e.at })}
		at.always = at.always && !e.tries
		repeated := f.Reaches(e.at, e.at, func(at uint64) bool { return h.ends(at, e) })
		stale := h.stale(e)
		for k, l := range wanted {
			switch {
			case slices.Contains(addrs, l.at) && at.always && !repeated && !stale && h.surely(e, l.at):
				places[k].surely = append(places[k].surely, at)
			case slices.Contains(addrs, l.at) && guarded:
				places[k].guarded = append(places[k].guarded, at)
			case e.tries && !l.named: // it may have failed
			case slices.Contains(addrs, l.at) && !stale:
				places[k].matching = append(places[k].matching, at)
			case !known:
				places[k].unknown = append(places[k].unknown, at)
			case repeated:
				places[k].loops = append(places[k].loops, at)
			}
		}
	}
}

// heldIn finds out what one frame holds.
type heldIn struct {
	r    *runtime
	f    *function
	eval *provenance.Evaluator
	pc   uint64 // where the frame is

	sp, cfa uint64 // the bounds of its memory; cfa is 0 if that is not known
}

// stale reports whether what a call locked may have been computed again, for another lock, on the way from the call to where the
// frame is: the next round of a loop has another.
func (h *heldIn) stale(e *lockEvent) bool {
	stops := func(at uint64) bool { return at == e.at || h.ends(at, e) }
	for _, n := range e.arguments() {
		if h.again(e, h.f.Argument(e.call, n), stops, maxAgain) {
			return true
		}
	}
	return false
}

// maxAgain is how many values are looked at that one was computed from.
const maxAgain = 8

// again reports whether a value, or one that it was computed from, may be computed again on the way.
func (h *heldIn) again(e *lockEvent, v *provenance.Value, stops func(uint64) bool, left int) bool {
	switch v.Kind {
	case provenance.Const, provenance.StackAddr, provenance.Entry, provenance.EntrySlot, provenance.Unknown:
		return false
	}
	if left == 0 || v.Mem || v.At != e.call && h.f.Reaches(e.at, v.At, stops) && (v.At == h.pc || h.f.Reaches(v.At, h.pc, stops)) {
		return true
	}
	for _, r := range []arch.Reg{v.Base, v.Index} {
		if r != arch.NoReg && h.again(e, h.f.Before(v.At, provenance.Reg(r)), stops, left-1) {
			return true
		}
	}
	return v.Kind == provenance.Slot && h.again(e, h.f.Before(v.At, provenance.Frame(v.K, v.Size)), stops, left-1)
}

// address computes the n-th argument of a call in the frame; of a wrapper, that of the call in it.
func (h *heldIn) address(e *lockEvent, n int) (uint64, bool) {
	if e.by == nil {
		at, _, ok := h.eval.Value(h.f.Argument(e.call, n), 0)
		return at, ok && at != 0
	}
	abi := provenance.ABIOf(h.r.Arch, false)
	passed := func(n int) (uint64, bool) {
		at, _, ok := h.eval.Value(h.f.Argument(e.call, n), 0)
		return at, ok
	}
	// The frame of the wrapper is gone. Where arguments are in memory, it is thought to be where no program has any.
	const cfa = 0xffff0000
	word := uint64(h.r.Arch.WordSize)
	inner := e.by.Evaluator(&provenance.State{PC: e.inner.call, CFA: cfa, HasCFA: len(abi.Args) == 0,
		Read: func(at uint64, size int) (uint64, bool) {
			if n := (at - cfa) / word; len(abi.Args) == 0 && at >= cfa && n < maxScoped && uint64(size) == word {
				return passed(int(n))
			}
			return h.r.Uint(at, size)
		},
		Reg: func(reg arch.Reg) (uint64, bool) { return 0, false },
		Passed: func(reg arch.Reg) (uint64, bool) {
			if n := slices.Index(abi.Args, reg); n >= 0 {
				return passed(n)
			}
			return 0, false
		}})
	at, _, ok := inner.Value(e.by.Argument(e.inner.call, e.inner.locks[0]), 0)
	return at, ok && at != 0
}

// taken returns the addresses of the locks that a call took, whether all are known, and whether an object that is still
// there has them.
func (h *heldIn) taken(e *lockEvent) (addrs []uint64, known, guarded bool) {
	known = len(e.locks) > 0
	for _, n := range e.locks {
		at, ok := h.address(e, n)
		if known = known && ok; ok {
			addrs = append(addrs, at)
		}
	}
	if e.guard < 0 {
		return addrs, known, false
	}
	guard, ok := h.address(e, e.guard)
	if !ok {
		return addrs, known, false
	}
	word := uint64(h.r.Arch.WordSize)
	var words []uint64
	for i := range uint64(max(len(e.locks), 1)) {
		words = append(words, h.r.Word(guard+i*word))
	}
	if len(e.locks) == 0 { // a guard that locks later
		return words, words[0] != 0, true
	}
	// What the object has counts, if it is what was passed.
	for _, at := range addrs {
		if !slices.Contains(words, at) {
			return addrs, known, false
		}
	}
	return words, true, true
}

// ends reports whether an instruction gives back the lock that e took.
func (h *heldIn) ends(at uint64, e *lockEvent) bool {
	u := h.f.event(at)
	if u == nil || !u.unlocks {
		return false
	}
	if u.rust && u.by == nil {
		if !e.rust {
			return false
		}
		lock, ok := h.address(e, e.locks[0])
		if !ok {
			return true
		}
		if u.guard >= 0 {
			if _, ok := h.address(u, u.guard); !ok {
				return true
			}
		}
		_, ok = h.drops(at, lock)
		return ok
	}
	if u.guard >= 0 && len(u.locks) == 0 {
		return e.guard >= 0 && h.same(u, u.guard, e, e.guard)
	}
	for _, n := range e.locks {
		if h.same(u, u.locks[0], e, n) {
			return true
		}
	}
	return len(e.locks) == 0
}

// same reports whether an argument of a call that unlocks is, or may be, that of one that locks. What is not
// known may be, unless it is what another call locks.
func (h *heldIn) same(u *lockEvent, m int, e *lockEvent, n int) bool {
	if u.by == nil && e.by == nil {
		a, b := h.f.Argument(u.call, m), h.f.Argument(e.call, n)
		if a == b {
			return true
		}
		if h.locked(a, e) {
			return false
		}
	}
	a, ok := h.address(u, m)
	b, ok2 := h.address(e, n)
	return !ok || !ok2 || a == b
}

// locked reports whether another call than e locks what a value is.
func (h *heldIn) locked(v *provenance.Value, e *lockEvent) bool {
	if v.Kind == provenance.Unknown {
		return false
	}
	for i := range h.f.events {
		o := &h.f.events[i]
		if o == e || o.unlocks || o.by != nil {
			continue
		}
		for _, n := range o.locks {
			if h.f.Argument(o.call, n) == v {
				return true
			}
		}
	}
	return false
}
