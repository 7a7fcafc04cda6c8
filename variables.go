package corewalk

import (
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/unwind"
)

// Locals selects the variables in a report.
type Locals uint8

const (
	// LocalsTop: the arguments of every frame, and all variables of the top frames of
	// the crashing thread.
	LocalsTop = Locals(analysis.LocalsTop)
	// LocalsNone: no variables.
	LocalsNone = Locals(analysis.LocalsNone)
	// LocalsArgs: the arguments of every frame.
	LocalsArgs = Locals(analysis.LocalsArgs)
	// LocalsAll: all variables of all frames.
	LocalsAll = Locals(analysis.LocalsAll)
)

// Variables returns a reader of local variables and arguments. It caches what it has read
// about functions and types: use one reader for many questions.
func (t *Target) Variables() *dwarfvars.Reader { return t.variables(t.subject) }

func (t *Target) variables(proc unwind.ProcessState) *dwarfvars.Reader {
	return dwarfvars.New(proc, t.images)
}
