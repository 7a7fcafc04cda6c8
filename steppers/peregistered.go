package steppers

import (
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A FunctionTabler is a ProcessState that knows the unwind tables that programs of Windows
// register for code that they make at run time: RtlAddFunctionTable,
// RtlAddGrowableFunctionTable, RtlInstallFunctionTableCallback. The runtimes of .NET, Mono
// and V8 do so.
type FunctionTabler interface {
	// RuntimeFunction returns the RUNTIME_FUNCTION for the code at pc, as it is in the
	// table, and the address that it is relative to. On arm64 the code may end before pc.
	// ok is false if no table describes the code, or several contradict each other.
	RuntimeFunction(pc arch.Address) (entry []byte, base arch.Address, ok bool)
}

// maxOneFunction is how long an entry's code may be, in bytes, to be taken for one function.
// V8 registers all the memory for its code as one, with the frame that its functions have
// after their prologues.
const maxOneFunction = 256 << 10

// byRegistered finds the caller by a table that was registered for code made at run time.
// That the tables do not describe an address proves no leaf: not all such code is registered.
func (s *PEUnwindStepper) byRegistered(in, out *unwind.Frame) unwind.Status {
	table, base, entry := registered(in)
	if table == nil {
		return unwind.StatusNotMe
	}
	fn, ok := table.Entry(entry)
	if !ok {
		note(out, "the unwind information of the registered function is not in the dump")
		return unwind.StatusNotMe
	}
	f, stopped := s.frame(in)
	defer s.scratch.Put(f)
	if stopped && fn.End-fn.Begin > maxOneFunction {
		note(out, "the registered function is too long to be one: nothing tells prologues and epilogues apart")
		return unwind.StatusNotMe
	}
	if err := table.StepIn(fn, f, in.Walker().ProcessState(), base, stopped); err != nil {
		if out.Tracing() {
			out.Notef("registered function at %#x: %v", base+uint64(fn.Begin), err)
		}
		return unwind.StatusNotMe
	}
	return s.restore(f, in, out)
}

// registered returns the entry that was registered for the code of a frame, and a table that
// reads what it refers to; a nil table if there is none.
func registered(in *unwind.Frame) (table *winunwind.Table, base arch.Address, entry []byte) {
	p := in.Walker().ProcessState()
	tabler, ok := p.(FunctionTabler)
	if !ok {
		return nil, 0, nil
	}
	entry, base, ok = tabler.RuntimeFunction(in.LookupAddr())
	if !ok {
		return nil, 0, nil
	}
	table, _ = winunwind.New(p.Arch(), nil, codeImage{p, base}) // nil on architectures without such tables
	return table, base, entry
}

// RegisteredInfo returns where the unwind information is that was registered for the code of
// a frame, as it was made at run time (FunctionTabler); nothing if there is none.
func RegisteredInfo(f *unwind.Frame) []unwind.AddrRange {
	table, base, entry := registered(f)
	if table == nil {
		return nil
	}
	fn, ok := table.Entry(entry)
	if !ok {
		return nil
	}
	var list []unwind.AddrRange
	for _, x := range table.Pieces(fn) {
		start := base + uint64(x.RVA)
		list = append(list, unwind.AddrRange{Start: start, End: start + uint64(x.Size)})
	}
	return list
}

// codeImage is the memory that a function table describes, by the distance from its base.
type codeImage struct {
	mem  arch.Memory
	base arch.Address
}

// maxUnwindInfo is how many bytes are read for one piece of unwind information: all that x64
// may have, and more than compilers for arm64 write.
const maxUnwindInfo = 1 << 10

// At implements winunwind.Image.
func (m codeImage) At(rva uint32) []byte {
	buf := make([]byte, maxUnwindInfo)
	n, _ := m.mem.ReadMem(m.base+uint64(rva), buf)
	return buf[:n]
}
