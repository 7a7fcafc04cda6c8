package steppers

import (
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// flows has what the steppers of a group learn about functions by following their code.
// Functions of files are kept with the file's image, for all processes; functions in
// memory without a file are kept here. It may be used concurrently.
type flows struct {
	files modules.Source // nil: read code from the process's memory only

	entryOnce sync.Once
	entry     arch.Address // the program's entry point, 0 if not known

	mu   sync.Mutex // guards the two below; no other lock is taken inside
	mem  map[flowRange]*stackflow.Func
	ends map[arch.Address]bool // see keptEnd

	frames disasm.Frames // of functions that are named, on x86
	code   sync.Pool     // *[]byte, for their code
}

// A flowRange is the start and end of a function, as far as known.
type flowRange struct{ start, end arch.Address }

// maxMemFlows limits the functions in memory whose analysis is kept.
const maxMemFlows = 1 << 10

// flowCost is what following an instruction costs of the walk's budget: to decode it, and each time that it is executed.
const flowCost = 4

// A flowAt is a followed function, and the number to add to its addresses.
type flowAt struct {
	*stackflow.Func
	bias arch.Address
}

// image returns the file of the library that contains addr, or nil.
func (fl *flows) image(p unwind.ProcessState, addr arch.Address) (*image.Image, *libstate.Library) {
	lib := libraryAt(p, addr)
	if lib == nil || fl.files == nil {
		return nil, lib
	}
	return fileOf(fl.files, lib), lib
}

// follow follows the function that begins at start, a code pointer, and ends before
// end; 0 if the end is not known. Func is nil if the code cannot be followed.
func (fl *flows) follow(w *unwind.Walker, start, end arch.Address) flowAt {
	p := w.ProcessState()
	im, lib := fl.image(p, withoutMode(p.Arch(), start))
	if im != nil && !im.ELF().DebugOnly() {
		if w.Spend(0) != nil {
			return flowAt{}
		}
		bias := im.Bias(lib.LoadBias)
		if end != 0 {
			end -= bias
		}
		f, work := im.Flow(p.Arch(), start-bias, end)
		w.Spend(flowCost * work) // a walk that has nothing left ends with its next frame
		return flowAt{f, bias}
	}
	fl.mu.Lock()
	f, ok := fl.mem[flowRange{start, end}]
	fl.mu.Unlock()
	if ok {
		return flowAt{f, 0}
	}
	if w.Spend(0) != nil {
		return flowAt{}
	}
	f, work := stackflow.Measured(p.Arch(), &memoryCode{w: w, pe: lib != nil && lib.Module != nil && lib.Module.Format == libstate.FormatPE}, start, end)
	w.Spend(flowCost * work)
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.mem == nil || len(fl.mem) >= maxMemFlows {
		fl.mem = map[flowRange]*stackflow.Func{}
	}
	fl.mem[flowRange{start, end}] = f
	return flowAt{f, 0}
}

// named returns the start and end of the function that contains addr, by its symbol.
// For a part that the compiler moved elsewhere, it is the function that the part
// belongs to.
func named(w *unwind.Walker, addr arch.Address) (start, end arch.Address, ok bool) {
	lib, syms := libraryAt(w.ProcessState(), addr), w.SymbolReader()
	if made, ok := syms.(unwind.MadeCodeReader); ok && lib == nil {
		sym, ok := made.MadeCodeAt(addr)
		return sym.Addr, sym.Addr + sym.Size, ok
	}
	if lib == nil || syms == nil {
		return 0, 0, false
	}
	sym, ok := syms.SymbolAt(lib, addr)
	if !ok || sym.Addr > addr || sym.Size == 0 {
		return 0, 0, false
	}
	if image.IsColdPart(sym.Name) {
		name, _, _ := strings.Cut(sym.Name, ".cold")
		if sym, ok = syms.SymbolByName(lib, name); !ok {
			return 0, 0, false
		}
	}
	return sym.Addr, sym.Addr + sym.Size, true
}

// certain returns the row at addr if the function is known by its symbol and control
// gets there with one stack pointer; nil otherwise. The lowest bit of mode says which
// instruction set the code is in.
func (fl *flows) certain(rows []*stackflow.Row, w *unwind.Walker, addr, mode arch.Address) (row *stackflow.Row, start arch.Address) {
	start, end, ok := named(w, addr)
	if !ok {
		return nil, 0
	}
	flow := fl.follow(w, start|mode, end)
	if flow.Func == nil {
		return nil, 0
	}
	rows, sure := flow.Rows(rows[:0], addr-flow.bias)
	if len(rows) != 1 || !sure {
		return nil, 0
	}
	return rows[0], start
}

// modeOf returns the bit that code pointers to the frame's code have set.
func modeOf(f *unwind.Frame) arch.Address { return f.CodePointer() ^ f.RA() }

// memoryCode is a process's memory as stackflow reads it.
type memoryCode struct {
	w    *unwind.Walker
	pe   bool // set for a PE image
	addr arch.Address
	buf  []byte // bytes from addr
}

// Nonvolatile implements stackflow.Convention.
func (c *memoryCode) Nonvolatile() arch.RegMask {
	if !c.pe {
		return 0
	}
	return winunwind.Nonvolatile(c.w.ProcessState().Arch())
}

// codeChunk is how much memory is read at a time, in bytes.
const codeChunk = 4096

// CodeAt implements stackflow.Code.
func (c *memoryCode) CodeAt(addr uint64) []byte {
	if !isCode(c.w.ProcessState(), addr) {
		return nil
	}
	if off := addr - c.addr; off < uint64(len(c.buf)) && uint64(len(c.buf))-off >= maxCode {
		return c.buf[off:]
	}
	c.addr, c.buf = addr, readFunc(c.w.ProcessState(), addr, addr+codeChunk)
	return c.buf
}

// DataAt implements stackflow.Code. Writable memory does not show what the code found
// there, unless it is code, too: there compilers put the tables of their jumps.
func (c *memoryCode) DataAt(addr uint64) []byte {
	p := c.w.ProcessState()
	if m, ok, _ := mappingAt(p, addr); !ok || m.Perm&(libstate.Write|libstate.Exec) == libstate.Write {
		return nil
	}
	return readFunc(p, addr, addr+codeChunk)
}

// FuncAt implements stackflow.Code, by symbols.
func (c *memoryCode) FuncAt(addr uint64) bool {
	name, ok := c.symbol(addr)
	return ok && !image.IsColdPart(name)
}

// NoReturn implements stackflow.Code.
func (c *memoryCode) NoReturn(addr uint64) bool {
	name, ok := c.symbol(addr)
	return ok && stackflow.NoReturnName(name)
}

// symbol returns the name of the function that begins at addr.
func (c *memoryCode) symbol(addr uint64) (string, bool) {
	addr = withoutMode(c.w.ProcessState().Arch(), addr)
	lib, syms := libraryAt(c.w.ProcessState(), addr), c.w.SymbolReader()
	if lib == nil || syms == nil {
		return "", false
	}
	s, ok := syms.SymbolAt(lib, addr)
	return s.Name, ok && s.Addr == addr
}

// mayReturn reports whether ra, in a module whose code is not available, may be a
// return address as far as anyone can tell: minidumps leave code out, and so do cores, where the
// file of the module is missing. headers says that ra may be where modules usually have their headers.
func (fl *flows) mayReturn(w *unwind.Walker, ra arch.Address, headers bool) bool {
	p := w.ProcessState()
	if ra < lowestCode || !unreadCode(p, ra) {
		return false
	}
	lib := libraryAt(p, ra-1)
	if lib == nil || lib.Module == nil && !fl.fileMissing(lib) || !headers && ra-lib.Start < leastHeader {
		return false
	}
	if lib.Kind == libstate.Executable {
		fl.entryOnce.Do(func() { fl.entry, _ = auxEntry(p) })
	}
	return ra != fl.entry && !fl.noCallAt(w, lib, ra)
}

// fileMissing reports whether a library of a core has a file, and that is not at hand: there is none, or only one with debug
// information. Code that a file at hand does not have is none.
func (fl *flows) fileMissing(lib *libstate.Library) bool {
	if fl.files == nil || lib.Kind == libstate.VDSO || lib.Kind == libstate.JIT {
		return false
	}
	im := fileOf(fl.files, lib)
	return im == nil || im.PE() == nil && im.ELF().DebugOnly()
}

// insideFunction reports whether ra, a code pointer whose code is not available, is inside of a function whose
// extent a symbol file tells, behind its first instruction: a call before it can return to it. Names without an
// extent prove nothing, they may be those of data.
func (fl *flows) insideFunction(p unwind.ProcessState, ra arch.Address) bool {
	ra = withoutMode(p.Arch(), ra)
	if fl == nil || !unreadCode(p, ra) {
		return false
	}
	im, lib := fl.image(p, ra-1)
	if im == nil {
		return false
	}
	rva := ra - lib.Start
	if f := im.PDB(); f != nil && rva <= 0xffffffff {
		sym, ok, _ := f.Lookup(uint32(rva))
		return ok && !sym.Public && rva >= uint64(sym.Start)+leastCall
	}
	if f := im.Breakpad(); f != nil {
		sym, ok := f.Function(rva)
		return ok && !sym.Public && sym.Start != 0 /* what linkers left out */ && rva >= sym.Start+leastCall
	}
	return false
}

const (
	// leastCall is the length of the shortest call of any architecture, in bytes.
	leastCall = 2
	// lowestCode is the lowest address of code on any system.
	lowestCode = 0x1000
	// leastHeader is the smallest size of a module's headers in bytes. Pointers to
	// headers are common at the bottom of a stack (AT_PHDR).
	leastHeader = 0x100
)

// noCallAt reports whether symbol files or unwind tables show that no call returns to
// an address of a library: either no function there can contain the call, or a function
// begins at the address. In the latter case a pointer to the function is more likely
// than the return address of a call that ends the function before it. Tables of Windows
// leave out functions that make no calls.
// PDBs have the headers of sections, which tell code from data.
func (fl *flows) noCallAt(w *unwind.Walker, lib *libstate.Library, ra arch.Address) bool {
	if fl.files == nil {
		return false
	}
	rva, im := ra-lib.Start, fileOf(fl.files, lib)
	if t := im.PEUnwind(); t != nil && rva <= 0xffffffff {
		_, ok := t.Find(uint32(rva - 1))
		next, ok2 := t.Find(uint32(rva))
		return !ok || ok2 && uint64(next.Begin) == rva
	}
	if f := im.PDB(); f != nil && rva <= 0xffffffff {
		before := f.Work()
		defer func() { _ = w.Spend(int(f.Work() - before)) }() // what looks at more notices that nothing is left
		code, known := f.IsCode(uint32(rva - 1))
		if known && !code {
			return true
		}
		// Many PDBs leave out functions that were compiled without debug information, so that
		// one without a name may still make calls.
		next, ok, _ := f.Lookup(uint32(rva))
		return ok && uint64(next.Start) == rva
	}
	if f := im.Breakpad(); f != nil {
		before := f.Work()
		defer func() { _ = w.Spend(int(f.Work() - before)) }()
		sym, ok := f.Function(rva - 1)
		next, ok2 := f.Function(rva)
		return !ok || sym.Start == 0 /* what linkers left out */ || ok2 && next.Start == rva
	}
	return false
}
