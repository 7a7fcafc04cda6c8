package golang

import (
	"context"
	"slices"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// links finds out who could end the waits of goroutines: who holds the lock that one waits for, and who has
// its channel in a variable that is still used.
type links struct {
	r      *runtime
	seen   []stack
	kept   keptFrames
	places []place               // of one stack
	held   map[uint64][]heldLock // by the address of the code
	help   helpers
	live   map[uint64][]int64
}

// A stack is what is kept of a goroutine's stack.
type stack struct {
	task   *tasks.Task
	since  uint64 // when it began to wait; 0 if unknown
	frames packed
}

// Limits on the search. They are far above what programs have, but for stacks without end.
const (
	maxPlaces  = 256     // frames of a goroutine
	maxHolders = 16      // of an object
	maxCodes   = 1 << 14 // addresses of code
	maxReach   = 1 << 16 // words that are followed
	// forgetEvery is after how many stacks the pages of the dump that they were read from are given back.
	forgetEvery = 4096
	reachBytes  = 128 // of what a word points to
)

func (r *runtime) Links() tasks.Links {
	return &links{r: r, held: map[uint64][]heldLock{}, help: helpers{}, live: map[uint64][]int64{}}
}

func (l *links) Saw(t *tasks.Task, frames []*unwind.Frame) {
	if l.seen == nil {
		l.seen = make([]stack, 0, min(l.r.count, manyGoroutines))
	}
	s := stack{task: t}
	if o, ok := t.Handle.(object); ok {
		s.since = o.u64("waitsince")
	}
	l.places = l.places[:0]
	for _, f := range frames[:min(len(frames), maxPlaces)] {
		if cfa, ok := f.CFA(); ok {
			l.places = append(l.places, place{f.LookupAddr(), f.SP(), cfa})
		}
	}
	s.frames = l.kept.pack(l.places)
	l.seen = append(l.seen, s)
}

// A wanted object is what at least one goroutine waits for.
type wanted struct {
	waiters []*tasks.Task
	holders []tasks.Holder
	more    bool // holders than are kept
}

// list returns the holders for all waiters, who may append to it.
func (w *wanted) list() []tasks.Holder { return slices.Clip(w.holders) }

// add adds a task that possibly holds it, and where it took it; 0 if that is not known.
func (w *wanted) add(k tasks.Key, taken uint64) {
	h := tasks.Holder{Key: k, Certainty: tasks.Possible}
	if taken != 0 {
		h.AcquiredAt = &tasks.AcquiredAt{PC: taken, Certainty: tasks.Possible}
	}
	switch at := slices.IndexFunc(w.holders, func(h tasks.Holder) bool { return h.Key == k }); {
	case at >= 0 && w.holders[at].AcquiredAt == nil:
		w.holders[at].AcquiredAt = h.AcquiredAt
	case at >= 0:
	case len(w.holders) == maxHolders:
		w.more = true
	default:
		w.holders = append(w.holders, h)
	}
}

func (l *links) Link(ctx context.Context) {
	l.since()
	locks, others := map[uint64]*wanted{}, map[uint64]*wanted{}
	asleep := true
	want := func(m map[uint64]*wanted, at uint64, t *tasks.Task) {
		if at != 0 {
			if m[at] == nil {
				m[at] = &wanted{}
			}
			m[at].waiters = append(m[at].waiters, t)
		}
	}
	for i := range l.seen {
		t := l.seen[i].task
		asleep = asleep && (t.System || sleeps(t))
		w := t.Wait
		if w == nil {
			continue
		}
		switch w.Kind {
		case tasks.WaitLock, tasks.WaitReadLock, tasks.WaitOnce:
			want(locks, w.Object.Address, t)
		case tasks.WaitSend, tasks.WaitReceive, tasks.WaitBarrier, tasks.WaitCondition:
			want(others, w.Object.Address, t)
		case tasks.WaitSelect:
			for _, c := range w.Cases {
				want(others, c.Object.Address, t)
			}
		}
	}
	if len(locks) > 0 {
		l.lockHolders(ctx, locks)
	}
	if len(others) > 0 {
		l.havers(ctx, others)
	}
	blocking := map[tasks.Key]bool{} // those that hold a lock for which somebody waits
	for _, w := range locks {
		for i := range w.holders {
			blocking[w.holders[i].Key] = true
		}
	}
	for i := range l.seen {
		if t := l.seen[i].task; t.Wait != nil {
			link(t, locks, others, asleep, blocking)
		}
	}
}

// since says how long goroutines have waited. The collector writes down when it first finds one waiting, by a
// clock whose time now is not in memory: the latest that it wrote is the earliest that it can be.
func (l *links) since() {
	var now uint64
	for i := range l.seen {
		now = max(now, l.seen[i].since)
	}
	for i := range l.seen {
		t, since := l.seen[i].task, l.seen[i].since
		if since != 0 && (t.State == tasks.StateWaiting || t.State == tasks.StateSyscall) {
			t.Seconds = float64(now-since) / 1e9
		}
	}
}

// sleeps reports whether a goroutine does nothing that could end another's wait, now or by itself later.
func sleeps(t *tasks.Task) bool {
	return t.State == tasks.StateWaiting && t.Wait != nil && !t.Wait.Timed && t.Wait.Kind != tasks.WaitIO && t.Wait.Kind != tasks.WaitTimer &&
		t.Wait.Kind != tasks.WaitRuntime
}

// link gives a wait its holders.
func link(t *tasks.Task, locks, others map[uint64]*wanted, asleep bool, blocking map[tasks.Key]bool) {
	w := t.Wait
	add := func(o *wanted) {
		if o == nil {
			return
		}
		w.Open = w.Open || o.more
		if len(w.Holders) == 0 && !slices.ContainsFunc(o.holders, func(h tasks.Holder) bool { return h.Key == t.Key }) {
			w.Holders = o.list() // a hundred thousand may wait for one object
			return
		}
		for _, holder := range o.holders {
			if !slices.ContainsFunc(w.Holders, func(h tasks.Holder) bool { return h.Key == holder.Key }) {
				w.Holders = append(w.Holders, holder)
			}
		}
	}
	switch w.Kind {
	case tasks.WaitLock, tasks.WaitReadLock, tasks.WaitOnce:
		add(locks[w.Object.Address])
		return
	case tasks.WaitSend, tasks.WaitReceive, tasks.WaitBarrier, tasks.WaitCondition:
		add(others[w.Object.Address])
	case tasks.WaitSelect:
		for _, c := range w.Cases {
			add(others[c.Object.Address])
		}
	default:
		return
	}
	// A goroutine does not end its own wait at a channel.
	w.Holders = slices.DeleteFunc(w.Holders, func(h tasks.Holder) bool { return h.Key == t.Key })
	// Another may get at a channel in ways that no frame shows. If all goroutines sleep, nobody will; and one that
	// blocks others while it waits is suspicious enough to be called possible.
	w.Open = w.Open || !asleep && !blocking[t.Key]
}

// lockHolders finds who holds locks, by the code of all frames.
func (l *links) lockHolders(ctx context.Context, locks map[uint64]*wanted) {
	for i := range l.seen {
		s := &l.seen[i]
		if ctx.Err() != nil || l.r.p.Spend(1) != nil {
			return
		}
		released := s.task.Wait != nil && s.task.Wait.Kind == tasks.WaitCondition // Wait unlocks what its caller has locked
		for f := range l.kept.places(s.frames) {
			for _, h := range l.heldAt(f.pc) {
				at, ok := l.r.compute(h.at, f.sp)
				if w := locks[at]; ok && w != nil && !released {
					w.add(s.task.Key, h.taken)
				}
			}
			if released && !l.r.ofSync(f.pc) {
				released = false
			}
		}
		// A writer that waits has the lock's inner mutex, and no reader may enter.
		if w := s.task.Wait; w != nil && w.Kind == tasks.WaitLock && w.Object.Type == rwmutexType && s.task.Wait.Note == noteWriter {
			for _, other := range locks[w.Object.Address].waiters {
				if other != s.task {
					other.Wait.Holders = append(other.Wait.Holders, tasks.Holder{Key: s.task.Key, Certainty: tasks.Certain})
				}
			}
		}
	}
}

// heldAt is findHeld, once for each address.
func (l *links) heldAt(pc uint64) []heldLock {
	held, ok := l.held[pc]
	if !ok && len(l.held) < maxCodes {
		held = l.r.findHeld(pc, l.help)
		l.held[pc] = held
	}
	return held
}

// havers finds who has an object in a variable that is still used, or in what such a variable points to.
func (l *links) havers(ctx context.Context, objects map[uint64]*wanted) {
	follow := maxReach
	for i := range l.seen {
		if i%forgetEvery == forgetEvery-1 {
			tasks.ForgetPages(l.r.p.State)
		}
		s := &l.seen[i]
		if ctx.Err() != nil || l.r.p.Spend(1) != nil {
			return
		}
		for f := range l.kept.places(s.frames) {
			offsets := l.liveAt(f.pc)
			if len(offsets) == 0 || f.cfa <= f.sp {
				continue
			}
			for _, off := range offsets {
				v, ok := l.r.word(l.r.Arch.Truncate(f.cfa + uint64(off)))
				if !ok || v == 0 {
					continue
				}
				if l.has(s.task, objects, v) || follow == 0 {
					continue
				}
				follow--
				b := l.r.bytes(v, reachBytes)
				if b == nil {
					b = l.r.bytes(v, 2*uint64(l.r.Arch.WordSize))
				}
				for ws := l.r.Arch.WordSize; len(b) >= ws; b = b[ws:] {
					l.has(s.task, objects, l.r.Arch.Word(b))
				}
				for in := uint64(l.r.Arch.WordSize); in < reachBytes; in += 4 {
					if w := objects[v+in]; w != nil {
						l.has(s.task, objects, v+in)
					}
				}
			}
		}
	}
}

// has takes note that a goroutine has an object, if at is one that somebody waits for. Who only waits for it, too, does not count.
func (l *links) has(t *tasks.Task, objects map[uint64]*wanted, at uint64) bool {
	w := objects[at]
	if w == nil {
		return false
	}
	if t.Wait == nil || t.Wait.Object.Address != at {
		w.add(t.Key, 0)
		return true
	}
	for _, other := range w.waiters { // waits the other way round
		if other.Wait.Kind != t.Wait.Kind {
			w.add(t.Key, 0)
			break
		}
	}
	return true
}

// liveAt returns where the pointers of a frame are that are still used, from the frame's end.
func (l *links) liveAt(pc uint64) []int64 {
	offsets, ok := l.live[pc]
	if ok || len(l.live) >= maxCodes {
		return offsets
	}
	r := l.r
	f, ok := r.im.GoFuncAt(pc - r.lib.LoadBias)
	if ok && !skipPointers(f.Name()) {
		before := r.im.GoTable().Work()
		args, locals := f.Pointers(pc - r.lib.LoadBias)
		if r.p.Spend(int(r.im.GoTable().Work()-before)) != nil {
			return nil
		}
		ws := int64(r.Arch.WordSize)
		argsAt, localsEnd := int64(0), -ws // the saved frame pointer of arm64
		switch r.Arch {
		case arch.AMD64:
			localsEnd = -2 * ws // and the return address
		case arch.ARM64:
			argsAt = ws
		}
		for i := range args.Len {
			if args.Has(i) {
				offsets = append(offsets, argsAt+int64(i)*ws)
			}
		}
		for i := range locals.Len {
			if locals.Has(i) {
				offsets = append(offsets, localsEnd-int64(locals.Len-i)*ws)
			}
		}
	}
	l.live[pc] = offsets
	return offsets
}

// skipPointers reports whether a function only waits on behalf of another: what it has, that one has.
func skipPointers(name string) bool {
	for _, p := range []string{"runtime.", "sync.(*Mutex)", "sync.(*RWMutex)", "sync.(*WaitGroup).Wait", "sync.(*Cond)", "sync.runtime_", "internal/sync."} {
		if len(name) >= len(p) && name[:len(p)] == p {
			return true
		}
	}
	return false
}

// ofSync reports whether code is of a function that waits on behalf of another.
func (r *runtime) ofSync(pc uint64) bool {
	f, ok := r.im.GoFuncAt(pc - r.lib.LoadBias)
	return ok && skipPointers(f.Name())
}
