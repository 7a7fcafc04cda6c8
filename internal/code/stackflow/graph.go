package stackflow

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits of one analysis.
const (
	maxOps   = 1 << 16 // instructions
	maxPages = 512     // of 4 KB, that contain the code
	pageSize = 4096
)

// A graph is the code that control reaches from a function's start.
type graph struct {
	m     *machine
	code  Code
	start uint64
	end   uint64 // of the function, 0 if unknown
	mode  uint64 // the bit of code pointers that selects the instruction set

	ops   []op
	index map[uint64]*page
	last  *page // the page accessed last
	work  queue
	free  []*page

	in     disasm.Inst
	window []byte // code read from Code
	at     uint64 // address of window

	full   bool             // a limit was reached: the graph is incomplete
	gapped bool             // decoding code to which no path was found
	popped map[uint64]int64 // see pops
	tails  []Tail
	away   bool // control may go where nothing is known
}

// A page maps the addresses of 4 KB of code to the index of their instruction plus one.
type page struct {
	base uint64
	ops  [pageSize]int32
}

// find returns the index of the instruction at addr, or false if it has not been reached.
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

// pageOf returns the page for addr, or nil if there are too many.
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

// reach records that a jump leads to addr: code not yet decoded is added to the work.
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

// decodeRun decodes consecutive instructions from addr on, until control does not continue
// with the next one or that is already decoded.
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
		if n := len(g.ops); o.kind == opPop && n > 1 && g.ops[n-2].kind == opHere && g.ops[n-2].next() == addr && int64(o.size) == g.m.word {
			o.k = int64(addr) // the return address of the call before it, which leads here
		}
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

// predicate marks in as conditional if it is one of the next n instructions that a previous
// one made conditional. It returns the new count.
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

// add appends an op for the instruction at addr, which is in p. It returns nil if there are
// too many.
func (g *graph) add(p *page, addr uint64) *op {
	if p == nil || len(g.ops) == maxOps {
		g.full = true
		return nil
	}
	if len(g.ops) < cap(g.ops) {
		g.ops = g.ops[:len(g.ops)+1] // the old content is overwritten
	} else {
		g.ops = append(g.ops, op{})
	}
	p.ops[addr%pageSize] = int32(len(g.ops))
	return &g.ops[len(g.ops)-1]
}

// swapSlot puts the instruction in the delay slot of branch o before o, as it executes.
// They exchange addresses, so that the state at the slot's address is the one in which a
// called function finds the frame.
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
	if _, seen := g.find(branch.addr); seen { // something jumps to the slot
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

// follow queues the jump targets of o, and reports whether control may continue with the
// next instruction.
func (g *graph) follow(o *op) bool {
	switch o.flow {
	case flowJump:
		if g.leaves(o.target) {
			g.addTail(o)
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
			g.addTail(o)
			o.flow = flowNext
			return true
		}
		g.reach(o.target)
	case flowNext:
		if o.isCall {
			g.called(o)
		}
		if o.isCall && g.endsWith(o) {
			o.flow = flowStop
			return false
		}
	}
	return o.fallsThrough()
}

// called records what the function that o calls does to the registers.
func (g *graph) called(o *op) {
	if r := g.asksForPC(o.target); r != arch.NoReg {
		o.kind, o.dst, o.k, o.mask = opConst, r, int64(o.next()), 0
		o.sumUp()
		return
	}
	o.k = g.pops(o.target)
}

// leaves reports whether a jump to addr is a tail call.
func (g *graph) leaves(addr uint64) bool {
	return !g.inside(addr) && g.code.FuncAt(addr|g.mode)
}

// inside reports whether addr is known to be in the function.
func (g *graph) inside(addr uint64) bool {
	return addr == g.start || addr > g.start && addr < g.end
}

func (g *graph) addTail(o *op) {
	if len(g.tails) < maxTails {
		g.tails = append(g.tails, Tail{o.addr, o.target})
		return
	}
	g.away = true
}

// maxTails limits the number of recorded tail calls.
const maxTails = 64

// endsWith reports whether control ends with the call o, because the callee never returns
// or the function ends there.
func (g *graph) endsWith(o *op) bool {
	next := o.next()
	if g.end != 0 && next == g.end || !g.inside(next) && g.code.FuncAt(next|g.mode) {
		return true
	}
	target := o.target
	if target == 0 {
		target = g.bound(o)
	}
	return target != 0 && g.code.NoReturn(target|g.mode)
}

// bound is where the call o leads through a pointer at a fixed address that the program does not write to: compilers call other modules so
// without a linkage table. It is 0 for other calls. Nothing is added to an address that is relative to the instruction.
func (g *graph) bound(o *op) uint64 {
	m := g.in.Mem()
	if g.in.PC != o.addr|g.mode || m == nil || !m.RIPRelative {
		return 0
	}
	data := g.code.DataAt(uint64(m.Disp))
	if len(data) < g.m.arch.WordSize {
		return 0
	}
	return g.m.arch.Word(data[:g.m.arch.WordSize])
}

// A block is a sequence of instructions executed one after another.
type block struct {
	first, last int32 // indexes of its instructions
	in          []int32
	wide        bool // too many different stack pointers to keep paths apart
	pending     bool
	// still: no instruction before the last one changes anything that rows contain.
	still bool
}
