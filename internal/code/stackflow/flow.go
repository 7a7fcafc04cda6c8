package stackflow

import (
	"slices"

	"github.com/corewalk/corewalk/unwind/arch"
)

// maxPaths limits the number of different stack pointers with which one block is followed
// separately.
const maxPaths = 4

// maxPasses limits how often an instruction is executed, on average.
const maxPasses = 16

// An analysis is the working memory of Analyze. It is reused.
type analysis struct {
	graph
	machine  machine
	blocks   []block
	blockOf  []int32 // by instruction
	states   []stored
	nstates  int
	cur      state
	before   stored
	cursor   int
	executed int                 // instructions, so far
	jumps    map[int32]jumpTable // targets of indirect jumps, by instruction index
	ntargets int
	gaps     []int32 // instructions at which code without a known path begins
	donor    stored
	other    state // see widen
	heap     slotHeap
	woken    bool // some block's state has changed
	runs     []run
	order    blockOrder
	rows     rowBuilder
}

// split divides the instructions into blocks.
func (a *analysis) split() {
	a.blocks, a.blockOf = a.blocks[:0], a.blockOf[:0]
	a.nstates, a.cursor = 0, 0
	a.splitFrom(0)
}

// splitFrom divides the instructions from index i on, where a block begins.
func (a *analysis) splitFrom(i int) {
	first := i
	a.blockOf = slices.Grow(a.blockOf, len(a.ops)-i)
	for ; i < len(a.ops); i++ {
		if i == first || a.ops[i].leader || !a.plain(i-1) {
			a.newBlock(i)
		}
		n := len(a.blocks) - 1
		a.blocks[n].last = int32(i)
		a.blockOf = append(a.blockOf, int32(n))
	}
}

// newBlock appends a block that begins with instruction i.
func (a *analysis) newBlock(i int) {
	if len(a.blocks) < cap(a.blocks) {
		a.blocks = a.blocks[:len(a.blocks)+1]
	} else {
		a.blocks = append(a.blocks, block{})
	}
	b := &a.blocks[len(a.blocks)-1]
	*b = block{first: int32(i), in: b.in[:0]}
}

// splitMore divides the instructions from index n on, which were found after split, so that
// solving can continue. It returns false if control is found to continue after a call: that
// puts previous conclusions in doubt.
func (a *analysis) splitMore(n int) bool {
	for i := range a.blocks {
		b := &a.blocks[i]
		for k := b.last; k > b.first; k-- {
			if a.ops[k].leader && a.ops[k-1].isCall {
				return false
			}
		}
	}
	for i := range a.blocks {
		for k := a.blocks[i].last; k > a.blocks[i].first; k-- {
			if a.ops[k].leader {
				a.cut(i, k)
			}
		}
		if b := &a.blocks[i]; len(b.in) > 0 && a.ops[b.last].flow == flowIndirect {
			a.wake(i)
		}
	}
	a.splitFrom(n)
	return true
}

// cut splits block i at instruction k.
func (a *analysis) cut(i int, k int32) {
	a.newBlock(int(k))
	n := len(a.blocks) - 1
	b, rest := &a.blocks[i], &a.blocks[n]
	rest.last, b.last = b.last, k-1
	for o := rest.first; o <= rest.last; o++ {
		a.blockOf[o] = int32(n)
	}
	if len(b.in) > 0 {
		a.wake(i)
	}
}

// plain reports whether control continues from instruction i certainly and only with the
// next one. After a call in a cold part of the function, which the compiler moved away,
// that is not certain: such parts throw errors.
func (a *analysis) plain(i int) bool {
	o := &a.ops[i]
	return o.flow == flowNext && (!o.isCall || a.end == 0 || a.inside(o.addr))
}

// solve runs the blocks from the function's start until nothing changes. It returns false
// if that takes too long.
func (a *analysis) solve() bool {
	a.machine.initial(&a.cur)
	a.arrive(0, &a.cur)
	return a.settle()
}

// settle runs the blocks with new incoming states.
func (a *analysis) settle() bool {
	left := maxPasses*len(a.ops) + 4096
	for a.cursor < len(a.blocks) {
		b := &a.blocks[a.cursor]
		if !b.pending {
			a.cursor++
			continue
		}
		b.pending = false
		for v := 0; v < len(b.in); v++ {
			n := int(b.last-b.first) + 1
			a.executed += n
			if left -= n; left < 0 || a.heap.full() {
				return false
			}
			a.cur.load(&a.states[b.in[v]])
			mark := a.heap.heapMark
			a.woken = false
			if a.runBlock(b); !a.woken { // nobody stored the state
				a.heap.release(mark)
			}
		}
	}
	return true
}

