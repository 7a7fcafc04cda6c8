package stackflow

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
)

// The bounds of one analysis.
const (
	maxOps   = 1 << 16 // instructions
	maxPages = 512     // of 4 KB, in which they lie
	pageSize = 4096
)

// A graph is the code that control reaches from a function's start.
type graph struct {
	m     *machine
	code  Code
	start uint64
	end   uint64 // of the function, 0 for not known
	mode  uint64 // the bit of code pointers that says which instruction set

	ops   []op
	index map[uint64]*page
	last  *page // the page looked at last
	work  queue
	free  []*page

	in     disasm.Inst
	window []byte // the code at hand
	at     uint64 // address of window

	full   bool             // a bound was hit: something is missing
	gapped bool             // code that no path seems to lead to is being decoded
	popped map[uint64]int64 // see pops
	tails  []uint64
	away   bool // control may leave to where nothing is known of
}

// A page holds for the addresses of 4 KB of code the numbers of their
// instructions plus one.
type page struct {
	base uint64
	ops  [pageSize]int32
}

// find is the number of the instruction at addr; false when it has not been met.
func (g *graph) find(addr uint64) (int, bool) {
	base := addr &^ (pageSize - 1)
	p := g.last
	if p == nil || p.base != base {
		if p = g.index[base]; p == nil {
			return 0, false
		}
		g.last = p
	}
	n := p.ops[addr-base]
	return int(n) - 1, n != 0
}

// pageOf is the page for addr; nil when there are too many.
func (g *graph) pageOf(addr uint64) *page {
	base := addr &^ (pageSize - 1)
	if p := g.last; p != nil && p.base == base {
		return p
	}
	p := g.index[base]
	if p == nil {
		if len(g.index) == maxPages {
			g.full = true
			return nil
		}
		p = g.newPage(base)
		g.index[base] = p
	}
	g.last = p
	return p
}

func (g *graph) newPage(base uint64) *page {
	if n := len(g.free); n > 0 {
		p := g.free[n-1]
		g.free = g.free[:n-1]
		*p = page{base: base}
		return p
	}
	return &page{base: base}
}

// reach notes that control gets to addr by a jump: that code is to be decoded, if
// it has not been.
func (g *graph) reach(addr uint64) {
	if i, ok := g.find(addr); ok {
		g.ops[i].leader = true
		return
	}
	g.work.push(addr)
}

// explore decodes all code that control reaches from the addresses in g.work.
func (g *graph) explore() {
	for len(g.work) > 0 {
		addr := g.work.pop()
		if i, ok := g.find(addr); ok {
			g.ops[i].leader = true
			continue
		}
		g.decodeRun(addr)
	}
}

// decodeRun decodes instructions one after the other from addr on, until control does
// not go on to the next one or that is known.
func (g *graph) decodeRun(addr uint64) {
	predicated := uint8(0)
	for leader := true; ; {
		p := g.pageOf(addr)
		if p == nil {
			return
		}
		if n := p.ops[addr%pageSize]; n != 0 {
			g.ops[n-1].leader = true
			return
		}
		o := g.add(p, addr)
		if o == nil {
			return
		}
		if g.decode(addr) != nil {
			*o = op{addr: addr, len: 1, flow: flowStop, leader: leader}
			return
		}
		predicated = predicate(&g.in, predicated)
		g.m.lower(o, &g.in, addr)
		o.sumUp()
		o.leader, o.num = leader, int32(len(g.ops))
		if o.slot {
			if o = g.swapSlot(o); o == nil {
				return
			}
		}
		if !g.follow(o) {
			return
		}
		leader = o.flow != flowNext
		addr = o.next()
	}
}

// predicate notes that in is conditional where it is one of n that an instruction
// before it said are, and answers how many that are now.
func predicate(in *disasm.Inst, n uint8) uint8 {
	switch {
	case in.Predicates > 0:
		return in.Predicates
	case n == 0:
		return 0
	case in.Kind == disasm.Jump:
		in.Kind = disasm.CondJump
	default:
		in.Conditional = true
	}
	return n - 1
}

