package golang

import (
	"context"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// waitKind says what the runtime's word for a wait means. Words that are not listed are of
// the runtime itself.
func waitKind(reason string) tasks.WaitKind {
	for _, inBubble := range []string{" (durable)", " (synctest)"} { // Go 1.25, and 1.24
		reason = strings.TrimSuffix(reason, inBubble)
	}
	switch reason {
	case "chan receive":
		return tasks.WaitReceive
	case "chan send":
		return tasks.WaitSend
	case "chan receive (nil chan)", "chan send (nil chan)", "select (no cases)":
		return tasks.WaitForever
	case "select":
		return tasks.WaitSelect
	case "sleep":
		return tasks.WaitTimer
	case "IO wait":
		return tasks.WaitIO
	case "sync.Mutex.Lock", "sync.RWMutex.Lock":
		return tasks.WaitLock
	case "sync.RWMutex.RLock":
		return tasks.WaitReadLock
	case "sync.WaitGroup.Wait", "synctest.Run", "synctest.Wait":
		return tasks.WaitBarrier
	case "sync.Cond.Wait":
		return tasks.WaitCondition
	case "semacquire":
		return tasks.WaitSemaphore
	case "coroutine":
		return tasks.WaitFuture
	}
	return tasks.WaitRuntime
}

// kindByFrame says what a goroutine waits for that waits for a semaphore: the function of
// package sync that asked for it. Versions before 1.20 have the same word for all of them.
var kindByFrame = []struct {
	function string
	kind     tasks.WaitKind
}{
	{"sync.(*Mutex).", tasks.WaitLock}, {"internal/sync.(*Mutex).", tasks.WaitLock}, {"sync.(*RWMutex).RLock", tasks.WaitReadLock},
	{"sync.(*RWMutex).Lock", tasks.WaitLock}, {"sync.(*WaitGroup).", tasks.WaitBarrier},
	{"sync.(*Once).", tasks.WaitOnce},
}

// Limits on lists in the process's memory.
const (
	maxCases = 1 << 16 // of a select; Go allows so many
	maxQueue = 1 << 20
	// queuedCost is what a sudog costs of the budget, above all in memory: an entry of a map, and its bytes.
	queuedCost = 64
	// perGoroutine is how many sudogs of one goroutine may be in one queue: a select may name a channel more than once.
	perGoroutine = 16
	maxTypeOf    = 256 // bytes of a type's name
)

// Wait says what a goroutine waits for. The frames tell which lock's semaphore it is.
func (r *runtime) Wait(ctx context.Context, t *tasks.Task, frames []*unwind.Frame) *tasks.Wait {
	o, ok := t.Handle.(object)
	if !ok || t.State != tasks.StateWaiting {
		return nil
	}
	reason := strings.TrimSuffix(t.Status, " (scan)")
	kind := waitKind(reason)
	w := &tasks.Wait{Kind: kind, Reason: reason}
	switch kind {
	case tasks.WaitReceive, tasks.WaitSend, tasks.WaitSelect:
		r.channels(&o, w)
	case tasks.WaitForever:
		w.Proved = true
	case tasks.WaitTimer:
		w.Timed = true
	case tasks.WaitCondition:
		r.condition(&o, w, frames)
	case tasks.WaitSemaphore, tasks.WaitLock, tasks.WaitReadLock, tasks.WaitBarrier:
		r.semaphore(&o, w, frames)
	}
	return w
}

// channels adds the channels that a goroutine waits for: one, or those of a select in the
// order of their addresses. Each sudog of g.waiting has one; it is proved when the
// channel's own queue has the sudog, too.
func (r *runtime) channels(o *object, w *tasks.Wait) {
	rec := r.of("sudog")
	at := o.word("waiting")
	seen := map[uint64]bool{}
	w.Proved = at != 0
	for at != 0 && !seen[at] && len(seen) < maxCases && r.p.Spend(4) == nil {
		seen[at] = true
		s, ok := r.object(rec, at)
		if !ok || s.word("g") != o.at {
			w.Proved = false
			break
		}
		ch := s.second("c")
		obj, c, ok := r.channel(ch)
		if !ok {
			w.Proved = false
			break
		}
		receives, sends := r.queued(&c, "recvq.first", at), r.queued(&c, "sendq.first", at)
		kind := tasks.WaitSend
		if receives {
			kind = tasks.WaitReceive
		}
		w.Proved = w.Proved && receives != sends
		w.Timed = w.Timed || c.word("timer") != 0
		if w.Kind == tasks.WaitSelect {
			w.Cases = append(w.Cases, tasks.Case{Kind: kind, Object: obj})
		} else {
			w.Object = obj
		}
		at = s.word("waitlink")
	}
	if at != 0 { // a circle, or what is no part of such a list
		w.Proved, w.Note = false, noteDamaged
	}
}

const noteDamaged = "the list of what it waits for is damaged"

// second is a pointer that from Go 1.26 on is a pair, whose second word is the one to trust:
// the detection of leaks takes the first away for a while.
func (o *object) second(field string) uint64 {
	if o.has(field + ".vu") {
		return o.word(field + ".vu")
	}
	return o.word(field)
}

// channel describes a channel.
func (r *runtime) channel(at uint64) (tasks.Object, object, bool) {
	c, ok := r.object(r.of("hchan"), at)
	if !ok {
		return tasks.Object{}, c, false
	}
	n, size := c.word("qcount"), c.word("dataqsiz")
	if n > size {
		return tasks.Object{}, c, false
	}
	obj := tasks.Object{Address: at, Type: "chan", Detail: "unbuffered"}
	if size != 0 {
		obj.Detail = fmt.Sprintf("%d of %d buffered", n, size)
	}
	if c.u32("closed") != 0 {
		obj.Detail += ", closed"
	}
	if name := r.elemName(c.word("elemtype")); name != "" {
		obj.Type = "chan " + name
	}
	return obj, c, true
}

// maxElems is how many names of types are remembered.
const maxElems = 1024

// elemName is typeName, and remembers: most channels have elements of a few types.
func (r *runtime) elemName(at uint64) string {
	r.queuesLock.Lock()
	name, ok := r.elems[at]
	r.queuesLock.Unlock()
	if ok {
		return name
	}
	name = r.typeName(at)
	r.queuesLock.Lock()
	defer r.queuesLock.Unlock()
	if r.elems == nil {
		r.elems = map[uint64]string{}
	}
	if len(r.elems) < maxElems && name != "" {
		r.elems[at] = name
	}
	return name
}

// A queueKey is one of a channel's two queues.
type queueKey struct {
	channel uint64
	queue   string
}

// queued reports whether one of a channel's queues has a sudog. A thousand goroutines may wait in one queue, and each
// asks.
func (r *runtime) queued(c *object, queue string, sudog uint64) bool {
	first := c.word(queue)
	if first == 0 || first == sudog { // as in most queues, which have one: nothing of it is kept
		return first != 0
	}
	key := queueKey{c.at, queue}
	r.queuesLock.Lock()
	defer r.queuesLock.Unlock()
	list, ok := r.queues[key]
	if !ok {
		list = r.queue(first)
		if r.queues == nil {
			r.queues = map[queueKey]map[uint64]bool{}
		}
		r.queues[key] = list
	}
	return list[sudog]
}

// queue reads the list of sudogs that begins at one.
func (r *runtime) queue(at uint64) map[uint64]bool {
	next, ok := r.of("sudog").off("next")
	list := map[uint64]bool{}
	most := min(maxQueue, perGoroutine*r.count)
	for at != 0 && !list[at] && uint64(len(list)) < most && r.p.Spend(queuedCost) == nil {
		list[at] = true
		if !ok {
			break
		}
		at, _ = r.word(at + next)
	}
	return list
}

// typeName reads the name of a type from its descriptor: its name's offset is from the start
// of the module's types. A name is flags, a length and text; a flag says that its first byte, a star, does not count.
func (r *runtime) typeName(at uint64) string {
	t, ok := r.object(r.of("rtype"), at)
	if !ok {
		return ""
	}
	types, ok := r.symbol("types")
	if !ok {
		return ""
	}
	const (
		extraStar = 2
		tflagOff  = 4 // after Size_, PtrBytes and Hash
	)
	b := r.bytes(types+uint64(t.u32("str")), 3)
	if b == nil {
		return ""
	}
	n, used := uint64(b[1]), uint64(2)
	if b[1]&0x80 != 0 {
		n, used = uint64(b[1]&0x7f)|uint64(b[2])<<7, 3
	}
	if n > maxTypeOf {
		return ""
	}
	name, ok := r.text(types+uint64(t.u32("str"))+used, n)
	if !ok {
		return ""
	}
	if flags := 2*r.Arch.WordSize + tflagOff; flags < len(t.data) && t.data[flags]&extraStar != 0 {
		name = strings.TrimPrefix(name, "*")
	}
	return name
}