// runBlock runs b on a.cur and passes the resulting state on.
func (a *analysis) runBlock(b *block) {
	s := &a.cur
	s.moved = false
	for i := b.first; i < b.last; i++ {
		o := &a.ops[i]
		if o.needs&s.known != 0 || o.must || o.cond {
			a.step(o)
		} else {
			s.lose(o.loses)
		}
	}
	b.still = !s.moved && len(b.in) == 1
	o := &a.ops[b.last]
	if o.cond && o.flow != flowNext {
		a.goTo(o.next(), &a.cur) // not taken: no effect
		a.machine.exec(&a.cur, o)
	} else {
		a.step(o)
	}
	a.leave(b, o)
}

// quickStep is step for use in loops.
func (a *analysis) quickStep(o *op) {
	if s := &a.cur; o.needs&s.known == 0 && !o.must && !o.cond {
		s.lose(o.loses)
	} else {
		a.step(o)
	}
}

// step executes o on a.cur. For a conditional instruction it keeps what holds in both
// cases.
func (a *analysis) step(o *op) {
	if !o.cond {
		a.machine.exec(&a.cur, o)
		return
	}
	a.before.take(&a.cur)
	a.machine.exec(&a.cur, o)
	a.before.merge(&a.cur)
	a.cur.load(&a.before)
}

// leave passes the state after o, the last instruction of b, to the successors.
func (a *analysis) leave(b *block, o *op) {
	switch o.flow {
	case flowNext:
		if o.isCall {
			a.afterCall(o)
		} else {
			a.goTo(o.next(), &a.cur)
		}
	case flowJump:
		a.goTo(o.target, &a.cur)
	case flowCond:
		a.branch(b, o)
	case flowIndirect:
		a.resolve(b, o)
	}
}

// afterCall continues after a call at the end of a block. Other code jumps there, so the
// call may be one that never returns.
func (a *analysis) afterCall(o *op) {
	soft := a.cur.soft
	a.cur.soft = true
	a.goTo(o.next(), &a.cur)
	a.cur.soft = soft
}

// branch continues both ways. If it follows a comparison of the stack pointer and the code
// jumps back as long as the operands differ (a loop that touches each page of a large
// frame), they are equal afterwards.
func (a *analysis) branch(b *block, o *op) {
	back := o.target <= o.addr
	if !back {
		a.goTo(o.target, &a.cur)
		a.goTo(o.next(), &a.cur)
		return
	}
	a.goTo(o.target, &a.cur)
	if b.last > b.first {
		if c := &a.ops[b.last-1]; c.kind == opCmpReg {
			a.equal(c.base, c.src)
		}
	}
	a.goTo(o.next(), &a.cur)
}

// equal sets the stack pointer to the value to which it is now known to be equal.
func (a *analysis) equal(x, y arch.Reg) {
	sp := a.machine.arch.SP
	if y == sp {
		x, y = y, x
	}
	if v := a.cur.get(y); x == sp && a.machine.onStack(v) {
		a.cur.put(sp, v)
	}
}

// goTo passes s to the block at addr.
func (a *analysis) goTo(addr uint64, s *state) {
	if i, ok := a.find(addr); ok {
		a.arrive(int(a.blockOf[i]), s)
	}
}

// arrive records that block n is reached with state s.
func (a *analysis) arrive(n int, s *state) {
	b := &a.blocks[n]
	sp := a.machine.arch.SP
	v := s.get(sp)
	for _, i := range b.in {
		t := &a.states[i]
		if w := t.get(sp); w == v || w.kind == unknown && b.wide {
			if w.kind == unknown && t.soft && !s.soft {
				break // everything known about the block is doubtful
			}
			if t.join(s) {
				a.wake(n)
			}
			return
		}
		if v.kind == unknown && s.soft && !t.soft {
			return
		}
	}
	switch {
	case b.wide:
		b.wide, b.in = v.kind == unknown, b.in[:0]
	case v.kind == unknown || len(b.in) == maxPaths:
		a.widen(b, s)
		a.wake(n)
		return
	}
	b.in = append(b.in, a.newState(s))
	a.wake(n)
}

// widen merges all of b's states and s into one.
func (a *analysis) widen(b *block, s *state) {
	b.wide = true
	if len(b.in) == 0 {
		b.in = append(b.in, a.newState(s))
		return
	}
	one := &a.states[b.in[0]]
	for _, i := range b.in[1:] {
		a.other.load(&a.states[i])
		one.join(&a.other)
	}
	b.in = b.in[:1]
	if one.join(s); one.soft == s.soft {
		one.lose(1 << a.machine.arch.SP)
	}
}

func (a *analysis) wake(n int) {
	a.woken = true
	a.blocks[n].pending = true
	a.cursor = min(a.cursor, n)
}

func (a *analysis) newState(s *state) int32 {
	if a.nstates == len(a.states) {
		a.states = append(a.states, stored{})
	}
	a.states[a.nstates] = stored{}
	a.states[a.nstates].take(s)
	a.nstates++
	return int32(a.nstates - 1)
}
