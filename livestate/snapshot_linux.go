package livestate

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits on the stacks that a Snapshot copies, in bytes.
const (
	// sureStack is copied for every thread, unless there are very many.
	sureStack = 128 << 10
	// maxStack is the longest stack that is copied completely: from the stack pointer
	// to the end of the mapping. Anything longer is the heap of a program that has its
	// stacks there.
	maxStack = 16 << 20
	// maxCopied is the limit for all threads together.
	maxCopied = 64 << 20
	// belowStack is copied below the stack pointer: red zones, and the rest of a page
	// that is partly used.
	belowStack = 512
)

// A Snapshot is a process at one moment: the registers of all threads, the mappings and
// the stacks as they were while all threads were stopped. It is an unwind.ProcessState
// of its own, and may be walked while the process continues, and after it has ended.
//
// What was not copied, and what does not change, is read from the process when it is
// needed, one page at a time, and kept. Late counts the pages of it that may have been
// written in between.
//
// All methods may be called by several goroutines.
type Snapshot struct {
	p       *Process
	arch    *arch.Arch
	maps    *mapList
	threads []snapThread // by number, but the default one first
	byID    map[unwind.ThreadID]*snapThread
	runs    []run // ascending, disjoint
	last    atomic.Uint32
	signal  corestate.SignalInfo
	pause   time.Duration
	more    uint64 // bytes that were copied besides stacks of threads

	mu     sync.RWMutex // guards the three below; no other lock is taken inside
	pages  map[arch.Address]*[pageSize]byte
	recent map[arch.Address]*[pageSize]byte // of those that came when pages was full; a task's stack is read word by word
	late   int
}

// Unchanging returns true: mappings are those of the moment, and code is read as if it were, as it seldom changes.
func (s *Snapshot) Unchanging() bool { return true }

var _ unwind.ProcessState = (*Snapshot)(nil)

type snapThread struct {
	id     unwind.ThreadID
	blocks map[uint32][]byte
	sp     arch.Address
	// asleep has the program counter and the stack pointer of a thread that the kernel
	// could not stop; err says why not all registers are known.
	asleep arch.RegSet
	err    error
}

// fxSaveSize is the size of the FXSAVE area, which is the block of NT_FPREGSET on
// x86-64 and the start of NT_X86_XSTATE.
const fxSaveSize = 512

// A run is a copied range of memory.
type run struct {
	start arch.Address
	data  []byte
}

// Snapshot stops all threads, copies their registers and stacks, and lets them
// continue, unless StopAll keeps them stopped.
func (p *Process) Snapshot() (*Snapshot, error) { return p.snapshot(func(*Snapshot) {}) }

