package tasks

import (
	"context"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// What a runtime brings besides tasks. Each interface is one that a Runtime may implement.

// A Stepping Runtime makes frames of its own: compiled code without unwind tables, frames of an interpreter. Its
// steppers are asked by their priority among the others.
type Stepping interface {
	Steppers() []unwind.FrameStepper
}

// A stepper of a Walker may be a Runtime itself: one that looks for its runtime when it first sees code that no library
// has. Reports ask it about the stacks that it walked.

// A Framer is a Runtime that knows what the frames of a stack are in its language.
type Framer interface {
	// Stretches tells what parts of a stack stand for, youngest first; they do not overlap. It returns what it
	// could find, and an error for what it could not. thread is unwind.NullThread for the stack of a task that no
	// thread runs.
	Stretches(ctx context.Context, thread unwind.ThreadID, frames []*unwind.Frame) ([]Stretch, error)
}

// A Stretch is what frames[From:To] of a stack stand for. Where From is To, the calls lie before
// frames[From].
type Stretch struct {
	From, To int
	// Named says that the stretch is one frame of the runtime's own: the last of Calls is its function, those
	// before it are inlined into it. Otherwise the Calls have no frames: the native ones execute them, and the
	// text shows the Calls instead.
	Named bool
	// Folded says of a Named stretch that it only leads from one call to the next: the text leaves it out.
	Folded bool
	// Ended says that Calls[0] asked the runtime to end the process (os.abort): a report points to this call, not to the
	// runtime's function in frames before From.
	Ended bool
	Calls []Call // innermost first; none if the native frames are only the runtime's business
}

// A Call is a call in a runtime's language.
type Call struct {
	Language string // "python"
	Kind     CallKind
	Function string // qualified, as the language writes it
	Symbol   string // as the runtime writes it, if that differs
	File     string
	Line     int // from 1; 0 when not known
	Column   int // from 1; 0 when not known
	// Approximate says that the code belongs to no line: Line is that of code nearby.
	Approximate bool
	// Variables reads the arguments and, if locals is true, the local variables (own); nil if that is not possible. It is
	// called while the process is as it was when its tasks were listed. It returns nil for the arguments of what takes none.
	Variables func(locals bool, limits Limits) (args, own []SuspendedVariable)
}

// A Valuer is a Runtime that can read an object again by its address, for callers who want parts that were left out
// of its value.
type Valuer interface {
	// ValueAt reads the object at the Address of a value of this runtime; false if there is none. It is called only while the
	// process is as it was when the value was read.
	ValueAt(at unwind.Address, limits Limits) (report.Data, bool)
}

// Limits say how much of a value is read. A field that is 0 has the default of the language, whose text is short.
type Limits struct {
	Elements int // read of one array, container or object
	Inner    int // read of an array, container or object within the value; 0 for Elements
	String   int // characters read of a string
	Depth    int // of values within values that are read
}

// At returns how many elements are read of a value at a depth: 0 is the value itself, 1 its parts.
func (l Limits) At(depth int) int {
	if depth > 0 && l.Inner > 0 {
		return min(l.Inner, l.Elements)
	}
	return l.Elements
}

// mostOf is the highest limit that somebody may ask for.
const mostOf = 1 << 20

// Or returns the limits; fields that are 0 are taken from d.
func (l Limits) Or(d Limits) Limits {
	one := func(own, other int) int {
		if own <= 0 {
			return other
		}
		return min(own, mostOf)
	}
	return Limits{one(l.Elements, d.Elements), l.Inner, one(l.String, d.String), one(l.Depth, d.Depth)}
}

// Parts returns how many values within one value are read: d for short values, and more in proportion where longer
// ones are asked for.
func (l Limits) Parts(d int) int {
	if l == (Limits{}) {
		return d
	}
	return min(max(d, 8*l.Elements, 16*l.Depth), mostOf)
}

// A CallKind says how a call is executed.
type CallKind string

const (
	CallInterpreted CallKind = "interpreted"
	CallJIT         CallKind = "jit"
	CallVirtual     CallKind = "virtual" // has no frame of its own: it was inlined, or awaits another call
)

// Shown is a Runtime that is asked only about threads whose own stacks show it: what is said of one then does not depend on which others were looked at.
type Shown interface {
	// ShownBy reports whether a function, in the file of a module, shows it.
	ShownBy(function, module string) bool
}

// A ThreadNamer is a Runtime whose threads have names of their own.
type ThreadNamer interface {
	// ThreadName is the name of a thread; "" if it is not the runtime's, or has none.
	ThreadName(thread unwind.ThreadID) string
}

// A ThreadNoter is a Runtime that knows something about its threads, such as which one has the lock of an
// interpreter.
type ThreadNoter interface {
	// ThreadNotes returns what is known of a thread, in short, stable phrases: "has the GIL"; nil if there is nothing to
	// say.
	ThreadNotes(thread unwind.ThreadID) []string
}

// A Server is a Runtime that knows which HTTP request a thread serves.
type Server interface {
	// Request returns the request; false if there is none. It may contain secrets, which whoever shows it must mask.
	Request(thread unwind.ThreadID) (Request, bool)
}

// A Request is what somebody asked a server for.
type Request struct {
	Method string // "GET"
	URI    string // with what is behind its question mark
	Script string // the file that answers it
}

// A Raiser is a Runtime that knows which exceptions its threads are dealing with.
type Raiser interface {
	// Raised returns the exception that a thread is raising or handling, then those that it came of.
	Raised(thread unwind.ThreadID) []Exception
}

// An Exception is an exception of a language.
type Exception struct {
	Language string
	Type     string // as the language writes it
	Message  string
	Details  string // what else it has that the language prints of it: "{ code: 'ENOENT' }"
	Function string // where it was raised; "" if unknown
	File     string
	Line     int
	// Handled says that it was caught, and that the code that handles it is still running.
	Handled bool
	// Relation says how this exception led to the one before it in a list: "cause" or "context", as Python's; "" in the first.
	Relation string
}
