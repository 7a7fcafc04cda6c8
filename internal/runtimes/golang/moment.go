package golang

import (
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// At is the same runtime at another moment.
func (r *runtime) At(now *tasks.Process) tasks.Runtime {
	n := &runtime{memory: memory{procmem.Of(now.State).Charged(now.Spend), now, &names{}}, lib: r.lib, im: r.im, version: r.version, layout: r.layout, ptrAt: r.ptrAt, countAt: r.countAt}
	if n.readRoots() != nil {
		n.count = 0 // Tasks lists none
	}
	return n
}

// belowSP is how much below a saved stack pointer a walk may read, in bytes: the frame pointer that arm64 keeps there.
const belowSP = 16

// listBlock is how much of the list of goroutines is read at once, in bytes.
const listBlock = 1 << 16

// Needs copies the list of goroutines, their structures, and the used parts of the stacks of those that do not run.
func (r *runtime) Needs(mem arch.Memory, take func([][2]arch.Address)) {
	ws := uint64(r.Arch.WordSize)
	take([][2]arch.Address{{r.ptrAt, r.ptrAt + ws}, {r.countAt, r.countAt + ws}})
	list, err := mem.ReadWord(r.ptrAt)
	count, err2 := mem.ReadWord(r.countAt)
	if err != nil || err2 != nil || count > maxGoroutines {
		return
	}
	take([][2]arch.Address{{list, list + count*ws}})
	rec := r.of("g")
	var ranges [][2]arch.Address
	block := make([]byte, min(count*ws, listBlock)) // the length may be a lie
	for at, end := list, list+count*ws; at < end; {
		n, _ := mem.ReadMem(at, block[:min(end-at, uint64(len(block)))])
		for words := block[:n]; uint64(len(words)) >= ws; words = words[ws:] {
			if g := r.Arch.Word(words); g != 0 {
				ranges = append(ranges, [2]arch.Address{g, g + rec.size})
			}
		}
		if n < len(block) {
			break
		}
		at += uint64(n)
	}
	take(ranges)
	status, hi := rec.fields["atomicstatus"], rec.fields["stack.hi"]
	saved, syscall := rec.fields["sched.sp"], rec.fields["syscallsp"]
	g := make([]byte, rec.size)
	stacks := ranges[:0]
	for _, at := range ranges {
		if _, err := mem.ReadMem(at[0], g); err != nil {
			continue
		}
		sp := r.Arch.Word(g[saved:])
		switch r.Arch.ByteOrder.Uint32(g[status:]) &^ scanBit {
		case statusRunnable, statusWaiting, statusPreempted, statusLeaked:
		case statusSyscall:
			sp = r.Arch.Word(g[syscall:])
		default:
			continue
		}
		if end := r.Arch.Word(g[hi:]); sp > belowSP && sp < end && end-sp < 1<<20 {
			stacks = append(stacks, [2]arch.Address{sp - belowSP, end})
		}
	}
	take(stacks)
}
