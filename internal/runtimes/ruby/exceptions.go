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
		if c.f == nil || c.f.kind != codeRescue && c.f.kind != codeEnsure {
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

// madeIn says where an exception was raised, if it has a list of texts, as it has once somebody asked for it.
func (r *runtime) madeIn(at uint64, e *tasks.Exception) {
	list, _ := r.hidden(at, "bt")
	place := r.name(r.element(list, 0))
	file, rest, ok := strings.Cut(place, ":")
	number, where, _ := strings.Cut(rest, ":in ")
	line, err := strconv.Atoi(number)
	if !ok || err != nil || line < 0 {
		return
	}
	e.File, e.Line, e.Function = file, line, strings.Trim(where, "`'")
}
