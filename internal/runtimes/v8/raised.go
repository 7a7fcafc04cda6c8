package v8

import (
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
		return []tasks.Exception{e}
	}
	return nil
}

// note keeps the exception that a thread throws, if it throws one.
func (j *JavaScript) note(e *engine, id unwind.ThreadID, frames []*unwind.Frame, list []tasks.Stretch) {
	obj, thrown := e.thrown(frames, list)
	if obj == 0 {
		return
	}
	x := tasks.Exception{Language: Language}
	if e.typeOf(obj) == e.types.jsError {
		x.Type = e.className(obj)
		if w, ok := e.property(obj, "message"); ok {
			x.Message, _ = e.text(w)
		}
	} else if s, ok := e.text(obj); ok {
		x.Type, x.Message = "string", s
	}
	if x.Type == "" {
		return
	}
	if thrown { // right here
		for _, st := range list {
			for _, c := range st.Calls {
				if x.Line == 0 && c.Line != 0 {
					x.Function, x.File, x.Line = c.Function, c.File, c.Line
				}
			}
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.raised == nil || len(j.raised) >= maxThreads {
		j.raised = map[unwind.ThreadID]tasks.Exception{}
	}
	j.raised[id] = x
}

// Functions of V8 and of Node that have an exception in hand, by the beginnings of their linkage names.
const (
	runtimeThrow = "_ZN2v88internal13Runtime_Throw"
	isolate      = "_ZN2v88internal7Isolate"
	errorsOfNode = "_ZN4node6errors"
)

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
			return e.errorOrText(e.Word(frames[first].FP() + 16)), true
		case strings.HasPrefix(name, isolate) && (strings.Contains(name, "Throw") || strings.Contains(name, "CreateMessageOrAbort")):
			if inHand == 0 {
				inHand = e.handle(f)
			}
		}
	}
	return inHand, inHand != 0
}

// errorOrText is a word if it is an error or a string, else 0.
func (e *engine) errorOrText(w uint64) uint64 {
	if e.typeOf(w) == e.types.jsError || e.isString(w) {
		return w
	}
	return 0
}

// argument is the first error among the arguments of a native function that JavaScript calls.
func (e *engine) argument(fp uint64) uint64 {
	for i := range uint64(maxArguments) {
		if w := e.Word(fp + 16 + 8*i); e.typeOf(w) == e.types.jsError {
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

// maxTransitions is the most maps between a map and that of the objects which a constructor makes.
const maxTransitions = 256

// className is the name of the function that made an object.
func (e *engine) className(obj uint64) string {
	at := e.at(e.Word(obj-1), e.mapConstructor)
	for range maxTransitions {
		switch {
		case e.isFunction(at):
			if f := e.functionOf(e.at(at, e.shared)); f != nil {
				return f.name
			}
			return ""
		case e.typeOf(at) != e.types.meta || e.p.Spend(1) != nil:
			return ""
		}
		at = e.at(at, e.mapConstructor)
	}
	return ""
}
