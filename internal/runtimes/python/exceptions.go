package python

import (
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// maxChain limits how many exceptions a chain has.
const maxChain = 16

// Raised returns the exception that a thread is raising, or the innermost that it is handling, then what that came of.
func (r *runtime) Raised(id unwind.ThreadID) []tasks.Exception {
	s := r.state(id)
	if s == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	handled := false
	at := r.exception(r.field(s.at, "thread.raised"))
	traceback := uint64(0)
	if at != 0 && r.has("thread.raised_traceback") {
		traceback = r.field(s.at, "thread.raised_traceback")
	}
	if at == 0 {
		at, handled = r.handled(s), true
	}
	var out []tasks.Exception
	relation := ""
	seen := map[uint64]bool{}
	for range maxChain {
		at = r.exception(at)
		if at == 0 || seen[at] {
			break
		}
		seen[at] = true
		e := r.describe(at, traceback)
		e.Handled, e.Relation = handled && relation == "", relation
		out = append(out, e)
		relation, traceback = "cause", 0
		next := r.field(at, "exception.cause")
		if r.exception(next) == 0 {
			if r.u8(at+r.at("exception.suppress")) != 0 {
				break
			}
			relation, next = "context", r.field(at, "exception.context")
		}
		at = next
	}
	return out
}

// exception returns an address if an exception is there, else 0.
func (r *runtime) exception(at uint64) uint64 {
	if at == 0 {
		return 0
	}
	if t := r.typeAt(r.field(at, "object.type")); t == nil || t.flags&flagException == 0 {
		return 0
	}
	return at
}

// handled returns the innermost exception that a thread is handling.
func (r *runtime) handled(s *threadState) uint64 {
	if !r.has("thread.exc_info") {
		return r.field(s.at, "thread.handled")
	}
	item := r.field(s.at, "thread.exc_info")
	for range maxDepth {
		if item == 0 || r.p.Spend(1) != nil {
			break
		}
		if v := r.exception(r.field(item, "exc.value")); v != 0 {
			return v
		}
		item = r.field(item, "exc.previous")
	}
	return 0
}

// describe tells of one exception. Where it was raised is the last entry of its traceback: the innermost call.
func (r *runtime) describe(at, traceback uint64) tasks.Exception {
	e := tasks.Exception{Language: language}
	if t := r.typeAt(r.field(at, "object.type")); t != nil {
		e.Type = short(t.name)
	}
	args := r.field(at, "exception.args")
	items := r.tuple(args, maxElements)
	w := newPrinter(r, tasks.Limits{})
	switch {
	case len(items) == 1:
		if s, whole, ok := r.text(items[0], maxText); ok && !strings.HasSuffix(e.Type, "KeyError") {
			w.WriteString(s)
			if !whole {
				w.WriteString("...")
			}
			break
		}
		w.value(items[0], 0)
	case len(items) > 1:
		w.list("(", ")", items, r.field(args, "var.size"), 0)
	}
	e.Message = w.String()
	if tb := r.field(at, "exception.traceback"); traceback == 0 {
		traceback = tb
	}
	for range maxDepth {
		if t := r.typeAt(r.field(traceback, "object.type")); t == nil || t.name != "traceback" || r.p.Spend(1) != nil {
			break
		}
		next := r.field(traceback, "traceback.next")
		if t := r.typeAt(r.field(next, "object.type")); t == nil || t.name != "traceback" {
			r.raisedAt(&e, traceback)
			break
		}
		traceback = next
	}
	return e
}

// raisedAt fills in the place of a traceback's entry.
func (r *runtime) raisedAt(e *tasks.Exception, traceback uint64) {
	frame := r.field(traceback, "traceback.frame")
	if r.has("frameobject.frame") {
		frame = r.field(frame, "frameobject.frame")
	}
	c := r.codeIn(r.field(frame, "frame.code") &^ r.tag())
	if c == nil {
		return
	}
	e.Function, e.File = r.functionOf(c, frame), c.file
	line := int(int32(r.u32(traceback + r.at("traceback.lineno"))))
	if line < 0 {
		line, _ = r.placeIn(c, int(int32(r.u32(traceback+r.at("traceback.lasti")))))
	}
	e.Line = line
}
