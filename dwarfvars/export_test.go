package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/pdb"
)

// Locate evaluates where a variable is and throws the answer away.
func (a *Activation) Locate(v *LocalVar) error {
	_, err := a.locate(v)
	return err
}

// Unit is the unit that describes the function.
func (f *Function) Unit() *dwarf.Unit { return f.fn.Unit }

// Placed is a variable of the activation's function, of a type of its PDB, that is in
// the places given.
func (a *Activation) Placed(typ pdb.TypeID, places ...pdb.Place) *LocalVar {
	v := &LocalVar{Name: "v", fn: a.Function, block: &block{}, rec: &pdb.Var{Places: places}}
	v.attrs.typ = a.db.Type(typ)
	return v
}

// TypeID is the number of the type of a variable that a PDB describes.
func (v *LocalVar) TypeID() pdb.TypeID { return pdb.TypeID(v.attrs.typ.Off) }

// InPrologue makes the activation's function one that sets its frame up in its first
// so many bytes of code.
func (a *Activation) InPrologue(body uint32) {
	rec := *a.rec
	rec.Body = body
	a.Function = &Function{Name: a.Name, Library: a.Library, r: a.r, im: a.im, bias: a.bias, rec: &rec, db: a.db}
}
