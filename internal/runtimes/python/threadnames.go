package python

import (
	"strconv"

	"github.com/corewalk/corewalk/unwind"
)

// maxNamed is the most threads of threading whose names are read, and maxOfThread the most attributes of one that are looked through.
const (
	maxNamed    = 1 << 14
	maxOfThread = 1 << 8
)

// ThreadName implements tasks.ThreadNamer: it is the name that a threading.Thread has. The system keeps 15 bytes of it at most, and
// only from 3.14 on.
func (r *runtime) ThreadName(id unwind.ThreadID) string {
	s := r.state(id)
	if s == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.threadNames == nil {
		r.threadNames = map[uint64]map[uint64]string{}
	}
	names, ok := r.threadNames[s.interp]
	if !ok {
		names = r.namesIn(s.interp)
		r.threadNames[s.interp] = names
	}
	return names[r.long(s.at, "thread.thread_id")]
}

// namesIn reads the names of an interpreter's threads, by their idents: threading keeps the threads that run in a dict. Threads that C
// made are not in it until they ask for their own object, which gets a name of its own: "Dummy-1".
func (r *runtime) namesIn(interp uint64) map[uint64]string {
	names := map[uint64]string{}
	r.eachThread(interp, func(ident uint64, attributes []pair) {
		for _, a := range attributes {
			if key, _ := r.str(a.key, maxName); key != "_name" {
				continue
			}
			if s, whole := r.str(a.value, maxText); whole {
				names[ident] = s
			}
		}
	})
	return names
}

// eachThread calls yield for the threads of threading that run in an interpreter, with the attributes of their objects.
func (r *runtime) eachThread(interp uint64, yield func(ident uint64, attributes []pair)) {
	module := r.get(r.field(interp, "interp.modules"), "threading", maxModules)
	active := r.get(r.field(module, "module.dict"), "_active", 1<<10)
	if t := r.typeAt(r.field(active, "object.type")); t == nil || t.flags&flagDict == 0 {
		return
	}
	list, _, _ := r.pairs(active, maxNamed)
	for _, p := range list {
		number, ok := r.integer(p.key)
		ident, err := strconv.ParseUint(number, 10, 64)
		t := r.typeAt(r.field(p.value, "object.type"))
		if !ok || err != nil || t == nil || r.p.Spend(8) != nil {
			continue
		}
		attributes, _, _ := r.attributes(p.value, t, maxOfThread)
		yield(ident, attributes)
	}
}