// add appends an op for the instruction at addr, which is in p; nil when there
// are too many.
func (g *graph) add(p *page, addr uint64) *op {
	if p == nil || len(g.ops) == maxOps {
		g.full = true
		return nil
	}
	if len(g.ops) < cap(g.ops) {
		g.ops = g.ops[:len(g.ops)+1] // what is there is written over
	} else {
		g.ops = append(g.ops, op{})
	}
	p.ops[addr%pageSize] = int32(len(g.ops))
	return &g.ops[len(g.ops)-1]
}

// swapSlot puts the instruction in the delay slot of the branch o before o, as
// it runs. The two trade addresses, so that the state at the slot's address is
// the one in which a called function finds the frame.
func (g *graph) swapSlot(o *op) *op {
	branch := *o
	branch.addr = o.next()
	if g.decode(branch.addr) != nil {
		*o = op{addr: o.addr, len: 1, flow: flowStop, leader: o.leader}
		return nil
	}
	g.m.lower(o, &g.in, branch.addr)
	o.sumUp()
	branch.len, o.len = o.len, branch.len
	o.addr, o.leader, o.flow, o.isCall = branch.addr-uint64(o.len), branch.leader, flowNext, false
	if _, seen := g.find(branch.addr); seen { // somebody jumps to the slot
		g.ops = append(g.ops, op{})
	} else if g.add(g.pageOf(branch.addr), branch.addr) == nil {
		return nil
	}
	last := &g.ops[len(g.ops)-1]
	branch.leader = false
	*last = branch
	return last
}

// decode reads the instruction at addr into g.in.
func (g *graph) decode(addr uint64) error {
	if off := addr - g.at; off >= uint64(len(g.window)) || uint64(len(g.window))-off < disasm.MaxLen {
		g.window, g.at = g.code.CodeAt(addr), addr
	}
	return disasm.DecodeInto(&g.in, g.m.arch, g.window[addr-g.at:], addr|g.mode)
}

// follow queues where control goes from o beside the next instruction, and
// answers whether it may go on to that.
func (g *graph) follow(o *op) bool {
	switch o.flow {
	case flowJump:
		if g.leaves(o.target) {
			g.addTail(o.target)
			o.flow = flowStop
			return o.cond
		}
		if g.gapped && !g.inside(o.target) {
			o.flow = flowStop
			return o.cond
		}
		g.reach(o.target)
	case flowCond:
		if g.gapped && !g.inside(o.target) {
			o.flow = flowNext
			return true
		}
		if g.leaves(o.target) {
			g.addTail(o.target)
			o.flow = flowNext
			return true
		}
		g.reach(o.target)
	case flowNext:
		if o.isCall {
			o.k = g.pops(o.target)
		}
		if o.isCall && g.endsWith(o) {
			o.flow = flowStop
			return false
		}
	}
	return o.fallsThrough()
}

// leaves reports whether a jump to addr is a tail call.
func (g *graph) leaves(addr uint64) bool {
	return !g.inside(addr) && g.code.FuncAt(addr|g.mode)
}

// inside reports whether addr is known to be in the function.
func (g *graph) inside(addr uint64) bool {
	return addr == g.start || addr > g.start && addr < g.end
}

func (g *graph) addTail(addr uint64) {
	if len(g.tails) < maxTails {
		g.tails = append(g.tails, addr)
		return
	}
	g.away = true
}

// maxTails bounds the tail calls that are remembered.
const maxTails = 64

// endsWith reports whether nothing comes after the call o: it calls what never
// returns, or the function ends with it.
func (g *graph) endsWith(o *op) bool {
	next := o.next()
	if g.end != 0 && next == g.end || !g.inside(next) && g.code.FuncAt(next|g.mode) {
		return true
	}
	return o.target != 0 && g.code.NoReturn(o.target|g.mode)
}

// A block is instructions that are run one after the other.
type block struct {
	first, last int32 // numbers of its instructions
	in          []int32
	wide        bool // the stack pointer differs too much to keep paths apart
	pending     bool
	// still: no instruction before the last one changes what rows tell.
	still bool
}
