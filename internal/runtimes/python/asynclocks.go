package python

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/tasks"
)

// An asyncQueue is a method of asyncio in which a task waits in a row: the object's class, the attribute with the row, and what is
// waited for.
type asyncQueue struct {
	method, file, class, row string
	kind                     tasks.WaitKind
}

const (
	inLocks  = "/asyncio/locks.py"
	inQueues = "/asyncio/queues.py"
)

// asyncQueues are the methods of asyncio's classes in which tasks wait in a row.
var asyncQueues = [...]asyncQueue{
	{"Lock.acquire", inLocks, "asyncio.Lock", "_waiters", tasks.WaitLock},
	{"Semaphore.acquire", inLocks, "asyncio.Semaphore", "_waiters", tasks.WaitSemaphore},
	{"Condition.wait", inLocks, "asyncio.Condition", "_waiters", tasks.WaitCondition},
	{"Event.wait", inLocks, "asyncio.Event", "_waiters", tasks.WaitCondition},
	{"Queue.get", inQueues, "asyncio.Queue", "_getters", tasks.WaitReceive},
	{"Queue.put", inQueues, "asyncio.Queue", "_putters", tasks.WaitSend},
}

// maxRow limits how many of the futures in a row are looked at.
const maxRow = maxTasks

// asyncLocks says of tasks that wait in the row of a lock, a semaphore, a condition, an event or a queue of asyncio that it is one, and
// who may have the lock. asyncio records no owner: whoever is suspended in the body of an "async with" of a lock keeps its __aexit__.
// That is possible only, as the body may have given the lock back itself.
func (r *runtime) asyncLocks(all []*tasks.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waits := map[tasks.Key]uint64{} // the locks that tasks try to take
	in, proved := rows{}, false
	for _, t := range all {
		if t.Kind != tasks.KindAsync || t.Runtime != "python" || t.Wait == nil || len(t.Suspended) == 0 || r.p.Spend(64) != nil {
			continue
		}
		at, q := r.methodOf(t)
		if q == nil {
			continue
		}
		if q.kind == tasks.WaitLock {
			waits[t.Key] = at
		}
		if in.has(r, r.attribute(at, q.row), t.Wait.Object.Address) {
			w := *t.Wait
			w.Kind, w.Object = q.kind, tasks.Object{Address: at, Type: q.class}
			t.Wait = &w
			proved = proved || q.kind == tasks.WaitLock
		}
	}
	proved = proved || slices.ContainsFunc(all, func(t *tasks.Task) bool {
		return t.Kind == tasks.KindAsync && t.Runtime == "python" && t.Wait != nil && !t.Wait.Open
	})
	if !proved {
		return
	}
	holders := r.insideOf(all, waits)
	locked := map[uint64]bool{}
	for lock := range holders {
		locked[lock] = r.flag(lock, "_locked")
	}
	for _, t := range all {
		if t.Wait == nil || t.Wait.Kind != tasks.WaitLock || t.Wait.Object.Address != waits[t.Key] || !locked[waits[t.Key]] {
			continue
		}
		if h := holders[waits[t.Key]]; len(h) > 0 {
			t.Wait.Holders, t.Wait.Open = h, false
		}
	}
}

// insideOf returns the tasks that are in the bodies of locks for which others wait. A task that waits to enter keeps the __aexit__ of the
// lock, too; one that waits for a lock which it is in keeps two.
func (r *runtime) insideOf(all []*tasks.Task, waits map[tasks.Key]uint64) map[uint64][]tasks.Holder {
	holders := map[uint64][]tasks.Holder{}
	for _, t := range all {
		if t.Kind != tasks.KindAsync || t.Runtime != "python" || r.p.Spend(64) != nil {
			continue
		}
		entered := map[uint64]int{}
		for _, f := range t.Suspended {
			for _, lock := range r.exits(f.Object) {
				if t.Wait != nil && r.timesOut(lock) {
					w := *t.Wait
					w.Timed, t.Wait = true, &w
				}
				entered[r.conditionLock(lock)]++
			}
		}
		if len(t.Suspended) == 0 {
			continue
		}
		if at, q := r.methodOf(t); q != nil && q.kind == tasks.WaitCondition {
			entered[r.conditionLock(at)]-- // given back while the task waits to be told
		}
		for lock, n := range entered {
			if (lock != waits[t.Key] || n > 1) && n > 0 && len(holders[lock]) < maxHolders {
				holders[lock] = append(holders[lock], tasks.Holder{Key: t.Key, Certainty: tasks.Possible})
			}
		}
	}
	return holders
}

