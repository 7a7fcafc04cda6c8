package v8

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxThreads is the most threads whose exceptions are kept.
const maxThreads = 1 << 12

// Raised implements tasks.Raiser. It knows the threads whose stacks Stretches has seen.
func (j *JavaScript) Raised(id unwind.ThreadID) []tasks.Exception {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e, ok := j.raised[id]; ok {
		return e
	}
	return nil
}

// note keeps the exception that a thread throws or reports, if it does, and those that it came of.
func (j *JavaScript) note(e *engine, id unwind.ThreadID, frames []*unwind.Frame, stretches []tasks.Stretch) {
	obj, thrown := e.thrown(frames, stretches)
	if obj != 0 || thrown || e.asked(frames, stretches) {
		if i := blamed(stretches); i >= 0 {
			stretches[i].Ended = true
		}
	}
	reason := uint64(0)
	if !thrown {
		reason = e.reason(obj, frames, stretches)
	}
	list := e.chain(obj, reason)
	if len(list) == 0 {
		return
	}
	// Node throws again what was given to it: then the stack that the error has says where it comes from.
	if c := first(stretches); thrown && c.Line != 0 && (list[0].File == "" || !strings.HasPrefix(c.File, "node:")) {
		list[0].Function, list[0].File, list[0].Line = c.Function, c.File, c.Line
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.raised == nil || len(j.raised) >= maxThreads {
		j.raised = map[unwind.ThreadID][]tasks.Exception{}
	}
	j.raised[id] = list
}

// blamed is the stretch of the call that an error is told of: the youngest of the program's own, and not Node's or V8's functions above it; where there is none
// the youngest whose line is known; -1 without one.
func blamed(stretches []tasks.Stretch) int {
	own := -1
	for i, st := range stretches {
		switch {
		case len(st.Calls) == 0 || st.Calls[0].Line == 0:
		case !strings.HasPrefix(st.Calls[0].File, "node:"):
			return i
		case own < 0:
			own = i
		}
	}
	return own
}

// chain are an exception and those that it came of. reason is what a promise was rejected with, of the error that Node makes of it; 0 if that is not known.
func (e *engine) chain(obj, reason uint64) (list []tasks.Exception) {
	for obj != 0 && len(list) < maxCauses { // they may be in a circle
		x := e.exception(obj)
		if x.Type == "" {
			break
		}
		if len(list) > 0 {
			x.Relation = "cause"
		}
		list = append(list, x)
		if obj, _ = e.property(obj, "cause"); obj == 0 {
			obj, reason = reason, 0
		}
	}
	return list
}

// maxCauses is the most errors of which each is the cause of the one before it.
const maxCauses = 8

// first is the youngest call whose line is known.
func first(stretches []tasks.Stretch) tasks.Call {
	for _, st := range stretches {
		for _, c := range st.Calls {
			if c.Line != 0 {
				return c
			}
		}
	}
	return tasks.Call{}
}

// exception describes what was thrown; its Type is "" if that is no value of JavaScript.
func (e *engine) exception(obj uint64) tasks.Exception {
	x := tasks.Exception{Language: Language}
	if !e.isError(obj) {
		x.Type, x.Message = e.thrownValue(obj)
		return x
	}
	if w, ok := e.property(obj, "message"); ok {
		x.Message, _ = e.text(w)
	}
	x.Type = e.errorType(obj, x.Message)
	if e.noValues != "" {
		return x
	}
	x.Details = e.details(obj)
	if trace := e.writtenStack(obj); trace != "" {
		if _, calls, ok := strings.Cut(trace, x.Message); ok { // it may look like a call
			trace = calls
		}
		x.Function, x.File, x.Line = place(trace)
	} else {
		x.Function, x.File, x.Line = e.madeAt(obj)
	}
	return x
}

// thrownValue is what was thrown, if that is no error: its type, and how Node writes it.
func (e *engine) thrownValue(w uint64) (typ, message string) {
	if s, ok := e.text(w); ok && e.isString(w) {
		return "string", s
	}
	if e.noValues != "" || !e.isValue(w) {
		return "", ""
	}
	v := e.value(w, tasks.Limits{})
	if v.Err != nil {
		return "", ""
	}
	switch v.Value {
	case "undefined", "null":
		return v.Value, ""
	}
	return orObject(v.Type), v.Value
}

// maxTrace is the most characters of an error's stack that are read.
const maxTrace = 1 << 14

// place is the youngest place of an error's stack that is in a file of the program, not in Node's own.
func place(trace string) (function, file string, line int) {
	for s := range strings.SplitSeq(trace, "\n") {
		s, ok := strings.CutPrefix(s, "    at ")
		if !ok {
			continue
		}
		s = strings.TrimPrefix(s, "async ")
		where := s
		if i := strings.Index(s, " ("); i >= 0 && strings.HasSuffix(s, ")") {
			function, where = s[:i], s[i+2:len(s)-1]
		} else {
			function = "<anonymous>"
		}
		where, _, ok = cutLast(where) // the column
		path, number, ok2 := cutLast(where)
		n, err := strconv.Atoi(number)
		if !ok || !ok2 || err != nil || n <= 0 || strings.HasPrefix(path, "node:") {
			continue
		}
		return function, strings.TrimSuffix(strings.TrimPrefix(path, "file://"), ", <anonymous>"), n
	}
	return "", "", 0
}

// cutLast cuts a text before its last colon.
func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// Functions of V8 and of Node that have an exception in hand, by the beginnings of their linkage names.
const (
	runtimeThrow = "_ZN2v88internal13Runtime_Throw"
	isolate      = "_ZN2v88internal7Isolate"
	errorsOfNode = "_ZN4node6errors"
)

// Functions by which JavaScript ends the process: process.abort, and V8 for want of memory.
const (
	processAbort = "_ZN4nodeL5AbortERK"
	outOfMemory  = "_ZN2v88internal2V823FatalProcessOutOfMemory"
)

// asked reports whether the youngest call of JavaScript asked Node or V8 to end the process.
func (e *engine) asked(frames []*unwind.Frame, list []tasks.Stretch) bool {
	if len(list) == 0 {
		return false
	}
	libs := frames[0].Walker().ProcessState().LibraryTracker()
	if libs == nil {
		return false
	}
	for _, f := range frames[:list[0].From] {
		if lib, _ := libs.LibraryAt(f.LookupAddr()); lib != nil && lib.Path == e.lib.Path {
			if s, ok := e.p.Symbols.SymbolAt(lib, f.LookupAddr()); ok && (strings.HasPrefix(s.Name, processAbort) || strings.HasPrefix(s.Name, outOfMemory)) {
				return true
			}
		}
	}
	return false
}

// maxArguments is the most words above a frame that are looked at for arguments.
const maxArguments = 16

// thrown finds the exception that V8's native code at the top of a stack has in hand; 0 if there is none. thrown says
// that it is thrown there, and not reported.
func (e *engine) thrown(frames []*unwind.Frame, list []tasks.Stretch) (obj uint64, thrown bool) {
	if len(list) == 0 {
		return 0, false
	}
	var libs libstate.LibraryState
	if libs = frames[0].Walker().ProcessState().LibraryTracker(); libs == nil {
		return 0, false
	}
	first := list[0].From
	inHand := uint64(0)
	for _, f := range frames[:first] {
		lib, _ := libs.LibraryAt(f.LookupAddr())
		if lib == nil || lib.Path != e.lib.Path {
			continue
		}
		s, ok := e.p.Symbols.SymbolAt(lib, f.LookupAddr())
		switch name := s.Name; {
		case !ok:
		case strings.HasPrefix(name, errorsOfNode) && strings.Contains(name, "TriggerUncaughtException"):
			return e.argument(frames[first].FP()), false
		case strings.HasPrefix(name, runtimeThrow):
			return e.Word(frames[first].FP() + 16), true // the only argument
		case strings.HasPrefix(name, isolate) && (strings.Contains(name, "Throw") || strings.Contains(name, "CreateMessageOrAbort")):
			if inHand == 0 {
				inHand = e.handle(f)
			}
		}
	}
	return inHand, inHand != 0
}

// argument is the first error among the arguments of a native function that JavaScript calls.
func (e *engine) argument(fp uint64) uint64 {
	for i := range uint64(maxArguments) {
		if w := e.Word(fp + 16 + 8*i); e.isError(w) {
			return w
		}
	}
	return 0
}

// handle is the error that a native frame has in a register that its callees keep: as it is, or by its handle.
func (e *engine) handle(f *unwind.Frame) uint64 {
	for _, r := range []arch.Reg{arch.RBX, arch.R12, arch.R13, arch.R14, arch.R15} {
		v, _, ok := f.Reg(r)
		if !ok || v == 0 {
			continue
		}
		if e.typeOf(v) == e.types.jsError {
			return v
		}
		if v%8 == 0 {
			if w := e.Word(v); e.typeOf(w) == e.types.jsError {
				return w
			}
		}
	}
	return 0
}
