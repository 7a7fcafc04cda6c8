package stackflow

import (
	"cmp"
	"slices"
	"sync"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A Func is the result of analysing a function. It is immutable.
type Func struct {
	Start uint64
	// Tails are the function's direct tail calls. TailsUnknown says that there may be others.
	Tails        []Tail
	TailsUnknown bool
	// Indirect are jumps of which it is not known where they lead, in ascending order.
	Indirect []uint64
	// Returns reports whether control can reach a return, as far as is known.
	Returns bool

	runs []run
	rows []Row
	// longest is the size in bytes of the longest run: a run that begins farther before an
	// address does not reach it.
	longest uint64
	overlap bool // some runs overlap
}

// A Tail is a jump to another function: the address of the jump, and where it leads.
type Tail struct{ At, To uint64 }

// A run is code whose instructions all have the same row.
type run struct {
	start, end uint64
	row        int32
	soft       bool
}

var pool = sync.Pool{New: func() any { return &analysis{} }}

// maxRounds limits how often an analysis starts again because of jump tables.
const maxRounds = 6

// Analyze analyses the function that begins at start, a code pointer. end is an upper bound
// on its end, or 0 if unknown: a call right before end then does not return. Analyze
// returns nil if there is no code, or too much of it.
func Analyze(a *arch.Arch, code Code, start, end uint64) *Func {
	f, _ := Measured(a, code, start, end)
	return f
}

// Measured is Analyze, and returns how many instructions it has decoded and executed, for a caller whom that may cost too much.
func Measured(a *arch.Arch, code Code, start, end uint64) (f *Func, work int) {
	x := pool.Get().(*analysis)
	defer x.release()
	x.reset(a, code, start, end)
	if x.run() {
		f = x.finish()
	}
	return f, x.executed + len(x.ops)
}

// run decodes and solves until no jump table leads to new code.
func (a *analysis) run() bool {
	a.work.push(a.start)
	a.explore()
	a.split()
	if a.full || len(a.ops) == 0 || !a.solve() {
		return false
	}
	for range maxRounds {
		n := len(a.ops)
		if !a.exploreTables() {
			return true
		}
		if a.full {
			return false
		}
		if a.splitMore(n) {
			if !a.settle() {
				return false
			}
			continue
		}
		if a.split(); !a.solve() {
			return false
		}
	}
	return false
}

// finish builds the Func of a solved analysis, after examining the code to which no path
// was found.
func (a *analysis) finish() *Func {
	if a.exploreGaps(); len(a.gaps) > 0 {
		a.split()
		if a.full || !a.solve() || !a.solveGaps() {
			return nil
		}
	}
	return a.result()
}

func (a *analysis) reset(ar *arch.Arch, code Code, start, end uint64) {
	if a.index == nil {
		a.index, a.jumps = map[uint64]*page{}, map[int32]jumpTable{}
	}
	a.machine = machineOf(ar, preserved(ar, code))
	a.graph = graph{m: &a.machine, code: code, start: start, end: end, ops: a.ops[:0], index: a.index, work: a.work[:0],
		free: a.free, tails: a.tails[:0]}
	if ar.Mode != arch.NoReg {
		a.mode = start & 1
		a.start = start &^ 1
	}
	a.ntargets, a.gaps, a.executed = 0, a.gaps[:0], 0
	a.rows.reset()
	a.heap.reset()
	a.cur.heap, a.other.heap = &a.heap, &a.heap
	a.before, a.donor = stored{}, stored{}
}

// maxPooled limits the memory that is kept for the next analysis, in instructions.
const maxPooled = maxOps

func (a *analysis) release() {
	if len(a.ops) > maxPooled {
		return
	}
	for _, p := range a.index {
		a.free = append(a.free, p)
	}
	clear(a.index)
	clear(a.jumps)
	a.last, a.window, a.code = nil, nil, nil
	a.rows.reset()
	pool.Put(a)
}

// exploreTables decodes the code to which jump tables lead, and reports whether any of it
// is new.
func (a *analysis) exploreTables() bool {
	before := len(a.ops)
	split := false
	for _, t := range a.jumps {
		for _, to := range t.to {
			if i, ok := a.find(to); !ok || !a.ops[i].leader {
				split = true
			}
			a.work.push(to)
		}
	}
	a.explore()
	return split || len(a.ops) != before
}

// result builds the Func of a solved analysis.
func (a *analysis) result() *Func {
	f := &Func{Start: a.start | a.mode, Tails: slices.Clone(a.tails), TailsUnknown: a.away || a.unresolved(), Indirect: a.indirect()}
	a.runs = a.runs[:0]
	for _, n := range a.order.of(a.blocks, a.ops) {
		b := &a.blocks[n]
		for _, v := range b.in {
			a.cur.load(&a.states[v])
			if b.still {
				a.runs = append(a.runs, run{a.ops[b.first].addr, a.ops[b.last].next(), a.rows.add(&a.machine, &a.cur, true), a.cur.soft})
				continue
			}
			mark := a.heap.heapMark
			a.blockRows(b)
			a.heap.release(mark)
		}
		if len(b.in) > 0 && a.ops[b.last].flow == flowRet {
			f.Returns = true
		}
	}
	f.rows = a.rows.rows
	byStart := func(x, y run) int { return cmp.Compare(x.start, y.start) }
	if !slices.IsSortedFunc(a.runs, byStart) { // blocks overlap
		slices.SortStableFunc(a.runs, byStart)
	}
	f.runs = slices.Clone(joinRuns(a.runs))
	end := uint64(0)
	for _, r := range f.runs {
		f.longest = max(f.longest, r.end-r.start)
		f.overlap = f.overlap || r.start < end
		end = max(end, r.end)
	}
	return f
}

// joinRuns merges consecutive runs with the same row; runs are in order.
func joinRuns(runs []run) []run {
	joined := runs[:0]
	for _, r := range runs {
		if n := len(joined) - 1; n >= 0 && joined[n].end == r.start && joined[n].row == r.row && joined[n].soft == r.soft {
			joined[n].end = r.end
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// blockRows appends the runs of b to a.runs; a.cur is the state at b's start.
func (a *analysis) blockRows(b *block) {
	s := &a.cur
	s.moved = true
	at := run{}
	for i := b.first; i <= b.last; i++ {
		o := &a.ops[i]
		if s.moved || o.addr != at.end {
			s.moved = false
			n := a.rows.add(&a.machine, s, len(b.in) == 1)
			if i == b.first || n != at.row || o.addr != at.end {
				if i > b.first {
					a.runs = append(a.runs, at)
				}
				at = run{o.addr, o.addr, n, s.soft}
			}
		}
		at.end = o.next()
		a.quickStep(o)
	}
	a.runs = append(a.runs, at)
}

// LeavesAt returns the indirect jumps before which the stack is as the caller left it: with these, control may leave the function. Those within
// it have its frame on the stack, or are followed by code that needs none.
func (f *Func) LeavesAt() []uint64 {
	var out []uint64
	var buf [4]*Row
	first, _ := f.Rows(buf[:0], f.Start)
	if len(first) != 1 {
		return nil
	}
	bare := first[0].CFA
	for _, at := range f.Indirect {
		if rows, sure := f.Rows(buf[:0], at); sure && len(rows) == 1 && rows[0].CFA == bare {
			out = append(out, at)
		}
	}
	return out
}

// Rows appends to dst the rows for the instruction that contains pc: none if no path is
// known to lead there, and several if paths arrive with different stack pointers. Rows of
// doubtful paths (after a call that may never return, or through an indirect jump that is
// not understood) are left out if there are others; sure says that there are.
func (f *Func) Rows(dst []*Row, pc uint64) (rows []*Row, sure bool) {
	i, _ := slices.BinarySearchFunc(f.runs, pc+1, func(r run, at uint64) int { return cmp.Compare(r.start, at) })
	n, soft := len(dst), false
	for i--; i >= 0 && pc-f.runs[i].start < f.longest; i-- {
		if !f.overlap && len(dst) > n {
			break
		}
		r := &f.runs[i]
		if pc >= r.end {
			continue
		}
		row := &f.rows[r.row]
		switch {
		case len(dst) == n, soft && !r.soft:
			dst, soft = append(dst[:n], row), r.soft
		case r.soft && !soft, slices.ContainsFunc(dst[n:], row.sameFrame):
		default:
			dst = append(dst, row)
		}
	}
	return dst, !soft && len(dst) > n
}
