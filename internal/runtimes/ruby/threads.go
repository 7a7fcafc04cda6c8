package ruby

import (
	"errors"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A thread is one of Ruby's.
type thread struct {
	at   uint64
	ec   uint64 // what it executes now: of the fiber that runs
	id   unwind.ThreadID
	name string
	gvl  uint64 // the thread that has the lock of the interpreter
}

// Limits of lists.
const (
	maxThreads = 1 << 14
	maxRactors = 1 << 10
)

// threadList lists the threads that live.
func (r *runtime) threadList() []thread {
	r.once.Do(func() {
		if r.has("vm.threads") {
			r.addThreads(r.vm+r.at("vm.threads"), r.Word(r.vm+r.at("vm.gvl")))
			return
		}
		for _, at := range r.linked(r.vm+r.at("vm.ractors"), maxRactors) {
			ractor := at - r.at("ractor.list")
			r.addThreads(ractor+r.at("ractor.threads"), r.Word(ractor+r.at("ractor.gvl")))
		}
	})
	return r.threads
}

// linked lists the links of a list: a circle of links each of which leads to the next and the one before.
func (r *runtime) linked(head uint64, most int) (list []uint64) {
	before := head
	for at := r.Word(head); at != head; at = r.Word(at) {
		if len(list) >= most || r.Word(at+8) != before || r.p.Spend(4) != nil {
			r.failed = errors.New("the list of its threads is damaged: some may be missing")
			break
		}
		list = append(list, at)
		before = at
	}
	return list
}

// addThreads adds those of a list.
func (r *runtime) addThreads(head, gvl uint64) {
	known := map[uint64]unwind.ThreadID{}
	if !r.has("thread.tid") && !r.has("native.tid") {
		ids, _ := r.p.State.ThreadIDs()
		for _, id := range ids {
			if regs, err := r.p.State.Registers(id); err == nil {
				if pointer, ok := regs.Get(arch.FSBase); ok && r.Arch == arch.AMD64 {
					known[pointer] = id
				}
			}
		}
	}
	for _, link := range r.linked(head, maxThreads) {
		t := thread{at: link - r.at("thread.list"), id: unwind.NullThread, gvl: gvl}
		if r.field(t.at, "thread.vm") != r.vm {
			continue
		}
		if t.ec = r.field(t.at, "thread.ec"); t.ec == 0 || r.field(t.ec, "ec.thread") != t.at {
			continue
		}
		switch {
		case r.has("thread.tid"):
			t.id, _ = r.p.ThreadKnownAs(uint64(r.number(t.at, "thread.tid")))
		case r.has("native.tid"):
			t.id, _ = r.p.ThreadKnownAs(uint64(r.number(r.field(t.at, "thread.native"), "native.tid")))
		default:
			t.id = known[r.field(t.at, "thread.pthread")]
		}
		t.name = r.memory.name(r.field(t.at, "thread.name"))
		r.threads = append(r.threads, t)
	}
}

// threadOf returns the thread of Ruby that a thread of the process is; nil for others.
func (r *runtime) threadOf(id unwind.ThreadID) *thread {
	list := r.threadList()
	for i := range list {
		if list[i].id == id && id != unwind.NullThread && id != 0 {
			return &list[i]
		}
	}
	return nil
}

// ThreadName implements tasks.ThreadNamer.
func (r *runtime) ThreadName(id unwind.ThreadID) string {
	if t := r.threadOf(id); t != nil {
		return t.name
	}
	return ""
}

// ThreadNotes implements tasks.ThreadNoter: who runs Ruby.
func (r *runtime) ThreadNotes(id unwind.ThreadID) []string {
	if t := r.threadOf(id); t != nil && t.gvl == t.at {
		return []string{"has the GVL"}
	}
	return nil
}
