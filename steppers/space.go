package steppers

import (
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Mapper is a ProcessState that knows all mappings of its process, anonymous
// ones too. Without it, steppers know the mappings of libraries only: they then
// take no code that a JIT compiler made for code.
type Mapper interface {
	// MappingAt returns the mapping that addr lies in.
	MappingAt(addr arch.Address) (libstate.Mapping, bool)
}

// A PartialMapper is a Mapper that may not know all mappings of its process: minidumps
// often list modules and their own memory only.
type PartialMapper interface {
	Mapper
	// KnowsMappings reports whether there is nothing where MappingAt finds nothing.
	KnowsMappings() bool
}

// mappingAt returns the mapping that addr lies in. known is false when the
// process cannot tell whether there is one.
func mappingAt(p unwind.ProcessState, addr arch.Address) (m libstate.Mapping, ok, known bool) {
	if mapper, is := p.(Mapper); is {
		m, ok = mapper.MappingAt(addr)
		partial, is := p.(PartialMapper)
		return m, ok, ok || !is || partial.KnowsMappings()
	}
	libs := p.LibraryTracker()
	if libs == nil {
		return m, false, false
	}
	lib, found := libs.LibraryAt(addr)
	if !found {
		return m, false, false
	}
	for i := range lib.Mappings {
		if l := &lib.Mappings[i]; addr >= l.Start && addr < l.End {
			return *l, true, true
		}
	}
	return m, false, false
}

// isCode reports whether addr lies in executable memory.
func isCode(p unwind.ProcessState, addr arch.Address) bool {
	m, ok, _ := mappingAt(p, addr)
	return ok && m.Perm&libstate.Exec != 0
}

// maxStackGap is how far up a stack a frame may lie where its mapping's end is
// not known, in bytes: the usual limit on a main thread's stack.
const maxStackGap = 8 << 20

// A StackBounder is a ProcessState that knows where its threads' stacks are.
type StackBounder interface {
	// StackBounds returns the ends of a thread's stack, [low, high); false when they
	// are not known.
	StackBounds(unwind.ThreadID) (low, high arch.Address, ok bool)
}

// stackBase returns where the stack that the frame is on ends, as its thread tells;
// false where that is not known, or the frame is on another stack.
func stackBase(in *unwind.Frame) (arch.Address, bool) {
	if b, is := in.Walker().ProcessState().(StackBounder); is {
		if low, high, ok := b.StackBounds(in.Thread()); ok && in.SP() >= low && in.SP() <= high {
			return high, true
		}
	}
	return 0, false
}

// stackEnd returns where the stack that sp is in ends at most.
func stackEnd(p unwind.ProcessState, sp arch.Address) arch.Address {
	if m, ok, _ := mappingAt(p, sp); ok {
		return m.End
	}
	if sp > ^arch.Address(0)-maxStackGap {
		return ^arch.Address(0)
	}
	return sp + maxStackGap
}

// endOfStack is stackEnd for a frame, whose thread may know better.
func endOfStack(in *unwind.Frame) arch.Address {
	end := stackEnd(in.Walker().ProcessState(), in.SP())
	if base, ok := stackBase(in); ok {
		return min(base, end)
	}
	return end
}

// offStack says why the stack pointer of out, a caller found for in, cannot be right; ""
// when it can. A lower one is on another stack: the one that a signal interrupted.
func offStack(in, out *unwind.Frame) string {
	sp := out.SP()
	if base, ok := stackBase(in); ok && sp > base {
		return "the caller would be beyond the stack's base"
	}
	if sp > in.SP() || sp == in.SP() && in.Walker().ProcessState().Arch().RA != arch.NoReg {
		return ""
	}
	p := in.Walker().ProcessState()
	from, ok, _ := mappingAt(p, in.SP())
	to, ok2, _ := mappingAt(p, sp)
	if ok && ok2 && from.Start != to.Start {
		return ""
	}
	return "the caller's stack pointer would be lower"
}

// libraryAt returns the library over addr.
func libraryAt(p unwind.ProcessState, addr arch.Address) *libstate.Library {
	if libs := p.LibraryTracker(); libs != nil {
		if l, ok := libs.LibraryAt(addr); ok {
			return l
		}
	}
	return nil
}

// interrupted reports whether the frame was interrupted at its pc, so that
// registers and code state are those of any instruction, not those after a call.
func interrupted(f *unwind.Frame) bool { return f.IsTopFrame() || f.NonCall() }

// derailed reports whether the frame is at an address that is no code without a
// processor having got there: a return address that something overwrote. What
// the stack holds beyond it is anybody's guess, and no guess of ours. An address of which
// nobody knows whether it was code may be that of code made at run time.
func derailed(f *unwind.Frame) bool {
	if interrupted(f) {
		return false
	}
	p := f.Walker().ProcessState()
	m, ok, known := mappingAt(p, f.LookupAddr())
	_, partial := p.(PartialMapper)
	return !(ok && m.Perm&libstate.Exec != 0) && (known || !partial)
}
