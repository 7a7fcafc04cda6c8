package slim

import (
	"math"
	"slices"
	"sort"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
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
	// overflow is how far below its stack a stack pointer may be, in bytes: the kernel keeps so much free below a stack that
	// grows (stack_guard_gap of mm/mmap.c), and frames are seldom larger.
	overflow = 256 * page
	// maxInterrupted is how many stacks are kept on which a signal handler interrupted one thread.
	maxInterrupted = 4
	// maxWholeStack is how much is kept of a stack of which only the memory itself says where it ends.
	maxWholeStack = 64 << 20
	// stackTop is how much of the end of the first stack is kept: the arguments and the environment.
	stackTop = 32 << 10
	// aroundTLS is how much is kept on both sides of a thread pointer: the C library's description of the thread.
	aroundTLS = 2 * page
	// maxData is the largest mapping of a module's data that is kept whole.
	maxData = 128 << 10
	// scanned is how much of each stack is searched for pointers.
	scanned = 64 << 10
)

// A Choice says how much memory is kept besides what was read. Sizes are in bytes.
type Choice struct {
	Reach uint64 // of what registers and stacks point to
	// Stack is how much of each stack is kept whether something read it or not; 0 for 256 KiB.
	Stack uint64
	// Data is how large a mapping of a module's data may be to be kept whole; 0 for 128 KiB.
	Data uint64
	// Follow is how often pointers are followed from memory that is kept because something points to it.
	Follow int
	// Most limits all that is kept, but what was read and the stack of the thread that died; 0 for no limit.
	Most uint64
	// Over reports that there is no time to search for more; nil for never.
	Over func() bool
}

// Collect chooses the memory to keep: what was read, and what debuggers and reports that have more files
// at hand are going to read.
func Collect(p Process, read *corestate.Reads, c Choice) *Wanted {
	if c.Stack == 0 {
		c.Stack = maxStack
	}
	if c.Data == 0 {
		c.Data = maxData
	}
	w := &Wanted{}
	for a := range read.Pages() {
		w.add(a, a+page, ReadByReport)
	}
	ids, _ := p.ThreadIDs()
	ids = crashedFirst(p, ids)
	var starts [2][]uint64 // words that may be pointers: of the thread that died, of the others
	for i, id := range ids {
		regs, err := p.Registers(id)
		if err != nil {
			continue
		}
		for r := arch.Reg(0); r < arch.MaxRegs; r++ {
			if v, ok := regs.Get(r); ok {
				starts[min(i, 1)] = append(starts[min(i, 1)], v)
			}
		}
		size := c.Stack
		if c.Most > 0 {
			if size = max(size, deepest); i > 0 {
				size = min(c.Stack, firstOfStack) // of each, before more of any
			}
		}
		w.stacks(p, &regs, size, c.Stack)
		w.threadPointer(p, &regs)
		if i == 0 && c.Most > 0 {
			w.most = uint64(len(w.pages)) + c.Most/page
		}
	}
	w.started(p)
	w.modules(p, c.Data)
	for _, id := range ids {
		if c.Most == 0 || c.Stack <= firstOfStack {
			break
		}
		if regs, err := p.Registers(id); err == nil {
			w.stacks(p, &regs, c.Stack, c.Stack)
		}
	}
	w.reach(p, ids, starts, c)
	return w
}

// crashedFirst returns the threads, the one that died first.
func crashedFirst(p Process, ids []unwind.ThreadID) []unwind.ThreadID {
	d, ok := p.(interface {
		DefaultThread() (unwind.ThreadID, error)
	})
	if !ok {
		return ids
	}
	id, err := d.DefaultThread()
	if i := slices.Index(ids, id); err == nil && i > 0 {
		return slices.Concat(ids[i:i+1], ids[:i], ids[i+1:])
	}
	return ids
}

// Add wants the memory [lo, hi), which is there for a reason that no other has.
func (w *Wanted) Add(lo, hi uint64) { w.add(lo, hi, PointedTo) }

// Drop wants the page of addr no longer: it cannot be read.
func (w *Wanted) Drop(addr uint64) {
	delete(w.pages, addr/page)
	w.sorted = nil
}

