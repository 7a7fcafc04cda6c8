package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/unwind"
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

// RecordSymbol is the symbol around an address of the activation's module, by its PDB.
func (a *Activation) RecordSymbol(rva uint64) (linkage string, off uint64, ok bool) {
	s, ok := recordSymbol(a.im, rva)
	return s.Linkage, s.Off, ok
}

// Listed returns the names of the variables that the activation's function would have with
// records.
func (a *Activation) Listed(records ...pdb.Var) (names []string) {
	f := &Function{r: a.r, db: a.db, rec: &pdb.Func{Scope: &pdb.Scope{Vars: records}}}
	for _, v := range f.Scopes()[0].Locals {
		names = append(names, v.Name)
	}
	return names
}

// With is a Reader of another process with the same files.
func (r *Reader) With(proc unwind.ProcessState) *Reader { return New(proc, r.files) }

// Process is the process that the Reader reads.
func (r *Reader) Process() unwind.ProcessState { return r.proc }

// TypeID is the number of the type of a variable that a PDB describes.
func (v *LocalVar) TypeID() pdb.TypeID { return pdb.TypeID(v.attrs.typ.Off) }

// InPrologue makes the activation's function one that sets its frame up in its first
// so many bytes of code.
func (a *Activation) InPrologue(body uint32) {
	rec := *a.rec
	rec.Body = body
	a.Function = &Function{Name: a.Name, Library: a.Library, r: a.r, im: a.im, bias: a.bias, rec: &rec, db: a.db}
}
