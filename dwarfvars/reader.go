package dwarfvars

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Reader reads the variables of one process. It keeps the functions and types that were asked
// for. Several goroutines may use it.
type Reader struct {
	processHandle
	proc unwind.ProcessState
	arch *arch.Arch
	// machine has the facts about the architecture that arch does not have.
	machine *machine
	files   modules.Source

	funcs sync.Map // funcKey -> *Function
	found sync.Map // funcAddr -> *Function, of the addresses that were asked for
	tls   tlsModules
	types *types.Set
	mem   *values.Process // what values are read from

	tails     sync.Map      // tailKey -> tailAnswer
	untouched sync.Map      // imageKey -> map[arch.Reg]arch.RegMask
	same      sync.Map      // originKey -> whether they are the same function
	again     sync.Map      // *Function -> whether tail calls lead back to it
	asks      where.Callers // nil for nobody
	known     entryMemory
	globals   sync.Map     // *dwarf.Unit -> *globals
	work      atomic.Int64 // entries and ranges read to find variables
}

// FPState is an optional interface of a ProcessState. It returns a thread's floating-point and
// vector registers as the kernel lays them out: FPRegs in NT_FPREGSET (on x86-64 the FXSAVE
// area), XState in NT_X86_XSTATE (all that XSAVE wrote). A ProcessState may have only one of the
// two methods. If it has the method ThreadNote of corestate.ELFCore, a Reader finds other blocks
// of registers through that.
type FPState interface {
	FPRegs(unwind.ThreadID) ([]byte, bool)
	XState(unwind.ThreadID) ([]byte, bool)
}

// New returns a Reader of the variables of a process, which reads the debugging information from
// files. It looks in all libraries for the definition of a type that the file of a variable only
// declares; if files is a modules.LocalSource, without fetching any.
func New(proc unwind.ProcessState, files modules.Source) *Reader {
	a := proc.Arch()
	r := &Reader{proc: proc, arch: a, machine: machineOf(a), files: files}
	r.processHandle = where.HandleProcess((*readerWhere)(r))
	r.types = types.NewSet(a, (*libraries)(r))
	r.mem = &values.Process{
		Arch: a, Memory: proc, Types: r.types, Symbols: (*libraries)(r),
		LongDouble: r.machine.longDouble, MaxAlign: max(r.machine.maxAlign, 1), VirtualInAdjust: r.machine.virtualInAdjust,
	}
	return r
}

// A Function is a function of the process that has code of its own, not only inlined. It is
// immutable.
type Function struct {
	Name        string // as in the source, with namespaces and classes
	LinkageName string // "" if the language has none
	Library     *libstate.Library
	Low, High   arch.Address // the range of code around the frame's address

	r    *Reader
	fn   dwarf.Func
	im   *image.Image
	bias arch.Address

	rec    *pdb.Func // of a function that a PDB describes; else nil
	db     *types.Database
	unpaid atomic.Int64 // of what it cost to read rec

	scopes  sync.Map // pc in the file -> []*Scope
	sites   sync.Map // return address in the file -> *knownSite
	allOnce sync.Once
	all     []*Scope

	sources  sync.Map // pc in the file -> *dwarf.Call; see declared.go
	usesOnce sync.Once
	uses     []stackUse
}

type funcKey struct {
	lib *libstate.Library
	die dwarf.DIE
}

type funcAddr struct {
	lib  *libstate.Library
	addr arch.Address
}

// FunctionForFrame returns the function of a frame: the one that has the frame, not a call
// inlined into it. The error wraps ErrNoFunction if no debugging information describes it.
func (r *Reader) FunctionForFrame(f *unwind.Frame) (*Function, error) {
	if f == nil {
		return nil, fmt.Errorf("nil frame: %w", ErrParam)
	}
	return r.functionAt(f.LookupAddr())
}

// FunctionAt is FunctionForFrame for an address of code.
func (r *Reader) FunctionAt(addr arch.Address) (*Function, error) { return r.functionAt(addr) }

func (r *Reader) functionAt(addr arch.Address) (*Function, error) {
	libs := r.proc.LibraryTracker()
	if libs == nil {
		return nil, ErrNoFunction
	}
	lib, ok := libs.LibraryAt(addr)
	if !ok {
		return nil, fmt.Errorf("%#x is in no library: %w", addr, ErrNoFunction)
	}
	key := funcAddr{lib, addr}
	if v, ok := r.found.Load(key); ok {
		return v.(*Function), nil
	}
	im := r.file(lib)
	if d := im.DWARF(); d != nil {
		if fn, ok := funcAt(d, addr-im.Bias(lib.LoadBias)); ok {
			f := r.function(lib, im, fn)
			r.found.Store(key, f)
			return f, nil
		}
	}
	if fn := r.recordFunction(lib, im, addr); fn != nil {
		return fn, nil
	}
	return nil, fmt.Errorf("%s, %#x: %w", lib.Path, addr, ErrNoFunction)
}

// funcAt finds the function at an address of the file. If the first unit that claims the address
// has no function there, it tries all units that claim it.
func funcAt(d *dwarf.Data, pc uint64) (dwarf.Func, bool) {
	u, err := d.UnitForPC(pc)
	if err != nil {
		return dwarf.Func{}, false
	}
	if fn, ok := u.FuncAt(pc); ok {
		return fn, true
	}
	calls, err := d.Frames(pc, nil)
	if err != nil || len(calls) == 0 {
		return dwarf.Func{}, false
	}
	c := &calls[len(calls)-1]
	if !c.Func.Valid() {
		return dwarf.Func{}, false
	}
	return dwarf.Func{DIE: c.Func, Range: c.Range, Entry: c.Entry}, true
}

func (r *Reader) function(lib *libstate.Library, im *image.Image, fn dwarf.Func) *Function {
	key := funcKey{lib, fn.DIE}
	if v, ok := r.funcs.Load(key); ok {
		return v.(*Function)
	}
	info := fn.DIE.FuncInfo()
	bias := im.Bias(lib.LoadBias)
	f := &Function{
		Name: info.Name, LinkageName: info.LinkageName, Library: lib,
		Low: fn.Low + bias, High: fn.High + bias,
		r: r, fn: fn, im: im, bias: bias,
	}
	v, _ := r.funcs.LoadOrStore(key, f)
	return v.(*Function)
}

// Scopes returns all variables of the function and of the calls inlined into it: the function
// itself first, then the inlined calls.
func (f *Function) Scopes() []*Scope {
	f.allOnce.Do(func() {
		f.all = f.collect(0, true)
	})
	return f.all
}

// collect returns the scopes around an address of the file, or all scopes, outermost first.
func (f *Function) collect(pc uint64, everything bool) []*Scope {
	if f.rec != nil {
		c := recordCollector{f: f, pc: pc, everything: everything}
		return c.run()
	}
	c := collector{f: f, pc: pc, everything: everything}
	s := c.run()
	if f.r != nil {
		f.r.work.Add(int64(c.entries + c.ranges))
	}
	return s
}

// LiveScopes returns the variables that are in scope at an address of the process: those of the
// innermost inlined call first, those of the function itself last.
func (f *Function) LiveScopes(addr arch.Address) []*Scope {
	pc := addr - f.bias
	if v, ok := f.scopes.Load(pc); ok {
		return v.([]*Scope)
	}
	outer := f.collect(pc, false)
	scopes := make([]*Scope, 0, len(outer))
	for i := len(outer) - 1; i >= 0; i-- {
		scopes = append(scopes, outer[i])
	}
	v, _ := f.scopes.LoadOrStore(pc, scopes)
	return v.([]*Scope)
}
