package steppers

import (
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Mapper is a ProcessState that knows all mappings of its process, including
// anonymous ones. Otherwise the steppers know only the mappings of libraries, and do
// not recognise the code of a JIT compiler as code.
type Mapper interface {
	// MappingAt returns the mapping that contains addr.
	MappingAt(addr arch.Address) (libstate.Mapping, bool)
}

// A PartialMapper is a Mapper that may not know all mappings of its process: minidumps
// often list only modules and their own memory.
type PartialMapper interface {
	Mapper
	// KnowsMappings reports whether the process had nothing at an address for which
	// MappingAt finds nothing.
	KnowsMappings() bool
}

// mappingAt returns the mapping that contains addr. known is false if the process
// cannot say whether there is one.
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
	m, ok = lib.MappingAt(addr)
	return m, ok, ok
}

// isCode reports whether addr lies in executable memory. Where a dump does not tell, the
// segments of the module's file do.
func isCode(p unwind.ProcessState, addr arch.Address) bool {
	m, ok, _ := mappingAt(p, addr)
	if !ok || m.Perm&libstate.Exec == 0 {
		return false
	}
	if m.Perm&libstate.Unknown == 0 {
		return true
	}
	lib := libraryAt(p, addr)
	if lib == nil {
		return true
	}
	m, ok = lib.MappingAt(addr)
	return !ok || m.Perm&libstate.Exec != 0
}

// maxStackGap is how far up a stack a frame may be if the end of the mapping is not
// known, in bytes: the usual size limit of a main thread's stack.
const maxStackGap = 8 << 20

// A StackBounder is a ProcessState that knows where its threads' stacks are.
type StackBounder interface {
	// StackBounds returns the ends of a thread's stack, [low, high); false if not
	// known.
	StackBounds(unwind.ThreadID) (low, high arch.Address, ok bool)
}

// stackBase returns the end of the frame's stack, from its thread; false if that is not
// known, or if the frame is on another stack.
func stackBase(in *unwind.Frame) (arch.Address, bool) {
	if b, is := in.Walker().ProcessState().(StackBounder); is {
		if low, high, ok := b.StackBounds(in.Thread()); ok && in.SP() >= low && in.SP() <= high {
			return high, true
		}
	}
	return 0, false
}

// stackEnd returns the highest address at which the stack that contains sp may end.
func stackEnd(p unwind.ProcessState, sp arch.Address) arch.Address {
	if m, ok, _ := mappingAt(p, sp); ok {
		return m.End
	}
	if sp > ^arch.Address(0)-maxStackGap {
		return ^arch.Address(0)
	}
	return sp + maxStackGap
}

// endOfStack is stackEnd for a frame, whose thread may give a better limit.
func endOfStack(in *unwind.Frame) arch.Address {
	end := stackEnd(in.Walker().ProcessState(), in.SP())
	if base, ok := stackBase(in); ok {
		return min(base, end)
	}
	return end
}

// offStack says why the stack pointer of out, a caller found for in, cannot be right;
// "" if it can. A lower one may be on another stack: the one that a signal interrupted.
func offStack(in, out *unwind.Frame) string {
	sp := out.SP()
	if base, ok := stackBase(in); ok && sp > base {
		return "the caller would be above the stack's base"
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

// libraryAt returns the library that contains addr.
func libraryAt(p unwind.ProcessState, addr arch.Address) *libstate.Library {
	if libs := p.LibraryTracker(); libs != nil {
		if l, ok := libs.LibraryAt(addr); ok {
			return l
		}
	}
	return nil
}

// interrupted reports whether the frame was interrupted at its pc. Its registers and
// code are then in the state of any instruction, not in that after a call.
func interrupted(f *unwind.Frame) bool { return f.IsTopFrame() || f.NonCall() }

// derailed reports whether the frame's address is not in code although no processor got
// there: something overwrote the return address. The rest of the stack is then not
// used. An address that may or may not have been code does not count: it may be code
// made at run time.
func derailed(f *unwind.Frame) bool {
	if interrupted(f) {
		return false
	}
	p := f.Walker().ProcessState()
	m, ok, known := mappingAt(p, f.LookupAddr())
	_, partial := p.(PartialMapper)
	return !(ok && m.Perm&libstate.Exec != 0) && (known || !partial)
}