// Runs calls f for each range of wanted memory that the core has, ascending.
func (w *Wanted) Runs(c *corestate.ELFCore, f func(lo, hi uint64)) {
	for _, r := range w.runs(c) {
		f(r.lo, r.hi)
	}
}

// stacks wants the thread's stack and, if it is that of a signal handler, those that the signals interrupted, at most size
// bytes of each, but of a handler's no more than others have. No walk says where they are: it may be too early for one.
func (w *Wanted) stacks(p Process, regs *arch.RegSet, size, others uint64) {
	a := p.Arch()
	sp, ok := regs.Get(a.SP)
	if !ok {
		return
	}
	list := []run{stackOf(p, sp, size)}
	buf := make([]byte, scanned)
	for i := 0; i < len(list) && i <= maxInterrupted; i++ { // a handler may have been interrupted, too
		at := list[i].lo
		if i == 0 {
			at = max(at, sp&^uint64(a.WordSize-1)) // not what is left of earlier calls
		}
		n, _ := p.DumpMemory().ReadMem(at, buf[:min(scanned, list[i].hi-at)])
		for sp, pc := range steppers.StacksSaved(a, buf[:n]) {
			if len(list) > maxInterrupted {
				break
			}
			if m, ok := p.MappingAt(pc); !ok || m.Perm&libstate.Exec == 0 {
				continue
			}
			m, ok := stackAt(p, sp)
			from := max(sp, m.Start)
			if !ok || slices.ContainsFunc(list, func(r run) bool { return r.lo <= from && from < r.hi }) {
				continue
			}
			list = append(list, stackOf(p, sp, size))
		}
	}
	if len(list) > 1 {
		list[0] = stackOf(p, sp, min(size, others))
	}
	for _, r := range list {
		w.add(r.lo, r.hi, Stacks)
	}
}

// stackAt returns the mapping of the stack that sp is of, which may have overflowed: sp is then below it, where nothing is, or in
// memory that guards it.
func stackAt(p Process, sp uint64) (libstate.Mapping, bool) {
	if m, ok := p.MappingAt(sp); ok && m.Perm&libstate.Write != 0 {
		return m, true
	}
	all := p.Mappings()
	i := sort.Search(len(all), func(i int) bool { return all[i].End > sp })
	for ; i < len(all) && all[i].Start-min(sp, all[i].Start) <= overflow; i++ {
		if all[i].Perm&libstate.Write != 0 {
			return all[i], true
		}
	}
	return libstate.Mapping{}, false
}

