package analysis

import (
	"strings"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A witness is one physical frame of a stack, with the code and the variables of its function.
type witness struct {
	in     *question
	stack  []*unwind.Frame
	number int // of the frame
	frame  *unwind.Frame
	call   unwind.Call // the function
	code   *provenance.Func
	act    *dwarfvars.Activation // nil without debugging information
	vars   where.Frame           // of act; nil without
	abi    provenance.ABI
	state  provenance.State
	doubt  bool // the frame is doubtful, or a register of it that was asked for
	eval   *provenance.Evaluator
	inner  []uint64 // instructions of inner blocks, too; see blocks
}

// witnessOf returns the witness of a frame of a stack; nil if the frame's code cannot be followed up to its instruction.
// early are the registers at a called function's entry, which still are the caller's; nil if not available.
func (in *question) witnessOf(stack []*unwind.Frame, number int, early *arch.RegSet) *witness {
	if number >= len(stack) {
		return nil
	}
	w := &witness{in: in, stack: stack, number: number, frame: stack[number]}
	f := w.frame
	if f.IsTrampoline() || f.Trust() == unwind.TrustScan {
		return nil
	}
	code := &codeReader{in: in}
	start, end, ok := w.bounds(code)
	if entry, stop, moved := w.movedFrom(code, start); ok && moved {
		// What registers and the frame hold where the part begins only the rest of the function tells.
		start, end = entry, stop
		w.call.Entry = entry
	}
	if !ok || !w.analyse(start, end, early) {
		w.close()
		return nil
	}
	return w
}

// movedFrom returns where the function begins, and an upper limit for its end, 0 if not known, of which the compiler moved the code at the frame's
// instruction away, as it does with code that seldom runs: to where start is. It is false for code that was not moved. Functions that compilers make of
// such code, and call, are functions.
func (w *witness) movedFrom(code *codeReader, start uint64) (entry, end uint64, ok bool) {
	at := w.frame.LookupAddr()
	if call, ok := code.function(at); ok && call.Entry != 0 && call.Entry != start {
		w.call = call
		return call.Entry, w.in.symbolEnd(call.Entry), true
	}
	name, _ := code.symbol(start)
	name, _, ok = strings.Cut(name, coldSuffix)
	libs := w.in.Proc.LibraryTracker()
	if !ok || libs == nil {
		return 0, 0, false
	}
	lib, _ := libs.LibraryAt(start)
	if lib == nil {
		return 0, 0, false
	}
	s, ok := w.in.Walker.SymbolReader().SymbolByName(lib, name)
	if !ok || s.Size == 0 {
		return 0, 0, false
	}
	whole := provenance.New(w.in.arch, provenance.ABIOf(w.in.arch, false), code, s.Addr, s.Addr+s.Size)
	if whole == nil {
		return s.Addr, s.Addr + s.Size, true
	}
	for call := range whole.Calls {
		if call.Kind == disasm.Call && call.Target == start {
			return 0, 0, false
		}
	}
	return s.Addr, s.Addr + s.Size, true
}

// coldSuffix is in the symbols of code that compilers moved away from its function.
const coldSuffix = ".cold"

// analyse follows the code of the frame's function, which begins at start and ends no later than end, 0 if not known.
func (w *witness) analyse(start, end uint64, early *arch.RegSet) bool {
	in := w.in
	w.abi = provenance.ABIOf(in.arch, in.Exception != nil && in.Signal == nil)
	if in.Variables != nil {
		if act, err := in.Variables.At(w.stack, w.number); err == nil {
			w.act, w.vars = act, where.FrameOf(act)
			if act.Low == start {
				end = act.High
			}
			if c := w.vars.Convention(); c != where.ConventionC {
				w.abi = provenance.GoABI(in.arch, c == where.ConventionGoInternal)
			}
		}
	}
	if in.arch.Mode != arch.NoReg {
		start |= w.frame.CodePointer() & 1
	}
	w.code = provenance.New(in.arch, w.abi, &codeReader{in: in}, start, end)
	return w.code != nil && w.locate(early)
}

// bounds returns where the frame's function begins, and an upper limit for its end, 0 if not known.
func (w *witness) bounds(code *codeReader) (start, end uint64, ok bool) {
	at := w.frame.LookupAddr()
	if call, ok := code.function(at); ok && call.Entry != 0 && call.Entry <= at {
		end = w.in.symbolEnd(call.Entry)
		if end == 0 || at < end {
			w.call = call
			return call.Entry, end, true
		}
	}
	if w.in.Variables == nil {
		return 0, 0, false
	}
	start, end, ok = where.ProcessOf(w.in.Variables).Bounds(at)
	w.call = unwind.Call{Entry: start}
	return start, end, ok
}

func (w *witness) close() {
	if w != nil && w.act != nil {
		w.act.Close()
		w.act, w.vars = nil, nil
	}
}

// symbolEnd returns where the function at an address ends according to its symbol; 0 if not known.
func (in *Engine) symbolEnd(start uint64) uint64 {
	symbols, ok := in.Walker.SymbolLookup().(unwind.SymbolReader)
	libs := in.Proc.LibraryTracker()
	if !ok || libs == nil {
		return 0
	}
	if lib, ok := libs.LibraryAt(start); ok {
		if s, ok := symbols.SymbolAt(lib, start); ok && s.Addr == start && s.Size > 0 {
			return start + s.Size
		}
	}
	return 0
}

// locate finds the frame's instruction and its registers.
func (w *witness) locate(early *arch.RegSet) bool {
	f := w.frame
	pc := f.RA()
	if f.LookupAddr() != pc {
		var ok bool
		if pc, ok = w.code.CallBefore(pc); !ok {
			return false
		}
	} else if _, ok := w.code.Inst(pc); !ok {
		return false
	}
	w.state = provenance.State{PC: pc, Read: w.in.mem.Uint}
	w.state.CFA, w.state.HasCFA = f.CFA()
	w.doubt = f.RALocation().Doubtful || f.CFADoubtful()
	w.state.Reg = func(r arch.Reg) (uint64, bool) {
		if early != nil {
			return early.Get(r)
		}
		v, at, ok := f.Reg(r)
		w.doubt = w.doubt || at.Doubtful
		return v, ok && (pc == f.RA() || w.abi.Preserved.Has(r))
	}
	if w.number+1 < len(w.stack) {
		caller := w.stack[w.number+1]
		w.state.AtEntry = func(r arch.Reg) (uint64, bool) {
			v, at, ok := caller.Reg(r)
			w.doubt = w.doubt || at.Doubtful
			return v, ok
		}
	}
	w.eval = w.code.Evaluator(&w.state)
	if w.vars != nil && w.state.HasCFA {
		w.code.Object = func(off int64) (int64, int64, bool) {
			_, low, high, ok := w.vars.Object(pc, w.state.CFA+uint64(off))
			return int64(low - w.state.CFA), int64(high - w.state.CFA), ok
		}
	}
	return true
}

// source returns the source line of an address in the frame's function, and the innermost function there,
// inlined ones included.
func (w *witness) source(addr uint64) (function string, src report.Source) {
	lookup, ok := w.in.Walker.SymbolLookup().(unwind.CallLookup)
	if !ok {
		return w.call.Name, src
	}
	calls, err := lookup.LookupCalls(addr, nil)
	if err != nil || len(calls) == 0 {
		return w.call.Name, src
	}
	return calls[0].Name, source(calls[0])
}

// step begins a step at an instruction of the frame.
func (w *witness) step(kind string, addr uint64) report.BlameStep {
	s := report.BlameStep{Kind: kind, Address: report.Addr(addr), Physical: w.frameNumber(), Outside: w.outside(addr)}
	s.Function, s.Source = w.source(addr)
	return s
}

func (w *witness) frameNumber() int { return w.number }
