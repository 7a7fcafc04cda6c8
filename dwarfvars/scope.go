package dwarfvars

import (
	"slices"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// A Scope has the variables of one function or inlined call, including those of the blocks in
// it.
type Scope struct {
	Function string // its name; "" if it has none
	Inlined  bool
	Params   []*LocalVar // in the order of their declaration
	Locals   []*LocalVar // innermost block first

	block  *block
	origin dwarf.DIE // abstract instance, for inlined calls
}

// A block is a lexical block, a function or an inlined call.
type block struct {
	parent *block
	ranges []dwarf.Range // nil: wherever the parent is
}

// at reports whether an address of the file is in the block.
func (b *block) at(pc uint64) bool {
	for ; b != nil; b = b.parent {
		if b.ranges != nil && !slices.ContainsFunc(b.ranges, func(r dwarf.Range) bool { return r.Contains(pc) }) {
			return false
		}
	}
	return true
}

// A LocalVar is a parameter or a local variable of a function or of a call inlined into it. It
// is immutable.
type LocalVar struct {
	Name       string
	Param      bool
	Artificial bool // declared by the compiler: this, __func__
	Line       int  // of the declaration, in the source file of the Scope; 0 if not known

	fn    *Function
	block *block
	die   dwarf.DIE
	attrs varAttrs // for a variable of a PDB only the type
	rec   *pdb.Var // nil for variables of DWARF

	inlined bool // of an inlined call
	// onHeap says of a variable of Go that it is on the heap: its place has its address. passed is what a parameter was
	// copied from then, which is no longer it.
	onHeap bool
	passed *LocalVar
}

// Function returns the function whose frames have the variable. For a variable of an inlined
// call that is the function which the call was inlined into.
func (v *LocalVar) Function() *Function { return v.fn }

// varAttrs are the attributes of a variable, with the units that their values belong to.
type varAttrs struct {
	name                 dwarf.Value
	typ                  types.Ref
	loc, cst             dwarf.Value
	nameIn, locIn, cstIn *dwarf.Unit
	origin               dwarf.DIE // last of the chain of origins
	first                dwarf.DIE // the first origin, if any
	line                 int
	artificial           bool
	declaration          bool
	external             bool
}

// maxOrigins is the longest chain of abstract origins and specifications that is followed.
const maxOrigins = 16

// gather reads a variable's attributes along its chain of origins. The first entry that has an
// attribute decides.
func gather(d dwarf.DIE) varAttrs {
	a := varAttrs{origin: d}
	for i := 0; i < maxOrigins; i++ {
		next := a.entry(d, i == 0)
		if !next.Valid() {
			break
		}
		if i == 0 {
			a.first = next
		}
		a.origin, d = next, next
	}
	return a
}

func (a *varAttrs) entry(d dwarf.DIE, first bool) (next dwarf.DIE) {
	var e dwarf.Entry
	var v dwarf.Value
	c := d.Unit.Cursor(d.Off)
	c.Next(&e)
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrName:
			if a.nameIn == nil {
				a.name, a.nameIn = v, d.Unit
			}
		case dwarf.AttrType:
			if !a.typ.Valid() {
				a.typ = types.RefTo(d.Unit, &v)
			}
		case dwarf.AttrLocation:
			if a.locIn == nil {
				a.loc, a.locIn = v, d.Unit
			}
		case dwarf.AttrConstValue:
			if a.cstIn == nil {
				a.cst, a.cstIn = v, d.Unit
			}
		case dwarf.AttrAbstractOrigin, dwarf.AttrSpecification:
			next, _ = d.Unit.Ref(&v)
		case dwarf.AttrArtificial:
			a.artificial = a.artificial || v.Flag()
		case dwarf.AttrExternal:
			a.external = a.external || v.Flag()
		case dwarf.AttrDeclaration:
			a.declaration = a.declaration || first && v.Flag()
		case dwarf.AttrDeclLine:
			if a.line == 0 {
				a.line = int(v.U)
			}
		}
	}
	return next
}
