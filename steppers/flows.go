package steppers

import (
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// flows is what the steppers of a group know about functions by following their
// code. Functions of files are kept with the file's image, for all processes;
// those in memory that no file stands for, here. It may be used concurrently.
type flows struct {
	files modules.Source // nil: the process's memory alone

	entryOnce sync.Once
	entry     arch.Address // the program's entry point, 0 for not known

	mu  sync.Mutex
	mem map[flowRange]*stackflow.Func
}

// A flowRange is a function's start and its end as far as that is known.
type flowRange struct{ start, end arch.Address }

// maxMemFlows bounds the functions in memory whose analysis is kept.
const maxMemFlows = 1 << 10

// A flowAt is a followed function, and what is to be added to its addresses.
type flowAt struct {
	*stackflow.Func
	bias arch.Address
}

// image returns the file of the library over addr, nil for none.
func (fl *flows) image(p unwind.ProcessState, addr arch.Address) (*image.Image, *libstate.Library) {
	lib := libraryAt(p, addr)
	if lib == nil || fl.files == nil {
		return nil, lib
	}
	return fileOf(fl.files, lib), lib
}

// follow follows the function that begins at start, a code pointer, and ends at
// end at most, 0 for not known. Its Func is nil where the code cannot be
// followed.
func (fl *flows) follow(w *unwind.Walker, start, end arch.Address) flowAt {
	p := w.ProcessState()
	im, lib := fl.image(p, withoutMode(p.Arch(), start))
	if im != nil && !im.ELF().DebugOnly() {
		bias := im.Bias(lib.LoadBias)
		if end != 0 {
			end -= bias
		}
		return flowAt{im.Flow(p.Arch(), start-bias, end), bias}
	}
	fl.mu.Lock()
	f, ok := fl.mem[flowRange{start, end}]
	fl.mu.Unlock()
	if ok {
		return flowAt{f, 0}
	}
	f = stackflow.Analyze(p.Arch(), &memoryCode{w: w, pe: lib != nil && lib.Module != nil && lib.Module.Format == libstate.FormatPE}, start, end)
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.mem == nil || len(fl.mem) >= maxMemFlows {
		fl.mem = map[flowRange]*stackflow.Func{}
	}
	fl.mem[flowRange{start, end}] = f
	return flowAt{f, 0}
}

// named returns where the function that addr is in begins and ends, by its
// symbol. Of a part that the compiler moved away the function it belongs to is
// meant.
func named(w *unwind.Walker, addr arch.Address) (start, end arch.Address, ok bool) {
	lib, syms := libraryAt(w.ProcessState(), addr), w.SymbolReader()
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

// certain returns the row at addr, the lowest bit of mode saying in which
// instruction set the code is, where the function is known by its symbol and
// control gets there with one stack pointer; nil otherwise.
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

// modeOf is the bit of code pointers that the frame's code has set.
func modeOf(f *unwind.Frame) arch.Address { return f.CodePointer() ^ f.RA() }

// memoryCode is a process's memory as stackflow reads it.
type memoryCode struct {
	w    *unwind.Walker
	pe   bool // of a PE image
	addr arch.Address
	buf  []byte // from addr on
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

// DataAt implements stackflow.Code: memory that may be written to tells nothing
// of what the code found there.
func (c *memoryCode) DataAt(addr uint64) []byte {
	p := c.w.ProcessState()
	if m, ok, _ := mappingAt(p, addr); !ok || m.Perm&libstate.Write != 0 {
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

// symbol is the name of the function that begins at addr.
func (c *memoryCode) symbol(addr uint64) (string, bool) {
	addr = withoutMode(c.w.ProcessState().Arch(), addr)
	lib, syms := libraryAt(c.w.ProcessState(), addr), c.w.SymbolReader()
	if lib == nil || syms == nil {
		return "", false
	}
	s, ok := syms.SymbolAt(lib, addr)
	return s.Name, ok && s.Addr == addr
}

// mayReturn reports whether ra, in a module whose code is not to be had, may be a return
// address for all that is known. Minidumps leave code out, and list modules: of these, and
// not of a mapping that has lost its file, it is asked.
func (fl *flows) mayReturn(p unwind.ProcessState, ra arch.Address) bool {
	if ra < lowestCode || !unreadCode(p, ra) {
		return false
	}
	lib := libraryAt(p, ra-1)
	if lib == nil || lib.Module == nil || ra-lib.Start < leastHeader {
		return false
	}
	if lib.Kind == libstate.Executable {
		fl.entryOnce.Do(func() { fl.entry, _ = auxEntry(p) })
	}
	return ra != fl.entry && !fl.noCallAt(lib, ra)
}

const (
	// lowestCode is where code begins on all systems.
	lowestCode = 0x1000
	// leastHeader is what headers take of a module at least, in bytes. Pointers to
	// them are common at the bottom of a stack (AT_PHDR).
	leastHeader = 0x100
)

// noCallAt reports whether symbol files or unwind tables show that no call returns to an
// address of a library: no function is there that could make one, or one begins there,
// and a pointer to it is found more often than the return address of a call that ends the
// function before. Tables of Windows leave out functions that make no calls.
func (fl *flows) noCallAt(lib *libstate.Library, ra arch.Address) bool {
	if fl.files == nil {
		return false
	}
	rva, im := ra-lib.Start, fileOf(fl.files, lib)
	if t := im.PEUnwind(); t != nil && rva <= 0xffffffff {
		fn, ok := t.Find(uint32(rva - 1))
		next, ok2 := t.Find(uint32(rva))
		return !ok || ok2 && uint64(next.Begin) == rva && fn != next
	}
	if f := im.Breakpad(); f != nil {
		sym, ok := f.Lookup(rva - 1)
		next, ok2 := f.Lookup(rva)
		return !ok || sym.Start == 0 /* what linkers left out */ || ok2 && next.Start == rva
	}
	return false
}
