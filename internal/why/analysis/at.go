package analysis

import (
	"context"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// maxStackFrames is how many frames of a stack are walked to find an address on it.
const maxStackFrames = 4096

// At says what is at an address. Variables of the program are found by the debug information of the functions on the stacks, where there are
// any, else by symbols.
func (e *Engine) At(ctx context.Context, addr unwind.Address) report.Place {
	e.asked, e.wholeHeaps, e.naming = true, fact[[]heap.Allocator]{}, nil // no question uses up what another may read
	defer func() { e.asked = false }()
	return e.whatIsAt(ctx, addr)
}

// whatIsAt is At for a report, which reads little.
func (e *Engine) whatIsAt(ctx context.Context, addr unwind.Address) report.Place {
	p := report.Place{Address: report.Addr(addr)}
	m, mapped := e.Proc.MappingAt(addr)
	if mapped {
		p.Mapping = &report.PlaceMapping{Start: report.Addr(m.Start), End: report.Addr(m.End), Perm: m.Perm.String(), Offset: report.Addr(m.Offset), File: m.Path}
	} else if !e.PartialMaps {
		p.Kind = report.PlaceNone
	}
	if e.inLibrary(ctx, &p, addr, mapped && m.Perm&(libstate.Exec|libstate.Unknown) == 0) || !mapped {
		return p
	}
	switch {
	case m.Perm&(libstate.Read|libstate.Write|libstate.Exec|libstate.Unknown) == 0:
		if e.besideMemory(m) {
			p.Kind = report.PlaceGuard
		}
	case e.asked && e.besideStacks(ctx, &p):
	case e.onStack(ctx, &p, m):
	case m.Perm&libstate.Write != 0 && m.Path == "":
		e.inBlock(ctx, &p)
	case reason.SharedMemory(m.Path):
		p.Kind = report.PlaceShared
	case m.Path != "" && m.Path[0] != '[':
		p.Kind = report.PlaceFile
	}
	return p
}

// inLibrary says what is at an address of a library. data says that no code is there.
func (e *Engine) inLibrary(ctx context.Context, p *report.Place, addr unwind.Address, data bool) bool {
	libs := e.Proc.LibraryTracker()
	if libs == nil {
		return false
	}
	lib, ok := libs.LibraryAt(addr)
	if !ok {
		return false
	}
	p.Module, p.Offset, p.Kind = lib.Path, report.Addr(addr-lib.LoadBias), report.PlaceData
	if lib.Kind == libstate.VDSO {
		p.Kind = report.PlaceVDSO
	}
	if name, entry, ok := e.function(addr); ok && !data {
		p.Function, p.FunctionOffset = name, uint64(addr-entry)
		if p.Kind == report.PlaceData {
			p.Kind = report.PlaceCode
		}
		return true
	}
	name, t := e.ownersIn(e.died()).variableAt(addr, 0)
	if name == "" && data && e.usesMusl() {
		if _, b, ok := e.blockAt(uint64(addr)); ok && !b.Own && b.Contains(uint64(addr)) { // what is left of a library's last page is the allocator's
			p.Module, p.Offset = "", 0
			e.inBlock(ctx, p)
			return true
		}
	}
	p.Variable = name
	if t != nil {
		p.Type = t.Name()
	}
	return true
}

// function is the innermost function at an address, and where it begins.
func (e *Engine) function(addr unwind.Address) (name string, entry unwind.Address, ok bool) {
	lookup, is := e.Walker.SymbolLookup().(unwind.CallLookup)
	if !is {
		return "", 0, false
	}
	calls, err := lookup.LookupCalls(addr, nil)
	if err != nil || len(calls) == 0 {
		return "", 0, false
	}
	c := calls[len(calls)-1]
	return c.Name, c.Entry, c.Name != ""
}

// ownersIn names by the frames of a thread; without one by those of the first thread.
func (e *Engine) ownersIn(id unwind.ThreadID) *owners {
	if id == unwind.NullThread {
		if all, err := e.Walker.AvailableThreads(); err == nil && len(all) > 0 {
			id = all[0]
		}
	}
	if e.naming == nil || e.namingOf != id || e.namingAsked != e.asked {
		e.namingAsked, e.namingOf, e.naming = e.asked, id, &owners{Engine: e, most: maxScanned, stack: e.stacks.walk(context.Background(), id, maxNameFrames).Frames}
	}
	return e.naming
}

// besideMemory reports whether a small mapping without access lies beside one that is in use.
func (e *Engine) besideMemory(m libstate.Mapping) bool {
	const guard = 1 << 20
	if m.End-m.Start > guard {
		return false
	}
	for _, at := range []unwind.Address{m.Start - 1, m.End} {
		if n, ok := e.Proc.MappingAt(at); ok && n.Perm&libstate.Write != 0 {
			return true
		}
	}
	return false
}

// onStack finds the thread whose stack an address is on: the one in whose mapping its stack pointer is.
func (e *Engine) onStack(ctx context.Context, p *report.Place, m libstate.Mapping) bool {
	if m.Perm&libstate.Write == 0 {
		return false
	}
	threads, err := e.Walker.AvailableThreads()
	if err != nil {
		return false
	}
	const redZone = 128 // bytes below the stack pointer that a function may use
	for _, id := range threads {
		top, err := e.Walker.InitialFrame(id)
		if err != nil || top.SP() < m.Start || top.SP() >= m.End {
			continue
		}
		p.Kind, p.Thread = report.PlaceStack, int(id)
		if unwind.Address(p.Address) < top.SP()-min(top.SP(), redZone) {
			p.Kind = report.PlaceUnusedStack
			return true
		}
		stack := &unwind.Stack{Thread: id}
		for n := 64; n <= maxStackFrames; n *= 2 {
			e.stacks.more(ctx, stack, n)
			if len(stack.Frames) < n || stack.Frames[len(stack.Frames)-1].SP() > unwind.Address(p.Address) {
				break
			}
		}
		e.inFrame(ctx, p, stack)
		return true
	}
	return false
}

// inFrame finds the frame of a stack that has an address, and the variable there.
func (e *Engine) inFrame(ctx context.Context, p *report.Place, stack *unwind.Stack) {
	addr := unwind.Address(p.Address)
	physical := -1
	for i, f := range stack.Frames {
		if cfa, ok := f.CFA(); f.SP() <= addr && ok && addr < cfa {
			physical = i
		}
	}
	if physical < 0 {
		return
	}
	for _, f := range e.Thread(ctx, stack).Frames {
		if f.Physical == physical && !f.Inlined && !f.Tail {
			p.Frame = &f.Index
		}
	}
	if p.Frame == nil {
		return
	}
	o := &owners{Engine: e, most: maxScanned, stack: stack.Frames[physical : physical+1]}
	if name, t := o.variableAt(uint64(addr), 0); t != nil {
		p.Variable, p.Type = name, t.Name()
	}
}

// besideStacks finds the block that has an address in a heap that has stacks, too: one mapping is of both.
func (e *Engine) besideStacks(ctx context.Context, p *report.Place) bool {
	h, b, ok := e.blockAt(uint64(p.Address))
	if !ok || !b.Contains(uint64(p.Address)) {
		return false
	}
	if _, ok := h.(heap.Stacked); !ok {
		return false
	}
	e.inBlock(ctx, p)
	return true
}

// inBlock finds the block of an allocator that has an address.
func (e *Engine) inBlock(ctx context.Context, p *report.Place) {
	h, b, ok := e.blockAt(uint64(p.Address))
	if !ok {
		return
	}
	h, b = beside(h, b, uint64(p.Address))
	p.Kind = report.PlaceHeap
	p.Block = &report.Block{Allocator: h.Name(), Start: report.Addr(b.Start), Size: b.Size, Free: b.Free, List: b.List}
	if b.Contains(uint64(p.Address)) {
		p.Block.Offset = uint64(p.Address) - b.Start
	}
	e.history(h, b, p.Block)
	if b.Own || b.List == "top" {
		return
	}
	if !b.Free {
		p.Block.Type = e.objectIn(b)
	}
	p.Block.Owner = e.ownersIn(e.died()).of(b)
}

// objectIn is the type of the object of a language that a block holds; "" if it holds none.
func (e *Engine) objectIn(b heap.Block) string {
	head := e.mem.Some(b.Start, int(min(b.Size, heap.ObjectBytes)))
	for _, o := range e.objects {
		if found, ok := o.ObjectIn(b.Start, b.Size, head); ok {
			return found.Type
		}
	}
	return ""
}
