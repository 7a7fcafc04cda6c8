package v8

import (
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// maxDetails is the most characters of what an error has besides its message.
const maxDetails = 400

// details are the properties of an error that Node prints below its stack, as it writes them: "{ errno: -2, code: 'ENOENT' }"; "" if there are none.
func (e *engine) details(obj uint64) string {
	r := reader{engine: e, most: tasks.Limits{Elements: maxElements, String: maxString, Depth: maxNested}, all: maxParts, line: maxDetails}
	r.in = []uint64{obj}
	out := item{}
	e.eachShown(obj, func(key, v uint64, accessor, hidden bool) bool {
		if len(out.Parts) >= maxElements {
			out.More = true
			return false
		}
		if e.typeOf(key) == e.types.symbol {
			return true // Node's own, nearly always
		}
		name, _, _ := r.shortText(key, maxString)
		switch {
		case name == "cause" && !accessor && (e.isError(v) || hidden): // told by itself
			return true
		case name == "errors" && hidden:
			name = "[errors]"
		case hidden || name == "" || name == "name" || name == "message" || name == "stack":
			return true
		}
		p := text("text", "", "[Getter]")
		if !accessor {
			p = r.read(v)
		}
		p.Name, p.private = name, name == "[errors]"
		out.Parts = append(out.Parts, p)
		return true
	})
	if len(out.Parts) == 0 {
		return ""
	}
	return r.join(&out, "{", "}")
}

// writtenStack is an error's stack as V8 has written it: if somebody asked for it, as Node does before it ends the process; "" if nobody did.
func (e *engine) writtenStack(obj uint64) (trace string) {
	own := e.typeOf(obj) == e.types.jsError
	e.each(obj, func(key, v uint64, accessor bool) bool {
		if accessor || !e.isString(v) {
			return true
		}
		if e.typeOf(key) == e.types.symbol {
			flags, _ := e.U32(key - 1 + e.symbolName - 4)
			if !own || flags&symbolPrivate == 0 {
				return true
			}
		} else if own || !e.reads(key, "stack") {
			return true
		}
		if s, _ := e.textUpTo(v, maxTrace); strings.Contains(s, "\n    at ") { // V8 keeps the first message there, too
			trace = s
		}
		return trace == ""
	})
	return trace
}

// maxSites is the most calls that V8 keeps of where an error was made (Error.stackTraceLimit, which is 10 unless the program says otherwise).
const maxSites = 128

// Bits of the flags of a CallSiteInfo: its number is a position in the source. Which one it is depends on V8's version.
const siteIsPosition = 1<<6 | 1<<7

// madeAt is the youngest call of the program's own that made an error whose stack nobody has asked for: V8 keeps the calls as they were.
func (e *engine) madeAt(obj uint64) (function, file string, line int) {
	if e.typeOf(obj) != e.types.jsError {
		return "", "", 0
	}
	e.each(obj, func(key, v uint64, accessor bool) bool {
		if flags, _ := e.U32(key - 1 + e.symbolName - 4); accessor || e.typeOf(key) != e.types.symbol || flags&symbolPrivate == 0 {
			return true
		}
		for _, list := range [...]uint64{v, e.at(v, 8), e.at(v, 16)} { // alone, or with more for debuggers
			n, data, ok := e.array(list, e.types.fixedArrays)
			if !ok {
				continue
			}
			for i := range min(n, maxSites) {
				c, ok := e.site(e.Word(data + 8*uint64(i)))
				if !ok {
					break
				}
				if c.Line > 0 && !c.Approximate && !strings.HasPrefix(c.File, "node:") {
					function, file, line = c.Function, c.File, c.Line
					return false
				}
			}
		}
		return true
	})
	return function, file, line
}

// site is the call that a CallSiteInfo keeps; false if it is none.
func (e *engine) site(at uint64) (tasks.Call, bool) {
	const size = 8 * 6
	if !isObject(at) || e.p.Spend(size) != nil {
		return tasks.Call{}, false
	}
	fn, code := e.at(at, 16), e.at(at, 24) // until 11
	if t := e.typeOf(e.at(at, 8)); t == e.types.bytecode || t == e.types.code {
		fn, code = e.at(at, 24), e.at(at, 8)
	}
	number, ok := smi(e.at(at, 32))
	flags, ok2 := smi(e.at(at, 40))
	if !ok || !ok2 || !e.isFunction(fn) {
		return tasks.Call{}, ok && ok2 // of WebAssembly
	}
	fun := e.functionOf(e.at(fn, e.shared))
	if fun == nil {
		return tasks.Call{}, false
	}
	pos := -1
	switch {
	case flags&siteIsPosition != 0:
		pos = number
	case e.typeOf(code) == e.types.bytecode:
		if p, _, ok := lookUp(e.byteArray(e.at(code, e.bytecodePositions)), number); ok {
			pos = p
		}
	}
	return e.call(activation{fun, pos}, fn, tasks.CallInterpreted), true
}

// maxFrameWords is the most words of the youngest call that are looked at for the promise which it deals with.
const maxFrameWords = 64

// reason is what a promise was rejected with, if an error is the one that Node makes since that was no error: the youngest call has the promise. It is 0
// if that is not known.
func (e *engine) reason(obj uint64, frames []*unwind.Frame, stretches []tasks.Stretch) uint64 {
	code, ok := e.property(obj, "code")
	if e.noValues != "" || !ok || !e.isString(code) || !e.reads(code, "ERR_UNHANDLED_REJECTION") {
		return 0
	}
	promise := uint64(0)
	for i := range min(len(stretches), 2) {
		if stretches[i].From >= len(frames) {
			break
		}
		f := frames[stretches[i].From]
		fp := f.FP()
		if fp%8 != 0 || fp < f.SP() {
			continue
		}
		for at := max(f.SP(), fp-8*maxFrameWords); at < fp+8*8; at += 8 {
			w := e.Word(at)
			if e.typeOf(w) != e.types.promise || w == promise {
				continue
			}
			if flags, _ := smi(e.at(w, 32)); flags&3 != 2 {
				continue
			}
			if promise != 0 {
				return 0
			}
			promise = w
		}
		if promise != 0 {
			return e.at(promise, 24)
		}
	}
	return 0
}
