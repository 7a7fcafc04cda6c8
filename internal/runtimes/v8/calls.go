package v8

import (
	"context"
	"strings"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Where a frame has its values, in bytes from its frame pointer.
const (
	frameContext  = -8 // or the marker of a frame that is no function's
	frameFunction = -16
	frameBytecode = -32
	frameOffset   = -40 // into the bytecode, from the beginning of its object
)

// from is the address of what is so many bytes from a frame pointer.
func from(fp uint64, offset int64) uint64 { return fp + uint64(offset) }

// marker is what V8 calls a frame that is no function's: "Exit", "Stub"; "" if it is a function's.
func (e *engine) marker(fp uint64) string {
	w := e.Word(from(fp, frameContext))
	if w&1 != 0 || w == 0 {
		return ""
	}
	return e.frames[w>>1]
}

// Stretches implements tasks.Framer.
func (j *JavaScript) Stretches(_ context.Context, id unwind.ThreadID, frames []*unwind.Frame) ([]tasks.Stretch, error) {
	e := j.anywhere()
	if e == nil {
		return nil, j.err
	}
	var libs libstate.LibraryState
	if len(frames) > 0 {
		libs = frames[0].Walker().ProcessState().LibraryTracker()
	}
	var out []tasks.Stretch
	for i, f := range frames {
		if err := e.p.Spend(1); err != nil {
			return out, err
		}
		pc := f.LookupAddr()
		var lib *libstate.Library
		if libs != nil {
			lib, _ = libs.LibraryAt(pc)
		}
		name := e.builtinOf(lib, f)
		if name == "" && lib != nil {
			continue // native code
		}
		calls, ok := e.calls(f, name)
		if !ok {
			continue
		}
		out = append(out, tasks.Stretch{From: i, To: i + 1, Named: len(calls) > 0, Calls: calls})
	}
	j.note(e, id, frames, out)
	return out, nil
}

// calls are the calls that a frame executes; false if nothing is known of it. builtin is the name of V8's code, "" in compiled code.
func (e *engine) calls(f *unwind.Frame, builtin string) ([]tasks.Call, bool) {
	fp := f.FP()
	if fp%8 != 0 {
		return nil, builtin != ""
	}
	switch m := e.marker(fp); m {
	case "":
	case "BuiltinExit":
		return e.builtinExit(fp), true
	case "JavaScriptBuiltinContinuation", "JavaScriptBuiltinContinuationWithCatch": // of a function of V8's own that was inlined
		fn := e.Word(from(fp, frameFunction))
		if !e.isFunction(fn) {
			return nil, true
		}
		fun := e.functionOf(e.at(fn, e.shared))
		if fun == nil || fun.hidden || fun.script != nil {
			return nil, true
		}
		return []tasks.Call{e.call(activation{fun, -1}, fn, tasks.CallJIT)}, true
	case "Wasm":
		if builtin != "" {
			return nil, true
		}
		return e.wasmCalls(fp, f.LookupAddr()), true
	default:
		return nil, true
	}
	fn := e.Word(from(fp, frameFunction))
	if !e.isFunction(fn) {
		return nil, builtin != ""
	}
	fun := e.functionOf(e.at(fn, e.shared))
	if fun == nil {
		return nil, builtin != ""
	}
	if builtin != "" {
		if offset, ok := e.interpreted(fp); ok {
			pos, _, ok := lookUp(e.byteArray(e.at(e.Word(from(fp, frameBytecode)), e.bytecodePositions)), offset)
			if !ok {
				pos = -1
			}
			return e.withVariables(activationFrame{fp, fn, fun, true}, e.call(activation{fun, pos}, fn, tasks.CallInterpreted)), true
		}
		if fun.hidden || fun.script != nil {
			return nil, true
		}
		return []tasks.Call{e.call(activation{fun, -1}, fn, tasks.CallJIT)}, true
	}
	return e.compiled(f, fun, fn)
}

// interpreted reports whether a frame is the interpreter's, and which bytecode it runs.
func (e *engine) interpreted(fp uint64) (int, bool) {
	bytecode := e.Word(from(fp, frameBytecode))
	offset, ok := smi(e.Word(from(fp, frameOffset)))
	if !ok || e.typeOf(bytecode) != e.types.bytecode {
		return 0, false
	}
	n, ok := smi(e.at(bytecode, 8))
	offset -= int(e.bytecodeData) - 1
	return offset, ok && offset >= 0 && offset < n
}

// compiled are the calls of a frame of compiled code.
func (e *engine) compiled(f *unwind.Frame, fun *function, fn uint64) ([]tasks.Call, bool) {
	c := e.codeAt(f.LookupAddr())
	switch {
	case c == nil:
		return nil, false
	case e.noWasm == "" && fun.script != nil && e.wasmModuleOfScript(fun.script.at) != nil: // only leads to WebAssembly, and V8's traces do not have it
		return nil, true
	case c.kind == e.kindInterpreted: // a copy of the interpreter, made for profilers
		if offset, ok := e.interpreted(f.FP()); ok {
			pos, _, ok := lookUp(e.byteArray(e.at(e.Word(from(f.FP(), frameBytecode)), e.bytecodePositions)), offset)
			if !ok {
				pos = -1
			}
			return e.withVariables(activationFrame{f.FP(), fn, fun, true}, e.call(activation{fun, pos}, fn, tasks.CallInterpreted)), true
		}
	case c.baseline:
		pos := -1
		if offset, ok := e.baselineOffset(c, f.LookupAddr()+1); ok {
			if p, _, ok := lookUp(e.byteArray(e.at(c.bytecode, e.bytecodePositions)), offset); ok {
				pos = p
			}
		}
		return e.withVariables(activationFrame{f.FP(), fn, fun, true}, e.call(activation{fun, pos}, fn, tasks.CallJIT)), true
	case c.deopt != 0:
		list := e.activations(c, f.LookupAddr())
		if len(list) == 0 || list[len(list)-1].shared != fun.shared {
			list = []activation{{fun, -1}}
		}
		out := make([]tasks.Call, len(list))
		for i, a := range list {
			of := uint64(0)
			if i == len(list)-1 {
				of = fn
			}
			out[i] = e.call(a, of, tasks.CallJIT)
		}
		return e.withVariables(activationFrame{f.FP(), fn, fun, false}, out...), true
	}
	return []tasks.Call{e.call(activation{fun, -1}, fn, tasks.CallJIT)}, true
}

// builtinExit is the function of V8's own whose native code a frame calls.
func (e *engine) builtinExit(fp uint64) []tasks.Call {
	const target, before = 24, 16 // before 12 and now
	for _, at := range []uint64{target, before, 32} {
		fn := e.Word(fp + at)
		if !e.isFunction(fn) {
			continue
		}
		fun := e.functionOf(e.at(fn, e.shared))
		if fun == nil || fun.hidden || fun.script != nil {
			return nil
		}
		return []tasks.Call{e.call(activation{fun, -1}, fn, tasks.CallJIT)}
	}
	return nil
}

// call is an activation as a report has it. fn is the function object, 0 if it is not known.
func (e *engine) call(a activation, fn uint64, kind tasks.CallKind) tasks.Call {
	c := tasks.Call{Language: Language, Kind: kind, Function: a.name}
	if fn != 0 { // its own name says more than that of the source: "get price"
		if w, ok := e.property(fn, "name"); ok {
			if s, ok := e.text(w); ok && s != "" {
				c.Function = s
			}
		}
	}
	s := a.script
	if s == nil {
		return c
	}
	if c.Function == "" && s.eval {
		c.Function = "eval"
	}
	if c.Function == "" {
		c.Function = "<anonymous>"
	}
	if c.File = s.name; c.File == "" {
		c.File = s.origin
	}
	if c.File == "" {
		c.File = "<anonymous>"
	}
	if a.pos >= 0 {
		c.Line, c.Column = s.place(a.pos)
	} else if c.Line, _ = s.place(a.start); c.Line != 0 {
		c.Approximate = true
	}
	c.File = strings.TrimPrefix(c.File, "file://")
	return c
}

// withVariables lets the last of the calls of a frame, its function, read its variables.
func (e *engine) withVariables(a activationFrame, calls ...tasks.Call) []tasks.Call {
	if e.noValues == "" {
		calls[len(calls)-1].Variables = func(locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
			return e.variables(a, locals, limits)
		}
	}
	return calls
}
