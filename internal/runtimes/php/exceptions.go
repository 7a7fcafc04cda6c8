package php

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// maxChain limits how many exceptions a chain has.
const maxChain = 16

// Kinds of errors, as error_get_last has them.
const (
	errorFatal       = 1 << 0
	errorWarning     = 1 << 1
	errorParse       = 1 << 2
	errorNotice      = 1 << 3
	errorCore        = 1 << 4
	errorCompile     = 1 << 6
	errorUser        = 1 << 8
	errorUserWarning = 1 << 9
	errorUserNotice  = 1 << 10
	errorRecoverable = 1 << 12
	errorDeprecated  = 1<<13 | 1<<14

	errorsThatEnd = errorFatal | errorParse | errorCore | errorCompile | errorUser | errorRecoverable
)

// Raised returns the exception that a thread is raising, or the one for which its handler of exceptions runs, then those that it came of; without
// one the error that ended the program.
func (r *runtime) Raised(id unwind.ThreadID) []tasks.Exception {
	s, ok := r.stateOf(id)
	if !ok {
		return nil
	}
	if at := r.exception(r.Word(s.executor + r.at("globals.exception"))); at != 0 {
		return r.causes(at)
	}
	if at := r.exception(r.Word(s.executor + r.at("globals.previous"))); at != 0 { // what happened while a destructor or a loader of classes ran
		return r.causes(at)
	}
	if at := r.uncaught(s); at != 0 {
		return r.causes(at)
	}
	if e, ok := r.lastError(s); ok && e.kind&errorsThatEnd != 0 {
		return []tasks.Exception{e.raised()}
	}
	return nil
}

// exception returns an address if an object of an exception is there, else 0.
func (r *runtime) exception(at uint64) uint64 {
	if !r.counted(at, typeObject) || r.baseOf(at) == 0 {
		return 0
	}
	return at
}

// maxParents limits how many classes a class descends from.
const maxParents = 64

// baseOf is the class Exception or Error of which an object is; 0 if it is of neither.
func (r *runtime) baseOf(at uint64) uint64 {
	class := r.field(at, "object.class")
	for range maxParents {
		name, ok := r.className(class)
		if !ok {
			return 0
		}
		if name == "Exception" || name == "Error" {
			return class
		}
		class = r.field(class, "class.parent")
	}
	return 0
}

// uncaught is the exception for which the program's handler of exceptions runs: nothing called it, and it is its only argument.
func (r *runtime) uncaught(s state) uint64 {
	list, _ := r.chain(r.Word(s.executor + r.at("globals.current")))
	if len(list) == 0 {
		return 0
	}
	c := &list[len(list)-1]
	if c.args != 1 || c.f.kind == funcInternal || c.f.name == "" {
		return 0
	}
	v, ok := r.zvalAt(c.at + slots)
	if !ok || v.kind != typeObject {
		return 0
	}
	return r.exception(v.value)
}

// causes describes an exception and those before it.
func (r *runtime) causes(at uint64) []tasks.Exception {
	var out []tasks.Exception
	seen := map[uint64]bool{}
	for range maxChain {
		if at == 0 || seen[at] {
			break
		}
		seen[at] = true
		e, previous := r.describeException(at)
		if len(out) > 0 {
			e.Relation = "cause"
		}
		out = append(out, e)
		at = r.exception(previous)
	}
	return out
}

// describeException reads the properties that all exceptions have.
func (r *runtime) describeException(at uint64) (e tasks.Exception, previous uint64) {
	e.Language = language
	e.Type, _ = r.className(r.field(at, "object.class"))
	declared, _ := r.declared(r.baseOf(at), maxElements)
	for _, p := range declared {
		v, ok := r.zvalAt(at + p.offset)
		if !ok {
			continue
		}
		switch p.key {
		case "message":
			e.Message = r.shortText(v)
		case "file":
			e.File = r.shortText(v)
		case "line":
			if v.kind == typeLong && v.value < 1<<31 {
				e.Line = int(v.value)
			}
		case "previous":
			if v.kind == typeObject {
				previous = v.value
			}
		case "trace":
			e.Function = r.madeIn(v)
		}
	}
	return e, previous
}

func (r *runtime) shortText(v zval) string {
	if v.kind != typeString {
		return ""
	}
	s, n, ok := r.text(v.value, maxName)
	if ok && n > maxName {
		s += "..."
	}
	return s
}

