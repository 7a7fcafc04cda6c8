package ruby

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// maxChain limits how many exceptions a chain has.
const maxChain = 16

// errInfo is where the code of a rescue or an ensure has the exception, in words before ep.
const errInfo = 3

// Raised implements tasks.Raiser: the exception that a thread raises, else the one that it handles in its youngest rescue or ensure; then those that it came of.
func (r *runtime) Raised(id unwind.ThreadID) []tasks.Exception {
	ec := r.ecOf(id)
	if ec == 0 {
		return nil
	}
	if at := r.exception(r.field(ec, "ec.errinfo")); at != 0 {
		return r.causes(at, false)
	}
	list, _ := r.calls(ec)
	for i := range list {
		c := &list[i]
		if c.f == nil || !c.f.handler() {
			continue
		}
		if at := r.exception(r.Word(c.ep - 8*errInfo)); at != 0 {
			return r.causes(at, c.f.kind == codeRescue)
		}
	}
	return nil
}

// exception returns an address if an exception is there, else 0.
func (r *runtime) exception(at uint64) uint64 {
	if !r.is(at, typeObject) || !r.descends(at, "Exception") {
		return 0
	}
	return at
}

// causes describes an exception and those that it came of.
func (r *runtime) causes(at uint64, handled bool) []tasks.Exception {
	var out []tasks.Exception
	seen := map[uint64]bool{}
	for len(out) < maxChain && at != 0 && !seen[at] {
		seen[at] = true
		e := tasks.Exception{Language: language, Type: r.classOf(at), Message: r.message(at, maxName)}
		if len(out) > 0 {
			e.Relation = "cause"
		} else {
			e.Handled = handled
		}
		r.madeIn(at, &e)
		out = append(out, e)
		cause, _ := r.hidden(at, "cause")
		at = r.exception(cause)
	}
	return out
}

// message is the text of an exception; "" without one.
func (r *runtime) message(at uint64, limit int) string {
	v, _ := r.hidden(at, "mesg")
	s, n, ok := r.text(v, limit)
	if ok && n > uint64(len(s)) {
		s += "..."
	}
	return s
}

// madeIn says where an exception was raised: the first call of its list of them.
func (r *runtime) madeIn(at uint64, e *tasks.Exception) {
	trace, _ := r.hidden(at, "bt")
	if data, ok := r.data(trace, "backtrace"); ok {
		r.firstLocation(data, e)
		return
	}
	place := r.name(r.element(trace, 0)) // the program set it
	file, rest, ok := strings.Cut(place, ":")
	number, where, _ := strings.Cut(rest, ":in ")
	line, err := strconv.Atoi(number)
	if !ok || err != nil || line < 0 {
		return
	}
	e.File, e.Line, e.Function = file, line, strings.Trim(where, "`'")
}

// maxNative is how many functions of C may be before the first code of the program.
const maxNative = 16

// firstLocation reads the youngest call of a list, and of a function of C where it was called.
func (r *runtime) firstLocation(data uint64, e *tasks.Exception) {
	list := r.field(data, "backtrace.list")
	if r.version >= "3.3" { // it is there
		list = data + r.at("backtrace.list")
	}
	size := r.number(data, "backtrace.size")
	if r.version == "3.0" && size > 0 { // it counts a place for a call that is not told
		size--
	}
	for i := range min(size, maxNative) {
		at := list + uint64(i)*r.at("location.size")
		if r.version < "3.1" { // the oldest is the first
			at = list + uint64(size-1-i)*r.at("location.size")
		}
		if r.has("location.entry") {
			if r.locationOf(at, e) {
				return
			}
			continue
		}
		if uint64(r.number(at, "location.type")) == r.at("location.ofc") {
			if e.Function == "" {
				e.Function = r.idName(r.field(at, "location.method"))
			}
			continue
		}
		f := r.functionAt(r.field(at, "location.iseq"))
		if f == nil {
			return
		}
		if e.Function == "" {
			e.Function = f.label
		}
		if strings.HasPrefix(f.path, internalFile) {
			continue
		}
		e.File = f.path
		if counted := r.number(at, "location.type") != 1; counted {
			e.Line = int(min(r.number(at, "location.pc"), 1<<30))
		} else if line, approximate := r.line(&call{f: f, pc: r.field(at, "location.pc")}); !approximate {
			e.Line = line
		}
		return
	}
}

// locationOf reads a call of a list as versions have it that keep the method: of a function of C with the place where it was called. It returns false
// if that is in code that Ruby brings with it.
func (r *runtime) locationOf(at uint64, e *tasks.Exception) bool {
	m := r.field(at, "location.entry")
	f := r.functionAt(r.field(at, "location.iseq"))
	switch {
	case e.Function != "":
	case r.internal(m, internalMethod) && (f == nil || r.ofC(m)):
		e.Function = join(r.classAt(r.field(m, "method.owner")), r.idName(r.field(r.field(m, "method.definition"), "definition.id")))
	case f != nil:
		e.Function = r.label(f, m)
	}
	if f == nil {
		return true
	}
	if strings.HasPrefix(f.path, internalFile) {
		return false
	}
	e.File = f.path
	if line, approximate := r.line(&call{f: f, pc: r.field(at, "location.pc")}); !approximate {
		e.Line = line
	}
	return true
}

// ofC reports whether Ruby tells of a method as of a function of C.
func (r *runtime) ofC(method uint64) bool {
	const methodCode, code = 0, 8 // the type of those that have code of the program, and where that is
	definition := r.field(method, "method.definition")
	switch kind, _ := r.U8(definition); kind & 15 {
	case methodC:
		return true
	case methodCode:
		f := r.functionAt(r.Word(definition + code))
		return f != nil && f.native
	}
	return false
}
