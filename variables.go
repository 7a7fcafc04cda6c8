package corewalk

import "github.com/corewalk/corewalk/dwarfvars"

// Variables returns a reader of the target's local variables and arguments. It
// keeps what it has read of functions and types: make one for many questions.
func (t *Target) Variables() *dwarfvars.Reader { return dwarfvars.New(t.core, t.images.Image) }
