package perl

import (
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// died is the type of errors that are texts.
const died = "die"

// Raised implements tasks.Raiser: the error for which a handler runs before it is raised ($SIG{__DIE__}).
func (r *runtime) Raised(id unwind.ThreadID) []tasks.Exception {
	interpreter, ok := r.interpreterOf(id)
	if !ok {
		return nil
	}
	s, _ := r.calls(interpreter)
	for i := range s.list {
		c := &s.list[i]
		if !c.hook {
			continue
		}
		e, ok := r.describeError(r.hooked(c))
		if !ok {
			return nil
		}
		if i+1 < len(s.list) {
			from := &s.list[i+1]
			e.Function = from.function
			if from.known {
				e.File, e.Line = from.file, from.line
			}
		}
		return []tasks.Exception{e}
	}
	return nil
}

// hooked is the error that the handler of errors was called with: its first argument, also if it has taken that.
func (r *runtime) hooked(c *call) uint64 {
	f := r.codeAt(c.cv)
	if f == nil || c.depth > f.most {
		return 0
	}
	from, n, ok := r.list(r.Word(f.lists + 8*c.depth))
	if !ok || n == 0 {
		return 0
	}
	arguments := r.Word(from)
	if !r.is(arguments, "av") {
		return 0
	}
	return r.Word(r.field(r.body(arguments), "body.alloc"))
}

// describeError describes an error: a text, or an object with one.
func (r *runtime) describeError(at uint64) (tasks.Exception, bool) {
	e := tasks.Exception{Language: language, Type: died}
	f, ok := r.flags(at)
	if !ok {
		return e, false
	}
	if f&flagRef == 0 {
		s, n, ok := r.text(at, maxName)
		if !ok || s == "" {
			return e, false
		}
		e.Message = strings.TrimRight(s, "\n")
		if n > uint64(len(s)) {
			e.Message += "..."
		}
		return e, true
	}
	e.Type = r.typeOf(at)
	to := r.Word(at + valueHere)
	e.Message = r.objectMessage(to)
	if e.Message == "" {
		e.Message = r.show(at, tasks.Limits{Elements: 3, String: maxText, Depth: 1})
	}
	return e, e.Type != ""
}

// messageKeys are what classes of errors call their texts: Exception::Class and others, Error.
var messageKeys = [...]string{"message", "msg", "-text"}

// objectMessage is the text of an object of an error; "" if it has none.
func (r *runtime) objectMessage(at uint64) string {
	list, _ := r.entries(at)
	for _, key := range messageKeys {
		for _, e := range list {
			if s, _, ok := r.text(e.value, maxName); ok && e.key == key {
				return s
			}
		}
	}
	return ""
}

// ThreadNotes implements tasks.ThreadNoter: the last error that an eval caught.
func (r *runtime) ThreadNotes(id unwind.ThreadID) []string {
	interpreter, ok := r.interpreterOf(id)
	if !ok {
		return nil
	}
	glob := r.Word(r.global(interpreter, "errgv"))
	if !r.is(glob, "gv") {
		return nil
	}
	e, ok := r.describeError(r.field(r.Word(glob+valueHere), "gp.sv"))
	if !ok {
		return nil
	}
	message := strings.ReplaceAll(e.Message, "\n", " ")
	if len(message) > maxText {
		message = message[:maxText] + "..."
	}
	if e.Type == died {
		return []string{"the last error of Perl ($@) was " + message}
	}
	return []string{"the last error of Perl ($@) was " + e.Type + ": " + message}
}