// madeIn is the function in which an exception was made: the first of its trace. Without one it was made in the main program.
func (r *runtime) madeIn(trace zval) string {
	if trace.kind != typeArray || !r.counted(trace.value, typeArray) {
		return ""
	}
	list, whole := r.array(trace.value, 1)
	if len(list) == 0 {
		if whole {
			return "{main}"
		}
		return ""
	}
	first := list[0].value
	if first.kind != typeArray || !r.counted(first.value, typeArray) {
		return ""
	}
	parts := map[string]string{}
	entries, _ := r.array(first.value, maxElements)
	for _, e := range entries {
		parts[e.key] = r.shortText(e.value)
	}
	return plain(parts["class"]) + parts["type"] + parts["function"]
}

// A lastError is what error_get_last returns.
type lastError struct {
	kind          uint32
	message, file string
	line          int
}

// lastError reads the last error. Where it is in 8.0, 8.1 and 8.3 is where one of the versions beside has it, which the texts prove.
func (r *runtime) lastError(s state) (lastError, bool) {
	if s.core == 0 {
		return lastError{}, false
	}
	if r.has("error.type") {
		return r.lastErrorIn(s.core, r.layout)
	}
	for _, version := range [...]string{"8.2", "8.4"} {
		if e, ok := r.lastErrorIn(s.core, tableLayout(layoutsText, version)); ok {
			return e, true
		}
	}
	return lastError{}, false
}

func (r *runtime) lastErrorIn(core uint64, l layout) (lastError, bool) {
	kind, _ := r.U32(core + l.at("error.type"))
	line, _ := r.U32(core + l.at("error.line"))
	if kind == 0 || kind&(kind-1) != 0 || kind > errorDeprecated || line > 1<<30 {
		return lastError{}, false
	}
	read := func(field string) string {
		at := r.Word(core + l.at(field))
		if r.version == "7.4" { // these were no strings of PHP's then
			text, _ := r.CString(at, maxName)
			return string(text)
		}
		s, _, _ := r.text(at, maxName)
		return s
	}
	e := lastError{kind, read("error.message"), read("error.file"), int(line)}
	return e, e.message != "" && e.file != ""
}

// name is how PHP calls a kind of error.
func (e *lastError) name() string {
	switch {
	case e.kind&errorParse != 0:
		return "Parse error"
	case e.kind&(errorWarning|errorWarning<<4|errorWarning<<6|errorUserWarning) != 0:
		return "Warning"
	case e.kind&(errorNotice|errorUserNotice) != 0:
		return "Notice"
	case e.kind&errorDeprecated != 0:
		return "Deprecated"
	case e.kind&errorRecoverable != 0:
		return "Recoverable fatal error"
	}
	return "Fatal error"
}

// raised is the error as an exception. The message of one that nobody caught has its class, and the stack.
func (e *lastError) raised() tasks.Exception {
	out := tasks.Exception{Language: language, Type: e.name(), Message: e.message, File: e.file, Line: e.line}
	rest, uncaught := strings.CutPrefix(e.message, "Uncaught ")
	head, trace, _ := strings.Cut(rest, "\nStack trace:\n")
	if !uncaught {
		return out
	}
	head = strings.TrimSuffix(head, " in "+e.file+":"+strconv.Itoa(e.line))
	class, message, ok := strings.Cut(head, ": ")
	if ok && !strings.ContainsAny(class, " \n") {
		out.Type, out.Message = class, message
	} else {
		out.Type, out.Message = head, ""
	}
	// #0 place: function(arguments)
	first, _, _ := strings.Cut(trace, "\n")
	if _, call, ok := strings.Cut(first, "): "); ok && strings.HasPrefix(first, "#0 ") {
		out.Function, _, _ = strings.Cut(call, "(")
	} else if strings.HasPrefix(first, "#0 {main}") {
		out.Function = "{main}"
	}
	return out
}

// maxNote limits the message in a note, in bytes.
const maxNote = 160

// ThreadNotes implements tasks.ThreadNoter: the last error, if it ended nothing.
func (r *runtime) ThreadNotes(id unwind.ThreadID) []string {
	s, ok := r.stateOf(id)
	if !ok {
		return nil
	}
	e, ok := r.lastError(s)
	if !ok || e.kind&errorsThatEnd != 0 {
		return nil
	}
	message, _, _ := strings.Cut(e.message, "\n")
	if len(message) > maxNote {
		message = strings.ToValidUTF8(message[:maxNote], "") + "..."
	}
	return []string{"the last error of PHP was " + e.name() + ": " + message + " in " + e.file + ":" + strconv.Itoa(e.line)}
}
