package analysis

import (
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// tracedOf is the allocator behind a heap, if it keeps which calls its blocks are of.
func tracedOf(h heap.Allocator) (heap.Traced, bool) {
	if p, ok := h.(*partlyRead); ok {
		if p.reads.left <= 0 {
			return nil, false
		}
		h = p.Allocator
	}
	t, ok := h.(heap.Traced)
	return t, ok
}

// beside is the block whose neighbourhood an address is in, of an allocator that leaves room between blocks to find that out; else the block itself.
func beside(h heap.Allocator, b heap.Block, addr uint64) (heap.Allocator, heap.Block) {
	if t, ok := tracedOf(h); ok && !b.Contains(addr) {
		if near, ok := t.Beside(addr); ok {
			return h, near
		}
	}
	return h, b
}

// history finds who allocated a block, and who freed it.
func (e *Engine) history(h heap.Allocator, b heap.Block, out *report.Block) {
	t, ok := tracedOf(h)
	if !ok {
		return
	}
	if p, ok := h.(*partlyRead); ok { // it searches the data of libraries: what else is said of the heap must not be lost by that
		p.reads.left, p.past = p.past, p.reads.left
		defer func() { p.reads.left, p.past = p.past, p.reads.left }()
	}
	found, ok := t.History(b)
	if !ok {
		return
	}
	out.Allocated = e.blockEvent(&found.Allocated)
	out.Allocated.By = found.How
	if found.Freed != nil {
		out.Freed = e.blockEvent(found.Freed)
	}
}

// blockEvent names the calls of a stack that an allocator kept. The first is its own function's.
func (e *Engine) blockEvent(v *heap.Event) *report.BlockEvent {
	out := &report.BlockEvent{Thread: v.Thread}
	lookup, _ := e.Walker.SymbolLookup().(unwind.CallLookup)
	for i, at := range v.Stack {
		if i == 0 && len(v.Stack) > 1 {
			continue
		}
		var calls []unwind.Call
		if lookup != nil {
			calls, _ = lookup.LookupCalls(at-1, nil)
		}
		if len(calls) == 0 {
			out.Calls = append(out.Calls, report.BlockCall{Address: report.Addr(at)})
		}
		for k := len(calls) - 1; k >= 0; k-- {
			out.Calls = append(out.Calls, report.BlockCall{Address: report.Addr(at), Function: calls[k].Name, Source: source(calls[k])})
		}
	}
	return out
}

// pastOf says who allocated a block, and who freed it, where the allocator keeps that.
func (c *crash) pastOf(b heap.Block) string {
	var k report.Block
	c.history(c.heap(), b, &k)
	text := ""
	if k.Allocated != nil && len(k.Allocated.Calls) > 0 {
		text = ", allocated " + k.Allocated.Text()
	}
	if k.Freed != nil && len(k.Freed.Calls) > 0 {
		text += ", freed " + k.Freed.Text()
	}
	return text
}
