package native

import (
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A moving process runs on while its memory is read.
type moving interface {
	// Asleep returns the system call in which a thread sleeps now.
	Asleep(unwind.ThreadID) (livestate.Sleep, bool)
	// ReadNow reads memory as it is now.
	ReadNow(arch.Address, []byte) (int, error)
}

// A present is a moving process whose memory is that of now.
type present struct {
	unwind.ProcessState
	now moving
}

func (p present) ReadMem(addr arch.Address, buf []byte) (int, error) { return p.now.ReadNow(addr, buf) }

func (p present) ReadWord(addr arch.Address) (uint64, error) {
	var buf [8]byte
	size := p.Arch().WordSize
	if _, err := p.now.ReadNow(addr, buf[:size]); err != nil {
		return 0, err
	}
	if size == 4 {
		return uint64(p.Arch().ByteOrder.Uint32(buf[:4])), nil
	}
	return p.Arch().ByteOrder.Uint64(buf[:]), nil
}

// OwnThreadID and Mappings are those of the snapshot.
func (p present) OwnThreadID(id unwind.ThreadID) uint64 {
	if own, ok := p.ProcessState.(tasks.OwnThreadIDs); ok {
		return own.OwnThreadID(id)
	}
	return uint64(id)
}

func (p present) Mappings() []libstate.Mapping {
	if all, ok := p.ProcessState.(interface{ Mappings() []libstate.Mapping }); ok {
		return all.Mappings()
	}
	return nil
}

// again says of a moving process who holds what a thread waits for: what was read of that may be newer than the thread's
// wait, when it had the lock itself. It is read again, and counts only if the thread slept in the same call all the time.
func (r *runtime) again(tid unwind.ThreadID, call *futexCall, fn *waitFunction, at *unwind.Frame, sp arch.Address, w *tasks.Wait) {
	now, ok := r.p.State.(moving)
	if !ok || len(w.Holders) == 0 {
		return
	}
	before, ok := now.Asleep(tid)
	second := tasks.Wait{Kind: w.Kind, Object: tasks.Object{Address: call.addr}}
	if ok && r.Arch.Truncate(before.Args[0]) == call.addr && before.SP == sp {
		state := present{r.p.State, now}
		fresh := &runtime{Reader: procmem.Of(state).Charged(r.p.Spend), p: &tasks.Process{State: state, Files: r.p.Files, Modules: r.p.Modules, Symbols: r.p.Symbols,
			Names: r.p.Names, Budget: r.p.Budget}, base: map[uint64]uint64{}, libc: r.libc, windows: r.windows,
			variables: r.variables, files: r.files}
		fn.describe(fresh, call, at, &second)
		if after, sleeps := now.Asleep(tid); sleeps && after == before {
			w.Holders, w.Note, w.Object, w.Proved, w.Abandoned = second.Holders, second.Note, second.Object, second.Proved, second.Abandoned
			r.namedMu.Lock()
			defer r.namedMu.Unlock()
			if r.slept == nil {
				r.slept = map[unwind.ThreadID]livestate.Sleep{}
			}
			r.slept[tid] = after
			return
		}
	}
	w.Holders, w.Proved = nil, false
}

// stillAsleep forgets who holds what a thread of a moving process waits for, if the thread has gone on since that was read:
// so what is said of several threads was true at one moment.
func (r *runtime) stillAsleep(all []*tasks.Task) {
	now, ok := r.p.State.(moving)
	if !ok {
		return
	}
	r.namedMu.Lock()
	defer r.namedMu.Unlock()
	for _, t := range all {
		before, read := r.slept[t.Thread]
		if !read || t.Kind != tasks.KindThread || t.Wait == nil || len(t.Wait.Holders) == 0 {
			continue
		}
		if after, ok := now.Asleep(t.Thread); !ok || after != before {
			t.Wait.Holders, t.Wait.Proved = nil, false
		}
	}
}
