package dwarfvars

import "github.com/corewalk/corewalk/internal/dwarf"

// Locate evaluates where a variable is and throws the answer away.
func (a *Activation) Locate(v *LocalVar) error {
	_, err := a.locate(v)
	return err
}

// Unit is the unit that describes the function.
func (f *Function) Unit() *dwarf.Unit { return f.fn.Unit }
