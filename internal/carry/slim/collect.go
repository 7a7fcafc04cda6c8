package slim

import (
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Process is a dump whose memory is chosen from.
type Process interface {
	Arch() *arch.Arch
	ThreadIDs() ([]unwind.ThreadID, error)
	Registers(unwind.ThreadID) (arch.RegSet, error)
	MappingAt(arch.Address) (libstate.Mapping, bool)
	Mappings() []libstate.Mapping
	DumpMemory() arch.Memory
}

const (
	page = corestate.ReadPage
	// redZone is what functions may use below the stack pointer, in bytes: 128 on x86-64, 288 on ppc64.
	redZone = 512
	// maxStack is how much of a stack is kept whether something read it or not. The walk of a deeper one reads
	// what debuggers need of it.
	maxStack = 256 << 10
	// stackTop is how much of the end of the first stack is kept: the arguments and the environment.
	stackTop = 32 << 10
	// aroundTLS is how much is kept on both sides of a thread pointer: the C library's description of the thread.
	aroundTLS = 2 * page
	// maxData is the largest mapping of a module's data that is kept whole.
	maxData = 128 << 10
	// scanned is how much of each stack is searched for pointers.
	scanned = 64 << 10
)

// Collect chooses the memory to keep: what was read, and what debuggers and reports that have more files
// at hand are going to read. reach is how many bytes that registers and stacks point to are kept besides.
func Collect(p Process, read *corestate.Reads, reach uint64) *Wanted {
	w := &Wanted{}
	for a := range read.Pages() {
		w.add(a, a+page, ReadByReport)
	}
	var starts []uint64 // words to search for pointers
	ids, _ := p.ThreadIDs()
	for _, id := range ids {
		regs, err := p.Registers(id)
		if err != nil {
			continue
		}
		for r := arch.Reg(0); r < arch.MaxRegs; r++ {
			if v, ok := regs.Get(r); ok {
				starts = append(starts, v)
			}
		}
		w.stack(p, &regs)
		w.threadPointer(p, &regs)
	}
	w.started(p)
	w.modules(p)
	w.reach(p, ids, starts, reach)
	return w
}

// stack wants the thread's stack from its stack pointer on.
func (w *Wanted) stack(p Process, regs *arch.RegSet) {
	sp, ok := regs.Get(p.Arch().SP)
	if !ok {
		return
	}
	m, ok := p.MappingAt(sp)
	if !ok {
		return
	}
	w.add(max(m.Start, sp-min(sp, redZone)), min(m.End, sp+maxStack), Stacks)
}

// started wants what the process was started with: the auxiliary vector, the arguments and the environment, at
// the end of the first stack.
func (w *Wanted) started(p Process) {
	linux, ok := p.(interface{ Auxv() libstate.Auxv })
	if !ok {
		return
	}
	at, ok := linux.Auxv().Get(libstate.ATRandom)
	if m, mapped := p.MappingAt(at); ok && mapped {
		w.add(max(m.Start, m.End-min(m.End, stackTop)), m.End, Stacks)
	}
}

// threadPointer wants what the C library keeps at the thread pointer.
func (w *Wanted) threadPointer(p Process, regs *arch.RegSet) {
	r := arch.NoReg // elsewhere it is a register like others, or stacks lie beside it
	switch p.Arch() {
	case arch.AMD64:
		r = arch.FSBase
	case arch.X86:
		r = arch.X86GSBase
	}
	v, ok := regs.Get(r)
	if m, mapped := p.MappingAt(v); ok && mapped && m.Perm&libstate.Write != 0 {
		w.add(max(m.Start, v-min(v, aroundTLS)), min(m.End, v+aroundTLS), Stacks)
	}
}

// modules wants the headers of files, which have their build-ids, and their data if it is small.
func (w *Wanted) modules(p Process) {
	for _, m := range p.Mappings() {
		if m.Path == "" {
			continue
		}
		if m.Offset == 0 {
			w.add(m.Start, min(m.End, m.Start+page), Headers)
		}
		if m.Perm&libstate.Write != 0 && m.End-m.Start <= maxData {
			w.add(m.Start, m.End, ModuleData)
		}
	}
}

// reach wants the pages of writable memory that registers and the youngest part of each stack point to, at
// most so many bytes of them: first what registers point to.
func (w *Wanted) reach(p Process, ids []unwind.ThreadID, starts []uint64, limit uint64) {
	want := func(v uint64) {
		if _, ok := w.pages[v/page]; ok || limit < page {
			return
		}
		if m, ok := p.MappingAt(v); ok && m.Perm&libstate.Write != 0 {
			limit -= page
			w.add(v, v+1, PointedTo)
		}
	}
	for _, v := range starts {
		want(v)
	}
	a := p.Arch()
	buf := make([]byte, scanned)
	for _, id := range ids {
		if limit < page {
			return
		}
		regs, err := p.Registers(id)
		if err != nil {
			continue
		}
		sp, _ := regs.Get(a.SP)
		n, _ := p.DumpMemory().ReadMem(sp, buf)
		for b := buf[:n]; len(b) >= a.WordSize; b = b[a.WordSize:] {
			want(a.Word(b))
		}
	}
}
