package tasks

import (
	"slices"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The threads of a dump that was taken outside of the process's pid namespace (gcore of a container) have other ids than
// the process's memory has: in the owners of its locks, for one. The C library keeps the id of each thread in the control
// block that the thread's pointer refers to, and that is what it writes as the owner.

// A controlBlock says where a C library has a thread's id.
type controlBlock struct {
	self uint64 // of the block's own address, besides at 0
	tid  uint64
}

// glibc to 2.41 (nptl/descr.h) and musl 1.2 (src/internal/pthread_impl.h).
var (
	controlBlocks64 = []controlBlock{{16, 720}, {0, 48}}
	controlBlocks32 = []controlBlock{{8, 104}, {0, 24}}
)

// maxThreadID is the largest id that Linux gives, PID_MAX_LIMIT.
const maxThreadID = 1 << 22

// ownIDs returns the ids by which a process knows its threads, as its memory has them; nil if they are those of ids, or if that is not proved:
// every control block refers to itself, and the ids are different ones that the threads got in the same order.
func ownIDs(state unwind.ProcessState, ids []unwind.ThreadID) map[unwind.ThreadID]uint64 {
	var blocks []controlBlock
	var pointer arch.Reg
	switch a := state.Arch(); a {
	case arch.AMD64:
		blocks, pointer = controlBlocks64, arch.FSBase
	case arch.X86:
		blocks = controlBlocks32
		pointer, _ = a.RegByName("gs_base")
	default:
		return nil
	}
	bases := make(map[unwind.ThreadID]uint64, len(ids))
	for _, id := range ids {
		regs, err := state.Registers(id)
		if err != nil {
			return nil
		}
		base, ok := regs.Get(pointer)
		if !ok || base == 0 {
			return nil
		}
		bases[id] = base
	}
	for _, b := range blocks {
		if own := b.ids(state, bases); own != nil {
			if slices.ContainsFunc(ids, func(id unwind.ThreadID) bool { return own[id] == uint64(id) }) {
				return nil // the same namespace
			}
			return own
		}
	}
	return nil
}

// ids reads the ids of threads in their control blocks; nil if these are none.
func (b controlBlock) ids(state unwind.ProcessState, bases map[unwind.ThreadID]uint64) map[unwind.ThreadID]uint64 {
	threads := make([]unwind.ThreadID, 0, len(bases))
	for id, base := range bases {
		first, err := state.ReadWord(base)
		again, err2 := state.ReadWord(base + b.self)
		if err != nil || err2 != nil || first != base || again != base {
			return nil
		}
		threads = append(threads, id)
	}
	slices.Sort(threads)
	own := make(map[unwind.ThreadID]uint64, len(threads))
	last := uint64(0)
	for _, id := range threads {
		v, err := state.Arch().ReadUint(state, bases[id]+b.tid, 4)
		if err != nil || v <= last || v > maxThreadID {
			return nil
		}
		own[id], last = v, v
	}
	return own
}
