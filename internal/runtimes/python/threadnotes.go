package python

import "github.com/corewalk/corewalk/unwind"

// ThreadNotes implements tasks.ThreadNoter: which thread has the lock of its interpreter, or had it last, and whether it collects garbage. A collection
// may give the lock away while it runs the program's code: it need not be the thread that has it now which collects.
func (r *runtime) ThreadNotes(id unwind.ThreadID) (notes []string) {
	for _, g := range r.gils() {
		switch {
		case !g.known || g.holder != id:
			continue
		case !g.held:
			notes = append(notes, "had the GIL last; no thread has it")
			continue
		}
		notes = append(notes, "has the GIL")
		if s := r.state(id); s != nil && r.collecting(s.interp) {
			notes = append(notes, "garbage is being collected")
		}
	}
	return notes
}

// Behind its three generations the state of a collector has the youngest of them, the permanent one and statistics of each; then
// whether a collection runs. A generation has the head of a list and two ints.
const (
	oldestCollecting, newestCollecting = 8, 13
	statistics                         = 3 * 24
)

// collecting reports whether a collection of garbage runs.
func (r *runtime) collecting(interp uint64) bool {
	if r.free || r.minor < oldestCollecting || r.minor > newestCollecting {
		return false
	}
	at := uint64(0)
	switch {
	case r.has("interp.generations"):
		at = interp + r.at("interp.generations")
	case r.has("runtime.generations"):
		at = r.root - r.at("runtime.interpreters_head") + r.at("runtime.generations")
	default:
		return false
	}
	generation := r.at("gc.head") + 8
	return r.u32(at+3*generation+8+generation+statistics) == 1
}