// timesOut reports whether an object is an asyncio.timeout that is going to cancel what is in its body.
func (r *runtime) timesOut(at uint64) bool {
	if t := r.typeAt(r.field(at, "object.type")); t == nil || t.name != "Timeout" {
		return false
	}
	handle := r.typeAt(r.field(r.attribute(at, "_timeout_handler"), "object.type"))
	return handle != nil && strings.HasSuffix(handle.name, "TimerHandle")
}

// conditionLock returns the lock of a condition; any other object is itself.
func (r *runtime) conditionLock(at uint64) uint64 {
	if t := r.typeAt(r.field(at, "object.type")); t != nil && t.name == "Condition" {
		if lock := r.attribute(at, "_lock"); lock != 0 {
			return lock
		}
	}
	return at
}

// methodOf is the object of which the innermost call of a task is a method, with what the method waits in; 0 if that is none of asyncio's.
func (r *runtime) methodOf(t *tasks.Task) (at uint64, found *asyncQueue) {
	f := t.Suspended[0]
	for i := range asyncQueues {
		q := &asyncQueues[i]
		if f.Function == q.method && strings.HasSuffix(f.File, q.file) {
			return r.word(f.Object+r.at("generator.frame")+r.at("frame.localsplus")) &^ r.tag(), q
		}
	}
	return 0, nil
}

// rows are the futures in the rows of objects, by the addresses of the rows: thousands of tasks may wait in one.
type rows map[uint64]map[uint64]bool

// has reports whether a future is in a row, a deque.
func (rs rows) has(r *runtime, row, future uint64) bool {
	in, read := rs[row]
	if !read {
		if of := r.typeAt(r.field(row, "object.type")); of != nil && isDeque(of) {
			items, _ := r.dequeItems(row, maxRow)
			in = make(map[uint64]bool, len(items))
			for _, v := range items {
				in[v] = true
			}
			_ = r.p.Spend(len(items))
		}
		rs[row] = in
	}
	return in[future]
}

// attribute returns the value of an attribute in an object's __dict__; 0 if there is none.
func (r *runtime) attribute(at uint64, name string) uint64 {
	t := r.typeAt(r.field(at, "object.type"))
	if t == nil {
		return 0
	}
	list, _, _ := r.attributes(at, t, maxVariables)
	for _, p := range list {
		if s, _ := r.str(p.key, maxName); s == name {
			return p.value
		}
	}
	return 0
}

// flag reports whether an attribute of an object is True.
func (r *runtime) flag(at uint64, name string) bool {
	v := r.attribute(at, name)
	if t := r.typeAt(r.field(v, "object.type")); t == nil || t.name != "bool" {
		return false
	}
	s, ok := r.integer(v)
	return ok && s == "1"
}

// exits returns the objects whose __aexit__ a suspended coroutine keeps among its operands: a method, or from 3.14 on the function and
// the object after it.
func (r *runtime) exits(coro uint64) (of []uint64) {
	frame := coro + r.at("generator.frame")
	c := r.codeIn(r.field(frame, "frame.code") &^ r.tag())
	if c == nil {
		return nil
	}
	if !c.namesRead {
		c.namesRead = true
		r.readNames(c)
	}
	first := frame + r.at("frame.localsplus") + uint64(len(c.names))*8
	top := r.operands(frame)
	if top <= first || top > first+maxOperands*8 {
		return nil
	}
	operands := r.words(first, (top-first)/8)
	for i, v := range operands {
		v &^= r.tag()
		if t := r.typeAt(r.field(v, "object.type")); t == nil || t.name != "method" && t.name != "function" {
			continue
		} else if t.name == "method" {
			if r.isExit(r.field(v, "method.function")) {
				of = append(of, r.word(v+r.at("method.function")+8))
			}
		} else if i+1 < len(operands) && r.isExit(v) {
			of = append(of, operands[i+1]&^r.tag())
		}
	}
	return of
}

// maxOperands limits how many operands of a call are looked at.
const maxOperands = 1 << 8

func (r *runtime) isExit(function uint64) bool {
	s, ok := r.str(r.field(function, "function.name"), maxName)
	return ok && s == "__aexit__"
}
