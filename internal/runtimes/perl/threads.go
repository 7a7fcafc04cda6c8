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
	if r.threads {
		if at, known := r.specific(id); known {
			return at, at != 0
		}
	}
	r.mu.Lock()
	at, seen := r.seen[id]
	others := len(r.seen)
	r.mu.Unlock()
	if seen {
		return at, true
	}
	if others > 0 && !r.threads {
		return 0, false
	}
	ids, _ := r.p.State.ThreadIDs()
	for _, other := range ids {
		if other < id {
			return 0, false
		}
	}
	return r.first, true
}

// specific asks as pthread_getspecific does for the interpreter of a thread, 0 if it has none; false if where that is is not known.
func (r *runtime) specific(id unwind.ThreadID) (at uint64, known bool) {
	if !r.keyed || r.slot >= maxKeys || r.p.State.Arch() != arch.AMD64 {
		return 0, false
	}
	regs, err := r.p.State.Registers(id)
	if err != nil {
		return 0, false
	}
	pointer, ok := regs.Get(arch.FSBase)
	if !ok || pointer == 0 || pointer%8 != 0 || r.Word(pointer) != pointer {
		return 0, false
	}
	list := pointer + specificValues
	if r.slot >= specificKeys {
		if list = r.Word(pointer + specificLists + 8*uint64(r.slot/specificKeys-1)); list == 0 {
			return 0, true
		}
	}
	slot := list + specificSize*uint64(r.slot%specificKeys)
	used, ok := r.LookupWord(slot)
	if !ok {
		return 0, false
	}
	if at = r.Word(slot + 8); used == 0 || at == 0 {
		return 0, true
	}
	if !r.isInterpreter(at) { // another C library, or damage
		return 0, false
	}
	return at, true
}

// saved are the registers that functions keep for their callers: the functions of Perl have their interpreter in one of them.
func saved(a *arch.Arch) (list []arch.Reg) {
	switch a {
	case arch.AMD64:
		list = []arch.Reg{arch.RBX, arch.RBP, arch.R12, arch.R13, arch.R14, arch.R15}
	case arch.ARM64:
		for i := range arch.Reg(10) {
			list = append(list, arch.ARM64X19+i)
		}
	}
	return list
}

// running finds the interpreter that the frames of a thread run; false if they show none.
func (r *runtime) running(id unwind.ThreadID, frames []*unwind.Frame) (uint64, bool) {
	if !r.threads {
		return 0, true
	}
	if at, known := r.specific(id); known {
		return at, at != 0
	}
	for _, f := range frames {
		if !r.own(f) {
			continue
		}
		for _, reg := range saved(r.Arch) {
			if v, _, ok := f.Reg(reg); ok && r.isInterpreter(v) {
				return v, true
			}
		}
	}
	return r.interpreterOf(id)
}