// stackOf returns the stack from the stack pointer on, at most size bytes of it.
func stackOf(p Process, sp, size uint64) run {
	m, ok := stackAt(p, sp)
	if !ok {
		return run{}
	}
	sp = max(sp, m.Start)
	limit := size
	if k, ok := p.(interface{ KnowsMappings() bool }); ok && !k.KnowsMappings() {
		// Where a minidump has memory is all that says how far the stack goes: a gap would end it.
		limit = maxWholeStack
	}
	return run{max(m.Start, sp-min(sp, redZone)), min(m.End, sp+min(limit, ^sp))}
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
func (w *Wanted) modules(p Process, data uint64) {
	for _, m := range p.Mappings() {
		if m.Path == "" {
			continue
		}
		if m.Offset == 0 {
			w.add(m.Start, min(m.End, m.Start+page), Headers)
		}
		if m.Perm&libstate.Write != 0 && m.End-m.Start <= data {
			w.add(m.Start, m.End, ModuleData)
		}
	}
}

// reach wants the pages of writable memory that registers and the youngest part of each stack point to, at
// most so many bytes of them: first what registers point to, and first what the thread that died leads to.
func (w *Wanted) reach(p Process, ids []unwind.ThreadID, starts [2][]uint64, c Choice) {
	r := reacher{w: w, p: p, left: c.Reach, over: c.Over, words: math.MaxInt}
	if c.Follow == 0 {
		r.all(slices.Concat(starts[0], starts[1]))
		r.stacks(ids)
		return
	}
	r.words, r.seen = maxWords, map[uint64]bool{}
	first := min(1, len(ids))
	for i, threads := range [][]unwind.ThreadID{ids[:first], ids[first:]} {
		r.all(starts[i])
		r.stacks(threads)
		for range c.Follow {
			r.follow()
		}
		r.next = nil
		if i > 0 {
			break
		}
		for _, m := range p.Mappings() {
			if m.Path != "" && m.Perm&libstate.Write != 0 && m.End-m.Start <= c.Data {
				r.memory(m.Start, make([]byte, m.End-m.Start))
			}
		}
		r.follow()
		r.follow()
	}
}

// object wants what a JIT compiler made for debuggers at v: an ELF file.
func (r *reacher) object(v, end uint64) {
	var magic [4]byte
	if n, _ := r.p.DumpMemory().ReadMem(v, magic[:]); n < 4 || string(magic[:]) != "\x7fELF" {
		return
	}
	size := min(end-v, maxObject, r.left)
	r.left -= size
	r.w.add(v, v+size, PointedTo)
}

// A reacher follows pointers.
type reacher struct {
	w     *Wanted
	p     Process
	left  uint64 // bytes that may still be wanted
	words int    // that may still be looked at
	over  func() bool
	next  []uint64        // addresses that are pointed to, to be followed
	seen  map[uint64]bool // the lines of them all; nil if none are followed
}

const (
	// deepest is how much of the stack of the thread that died is kept if memory is limited: stacks overflow at 8 MiB.
	deepest = 8<<20 + stackTop
	// firstOfStack is how much of each stack is kept before more of any is, if memory is limited.
	firstOfStack = 32 << 10
	// maxWords limits how many words are taken for pointers.
	maxWords = 1 << 20
	// maxObject is how much of an ELF file in memory is kept.
	maxObject = 64 << 10
	// line is how close addresses are, in bytes, to be followed once for all.
	line = 64
	// behind and ahead are how much memory around an address that is pointed to is searched for pointers.
	behind, ahead = 64, 448
)

func (r *reacher) want(v uint64) {
	if r.words--; r.words < 0 || r.words%256 == 0 && r.over != nil && r.over() {
		r.words = 0
		return
	}
	_, have := r.w.pages[v/page]
	if have && (r.seen == nil || r.seen[v/line]) || !have && r.left < page {
		return
	}
	m, ok := r.p.MappingAt(v)
	if !ok || m.Perm&libstate.Write == 0 && (r.seen == nil || m.Path != "") {
		return
	}
	if !have {
		r.left -= page
		r.w.add(v, v+1, PointedTo)
	}
	if r.seen != nil && v%8 == 0 {
		r.object(v, m.End)
	}
	if r.seen != nil && !r.seen[v/line] {
		r.seen[v/line] = true
		r.next = append(r.next, v)
	}
}

func (r *reacher) all(values []uint64) {
	for _, v := range values {
		r.want(v)
	}
}

// stacks looks at the youngest part of each stack.
func (r *reacher) stacks(ids []unwind.ThreadID) {
	a := r.p.Arch()
	buf := make([]byte, scanned)
	for _, id := range ids {
		if r.left < page || r.words <= 0 {
			return
		}
		regs, err := r.p.Registers(id)
		if err != nil {
			continue
		}
		sp, _ := regs.Get(a.SP)
		r.memory(sp, buf)
	}
}

func (r *reacher) memory(at uint64, buf []byte) {
	a := r.p.Arch()
	n, _ := r.p.DumpMemory().ReadMem(at, buf)
	for b := buf[:n]; len(b) >= a.WordSize && r.words > 0; b = b[a.WordSize:] {
		r.want(a.Word(b))
	}
}

// follow looks at what is around the addresses that were pointed to.
func (r *reacher) follow() {
	list := r.next
	r.next = nil
	buf := make([]byte, behind+ahead)
	for _, v := range list {
		if r.words <= 0 {
			return
		}
		v &^= 7
		if lo := v - behind; lo/page == v/page {
			r.memory(lo, buf)
		} else {
			r.memory(v, buf[:ahead])
		}
	}
}
