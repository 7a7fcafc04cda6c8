package dwarfvars

import (
	"fmt"
	"sync"

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

// A Reader reads the variables of one process. It keeps the functions and types
// it has met, and may be used by several goroutines.
type Reader struct {
	processHandle
	proc unwind.ProcessState
	arch *arch.Arch
	// machine is what arch does not have of the architecture.
	machine *machine
	files   modules.Source

	funcs sync.Map // funcKey -> *Function
	tls   tlsModules
	types *types.Set
	mem   *values.Process // what values are read from

	tails sync.Map // tailKey -> tailAnswer
	known entryMemory
}

// FPState is what a ProcessState may answer beside the general registers: a
// thread's floating-point and vector registers, as the kernel lays them out for
// NT_FPREGSET and NT_X86_XSTATE: on x86-64 FPRegs is the FXSAVE area, and XState
// all that XSAVE wrote. One of the two methods is enough, and one with the method
// ThreadNote of corestate.ELFCore is asked for other blocks of registers too.
type FPState interface {
	FPRegs(unwind.ThreadID) ([]byte, bool)
	XState(unwind.ThreadID) ([]byte, bool)
}

// New returns a reader of the variables of a process and the files of its libraries.
// Where a type is only declared in the file of a variable, it looks for the definition
// in all libraries: of a modules.LocalSource only in those that need not be fetched.
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

// A Function is a function with code of its own, in a process. It does not
// change.
type Function struct {
	Name        string // as the source has it, with its scopes where the language has them
	LinkageName string // "" for languages without
	Library     *libstate.Library
	Low, High   arch.Address // the stretch of code around the frame's address

	r    *Reader
	fn   dwarf.Func
	im   *image.Image
	bias arch.Address

	rec *pdb.Func // of a function that a PDB describes; else nil
	db  *types.Database

	scopes  sync.Map // pc in the file -> []*Scope
	allOnce sync.Once
	all     []*Scope
}

type funcKey struct {
	lib *libstate.Library
	die dwarf.DIE
}

// FunctionForFrame returns the function that the frame f belongs to: the one
// that has the frame, not a call inlined into it. The error wraps ErrNoFunction
// where no debugging information describes it.
func (r *Reader) FunctionForFrame(f *unwind.Frame) (*Function, error) {
	if f == nil {
		return nil, fmt.Errorf("nil frame: %w", ErrParam)
	}
	return r.functionAt(f.LookupAddr())
}

func (r *Reader) functionAt(addr arch.Address) (*Function, error) {
	libs := r.proc.LibraryTracker()
	if libs == nil {
		return nil, ErrNoFunction
	}
	lib, ok := libs.LibraryAt(addr)
	if !ok {
		return nil, fmt.Errorf("%#x is in no library: %w", addr, ErrNoFunction)
	}
	im := r.file(lib)
	if d := im.DWARF(); d != nil {
		if fn, ok := funcAt(d, addr-im.Bias(lib.LoadBias)); ok {
			return r.function(lib, im, fn), nil
		}
	}
	if fn := r.recordFunction(lib, im, addr); fn != nil {
		return fn, nil
	}
	return nil, fmt.Errorf("%s, %#x: %w", lib.Path, addr, ErrNoFunction)
}

// funcAt finds the function at an address of the file. Where the unit that first
// claims the address has none, all that claim it are tried.
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

// Scopes returns all variables of the function and of the calls inlined into it,
// wherever they live: the function itself first, then the inlined calls.
func (f *Function) Scopes() []*Scope {
	f.allOnce.Do(func() {
		f.all = f.collect(0, true)
	})
	return f.all
}

// collect lists the scopes that hold an address, or all; outermost first.
func (f *Function) collect(pc uint64, everything bool) []*Scope {
	if f.rec != nil {
		c := recordCollector{f: f, pc: pc, everything: everything}
		return c.run()
	}
	c := collector{f: f, pc: pc, everything: everything}
	return c.run()
}

// LiveScopes returns the variables that live at an address of the process:
// those of the innermost inlined call first, those of the function last.
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
