package perl

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where the GNU C library keeps what pthread_getspecific returns, in bytes from the thread pointer of x86-64: of the first keys, each with a number before it
// that is not 0 while it is used; then where the lists of the others are.
const (
	specificValues = 0x310
	specificLists  = specificValues + specificKeys*specificSize
	specificSize   = 16
	specificKeys   = 32
	maxKeys        = 1024
)

// interpreterOf returns the interpreter that a thread runs; false if it runs none.
func (r *runtime) interpreterOf(id unwind.ThreadID) (uint64, bool) {
	if at, ok := r.specific(id); ok {
		return at, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.seen[id]; ok {
		return at, true
	}
	for _, at := range r.seen {
		if at == r.first {
			return 0, false
		}
	}
	ids, _ := r.p.State.ThreadIDs()
	for _, other := range ids {
		if other < id {
			return 0, false
		}
	}
	for _, other := range ids {
		if at, ok := r.specific(other); ok && at == r.first {
			return 0, false
		}
	}
	return r.first, true
}

// specific asks as pthread_getspecific does for the interpreter of a thread; false if it has none, or if where that is is not known.
func (r *runtime) specific(id unwind.ThreadID) (uint64, bool) {
	if !r.keyed || r.slot >= maxKeys || r.p.State.Arch() != arch.AMD64 {
		return 0, false
	}
	regs, err := r.p.State.Registers(id)
	if err != nil {
		return 0, false
	}
	pointer, ok := regs.Get(arch.FSBase)
	if !ok || pointer == 0 || pointer%8 != 0 {
		return 0, false
	}
	list := pointer + specificValues
	if r.slot >= specificKeys {
		if list = r.Word(pointer + specificLists + 8*uint64(r.slot/specificKeys-1)); list == 0 {
			return 0, false
		}
	}
	slot := list + specificSize*uint64(r.slot%specificKeys)
	at := r.Word(slot + 8)
	return at, r.Word(slot) != 0 && r.isInterpreter(at) // what another C library has there is none
}

// running finds the interpreter that the frames of a thread run; false if they show none.
func (r *runtime) running(id unwind.ThreadID, frames []*unwind.Frame) (uint64, bool) {
	if !r.threads {
		return 0, true
	}
	if at, ok := r.specific(id); ok {
		return at, true
	}
	seen := map[uint64]bool{}
	for _, f := range frames {
		if !r.own(f) {
			continue
		}
		for m := r.Arch.CalleeSaved; m != 0; m &^= arch.Mask(m.First()) { // functions of Perl have their interpreter in one of them
			v, _, ok := f.Reg(m.First())
			if !ok || v == 0 || v%8 != 0 || seen[v] {
				continue
			}
			seen[v] = true
			if r.p.Spend(4) != nil {
				return 0, false
			}
			if r.isInterpreter(v) {
				return v, true
			}
		}
	}
	return r.interpreterOf(id)
}