// snapshot calls more while all threads are stopped.
func (p *Process) snapshot(more func(*Snapshot)) (*Snapshot, error) {
	s := &Snapshot{p: p, byID: map[unwind.ThreadID]*snapThread{}}
	err := p.call(func() error {
		begin := time.Now()
		p.t.stopAll(stopTimeout)
		defer func() {
			p.t.resumeAll()
			s.pause = time.Since(begin)
		}()
		if err := s.copy(); err != nil {
			return err
		}
		more(s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// copy copies everything. It is called on the tracing thread while all threads are
// stopped.
func (s *Snapshot) copy() error {
	p := s.p
	if s.maps = p.maps(); s.maps == nil {
		return fmt.Errorf("process %d: %w", p.pid, ErrExited)
	}
	s.arch, s.signal = p.Arch(), p.Signal()
	for _, l := range p.t.list() {
		s.threads = append(s.threads, s.copyThread(l))
	}
	if len(s.threads) == 0 {
		return fmt.Errorf("process %d: %w", p.pid, ErrExited)
	}
	first := unwind.ThreadID(p.pid)
	if f := p.fatal.Load(); f != nil {
		first = f.tid
	}
	slices.SortStableFunc(s.threads, func(a, b snapThread) int {
		if (a.id == first) != (b.id == first) {
			if a.id == first {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.id, b.id)
	})
	for i := range s.threads {
		s.byID[s.threads[i].id] = &s.threads[i]
	}
	s.copyStacks()
	return nil
}

func (s *Snapshot) copyThread(l *lwp) snapThread {
	th := snapThread{id: unwind.ThreadID(l.tid), blocks: map[uint32][]byte{}}
	if !l.stopped {
		th.err = fmt.Errorf("thread %d of process %d, in state %c: %w", l.tid, s.p.pid, taskState(s.p.pid, l.tid), ErrNotStopped)
		if sp, pc, ok := sleepingAt(s.p.pid, l.tid); ok {
			th.sp = sp
			th.asleep.Set(s.arch.SP, sp)
			th.asleep.Set(s.arch.PC, pc)
		}
		return th
	}
	notes := []uint32{ntPRStatus, fpNote(s.arch)}
	switch s.arch {
	case arch.AMD64, arch.X32:
		notes[1] = ntX86XState // begins with what NT_FPREGSET has
	case arch.X86:
		notes = append(notes, ntX86XState, nt386TLS)
	case arch.ARM64:
		notes = append(notes, ntARMPAC)
	}
	for _, n := range notes {
		b, err := s.p.t.block(l, n)
		if err != nil && n == ntPRStatus {
			th.err = err
			return th
		}
		th.blocks[n] = b
	}
	if b := th.blocks[ntX86XState]; s.arch != arch.X86 && len(b) >= fxSaveSize {
		th.blocks[ntFPRegSet] = b[:fxSaveSize]
	}
	if regs, err := s.arch.DecodeGRegSet(th.blocks[ntPRStatus]); err == nil {
		th.sp, _ = regs.Get(s.arch.SP)
	}
	return th
}

// A span is a range of addresses.
type span struct{ start, end arch.Address }

// copyStacks copies the used part of all stacks or, if that is too much, only the
// youngest part of each.
func (s *Snapshot) copyStacks() {
	spans, total := s.stacks(maxStack)
	for limit := uint64(sureStack); total > maxCopied && limit >= pageSize; limit /= 2 {
		spans, total = s.stacks(limit)
	}
	buf := make([]byte, total)
	for _, sp := range spans {
		n := sp.end - sp.start
		if got, _ := s.p.mem.direct(sp.start, buf[:n:n]); got > 0 {
			s.runs = append(s.runs, run{sp.start, buf[:got:got]})
		}
		buf = buf[n:]
	}
}

// stacks returns the ranges of the threads' stacks, ascending and disjoint: all of a
// stack of up to limit bytes, and the first part of a longer one.
func (s *Snapshot) stacks(limit uint64) (merged []span, total uint64) {
	spans := make([]span, 0, len(s.threads))
	for i := range s.threads {
		th := &s.threads[i]
		m, ok := s.maps.at(th.sp)
		if th.sp == 0 || !ok || m.Perm&libstate.Read == 0 {
			continue
		}
		sp := th.sp + s.arch.StackBias
		one := span{max(m.Start, (max(sp, belowStack)-belowStack)&^(pageSize-1)), m.End}
		if s.arch.StackGrowsUp {
			one = span{m.Start, min(m.End, (sp+2*pageSize)&^(pageSize-1))}
		}
		if one.end-one.start > limit {
			short := min(limit, sureStack)
			if s.arch.StackGrowsUp {
				one.start = one.end - short
			} else {
				one.end = one.start + short
			}
		}
		spans = append(spans, one)
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for _, sp := range spans {
		if n := len(merged); n > 0 && sp.start <= merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, sp.end)
			continue
		}
		merged = append(merged, sp)
	}
	for _, sp := range merged {
		total += sp.end - sp.start
	}
	return merged, total
}

// Pause returns how long the process was stopped for the snapshot.
func (s *Snapshot) Pause() time.Duration { return s.pause }

// PagesReadLate returns how many pages were read from the process afterwards, at most, that it may have
// written meanwhile: one that was not kept, and was read again, counts again.
func (s *Snapshot) PagesReadLate() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.late
}

// Process returns the process that this is a snapshot of.
func (s *Snapshot) Process() *Process { return s.p }

// find returns the copied memory from addr.
func (s *Snapshot) find(addr arch.Address) []byte {
	if i := int(s.last.Load()); i < len(s.runs) {
		if r := &s.runs[i]; addr >= r.start && addr-r.start < uint64(len(r.data)) {
			return r.data[addr-r.start:]
		}
	}
	i, _ := slices.BinarySearchFunc(s.runs, addr, func(r run, a arch.Address) int {
		if r.start <= a {
			return -1
		}
		return 1
	})
	if i == 0 {
		return nil
	}
	if r := &s.runs[i-1]; addr-r.start < uint64(len(r.data)) {
		s.last.Store(uint32(i - 1))
		return r.data[addr-r.start:]
	}
	return nil
}

// ReadMem reads what was copied, and otherwise what the process has now.
func (s *Snapshot) ReadMem(addr arch.Address, buf []byte) (int, error) {
	for n := 0; n < len(buf); {
		a := addr + uint64(n)
		if a < addr {
			return n, &arch.MemError{Addr: a, Err: arch.ErrUnmapped}
		}
		b := s.find(a)
		if b == nil {
			page, err := s.page(a)
			if err != nil {
				return n, err
			}
			b = page[a&(pageSize-1):]
		}
		n += copy(buf[n:], b)
	}
	return len(buf), nil
}

// ReadWord reads one pointer-sized integer.
func (s *Snapshot) ReadWord(addr arch.Address) (uint64, error) {
	size := s.arch.WordSize
	if b := s.find(addr); len(b) >= size {
		return decodeWord(b, size, s.arch.ByteOrder), nil
	}
	buf := make([]byte, 8)
	if _, err := s.ReadMem(addr, buf[:size]); err != nil {
		return 0, err
	}
	return decodeWord(buf, size, s.arch.ByteOrder), nil
}

// page returns the page that contains addr, as the process has it when it is first
// needed.
func (s *Snapshot) page(addr arch.Address) (*[pageSize]byte, error) {
	base := addr &^ (pageSize - 1)
	s.mu.RLock()
	page := s.kept(base)
	s.mu.RUnlock()
	if page != nil {
		return page, nil
	}
	m, mapped := s.maps.at(addr)
	if !mapped {
		return nil, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	page = new([pageSize]byte)
	if _, err := s.p.mem.direct(base, page[:]); err != nil {
		return nil, &arch.MemError{Addr: addr, Err: arch.ErrUnreadable}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.kept(base); known != nil {
		return known, nil
	}
	if s.pages == nil {
		s.pages, s.recent = make(map[arch.Address]*[pageSize]byte), make(map[arch.Address]*[pageSize]byte)
	}
	switch {
	case len(s.pages) < maxCached:
		s.pages[base] = page
	case len(s.recent) >= maxRecent:
		clear(s.recent)
		fallthrough
	default:
		s.recent[base] = page
	}
	if m.Perm&libstate.Write != 0 {
		s.late++
	}
	return page, nil
}

// maxRecent is how many pages are kept for a while.
const maxRecent = 1024

// kept returns a page that was read late and is still there. The caller holds mu.
func (s *Snapshot) kept(base arch.Address) *[pageSize]byte {
	if page := s.pages[base]; page != nil {
		return page
	}
	return s.recent[base]
}

// Arch returns the architecture of the program.
func (s *Snapshot) Arch() *arch.Arch { return s.arch }

// ProcessID returns the process's id.
func (s *Snapshot) ProcessID() int { return s.p.pid }

// ThreadIDs lists the threads that existed.
func (s *Snapshot) ThreadIDs() ([]unwind.ThreadID, error) {
	ids := make([]unwind.ThreadID, len(s.threads))
	for i := range s.threads {
		ids[i] = s.threads[i].id
	}
	return ids, nil
}

// DefaultThread is Process.DefaultThread.
func (s *Snapshot) DefaultThread() (unwind.ThreadID, error) { return s.threads[0].id, nil }

func (s *Snapshot) thread(tid unwind.ThreadID) (*snapThread, error) {
	if tid == unwind.NullThread {
		return &s.threads[0], nil
	}
	if th := s.byID[tid]; th != nil {
		return th, nil
	}
	return nil, fmt.Errorf("thread %d of process %d: %w", tid, s.p.pid, unwind.ErrNoThread)
}

// RegisterBlock is Process.RegisterBlock.
func (s *Snapshot) RegisterBlock(tid unwind.ThreadID) ([]byte, error) {
	th, err := s.thread(tid)
	if err == nil {
		err = th.err
	}
	if err != nil {
		return nil, err
	}
	return th.blocks[ntPRStatus], nil
}

// Unstopped lists the threads that the kernel could not stop because they were in
// uninterruptible sleep.
func (s *Snapshot) Unstopped() []unwind.ThreadID {
	var out []unwind.ThreadID
	for i := range s.threads {
		if s.threads[i].err != nil {
			out = append(out, s.threads[i].id)
		}
	}
	return out
}

// Registers decodes a thread's registers. For a thread that could not be stopped it has
// only the program counter and the stack pointer that the thread sleeps with.
func (s *Snapshot) Registers(tid unwind.ThreadID) (arch.RegSet, error) {
	th, err := s.thread(tid)
	if err != nil {
		return arch.RegSet{}, err
	}
	if _, known := th.asleep.Get(s.arch.PC); known {
		return th.asleep, nil
	}
	b, err := s.RegisterBlock(tid)
	if err != nil {
		return arch.RegSet{}, err
	}
	return decodeRegisters(s.arch, b, func(note uint32) []byte { return th.blocks[note] })
}

// FPRegs is Process.FPRegs.
func (s *Snapshot) FPRegs(tid unwind.ThreadID) ([]byte, bool) {
	return s.note(tid, fpNote(s.arch))
}

// XState is Process.XState.
func (s *Snapshot) XState(tid unwind.ThreadID) ([]byte, bool) { return s.note(tid, ntX86XState) }

// ThreadNote is Process.ThreadNote for the blocks that were copied: the floating-point
// registers, the extended state, the segments of i386.
func (s *Snapshot) ThreadNote(tid unwind.ThreadID, owner string, typ uint32) ([]byte, bool) {
	if owner != "LINUX" && owner != "CORE" || typ == ntPRStatus {
		return nil, false
	}
	return s.note(tid, typ)
}

func (s *Snapshot) note(tid unwind.ThreadID, typ uint32) ([]byte, bool) {
	th, err := s.thread(tid)
	if err != nil {
		return nil, false
	}
	b := th.blocks[typ]
	return b, b != nil
}

// CodeMask is Process.CodeMask.
func (s *Snapshot) CodeMask() arch.Address {
	if b, ok := s.note(unwind.NullThread, ntARMPAC); ok {
		return codeMask(s.arch, b)
	}
	return 0
}

// PreStackwalk does nothing: a snapshot does not change.
func (s *Snapshot) PreStackwalk(unwind.ThreadID) error { return nil }

// PostStackwalk does nothing.
func (s *Snapshot) PostStackwalk(unwind.ThreadID) error { return nil }

// IsFirstParty returns false.
func (s *Snapshot) IsFirstParty() bool { return false }

// LibraryTracker is Process.LibraryTracker.
func (s *Snapshot) LibraryTracker() libstate.LibraryState { return s.p.LibraryTracker() }

// ExecutablePath is Process.ExecutablePath.
func (s *Snapshot) ExecutablePath() string { return s.p.ExecutablePath() }

// Auxv is Process.Auxv.
func (s *Snapshot) Auxv() libstate.Auxv { return s.p.Auxv() }

// Mappings lists the mappings that existed.
func (s *Snapshot) Mappings() []libstate.Mapping { return slices.Clone(s.maps.list) }

// MappingAt returns the mapping that contained addr.
func (s *Snapshot) MappingAt(addr arch.Address) (libstate.Mapping, bool) { return s.maps.at(addr) }

// Signal returns the signal at which HoldFatal had stopped the process.
func (s *Snapshot) Signal() corestate.SignalInfo { return s.signal }

// ThreadName returns the name that a thread has now.
func (s *Snapshot) ThreadName(tid unwind.ThreadID) string { return s.p.ThreadName(tid) }
