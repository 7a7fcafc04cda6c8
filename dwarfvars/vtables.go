package dwarfvars

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A VTable is the table of virtual functions of an object of C++, or of a part of it that is one of a base class.
type VTable struct {
	Class  string
	Table  arch.Address // of the first function
	Object arch.Address // the part that has the table
	// Functions are those that the class has, by their numbers. Cut says that others follow, which cannot be read.
	Functions []VFunction
	Cut       bool
}

// A VFunction is one function of a table.
type VFunction struct {
	Address arch.Address
	Name    string // "" if no symbol is there
}

const (
	maxVTables    = 256 // parts of one object that are looked at for tables
	maxVFunctions = 1024
)

// VTables returns the tables of virtual functions of an object of C++ that an expression, as of Evaluate, names, or to which it
// points: that of its class by its static type, and those of base classes that have their own.
func (r *Reader) VTables(swalk []*unwind.Frame, frame, call int, text string, vars ...Convenience) ([]VTable, error) {
	o, err := r.Evaluate(swalk, frame, call, text, vars...)
	if err != nil {
		return nil, err
	}
	if !o.at {
		return nil, &ExpressionError{0, errors.New("it is no object of its own")}
	}
	a := o.in.enter()
	defer a.Close()
	x := a.explorer()
	ob := o.ob
	for n := 0; n < maxReferences && (ob.Type.Strip().Reference() || ob.Type.Strip().Pointer()); n++ {
		pointer := ob.Type.Strip().Pointer()
		if ob, err = x.Pointee(&ob); err != nil {
			return nil, &ExpressionError{0, err}
		}
		if pointer {
			break
		}
	}
	v := tables{r: r, x: x, seen: map[arch.Address]bool{}, left: maxVTables}
	if v.of(&ob, 0); len(v.list) == 0 {
		return nil, &ExpressionError{0, fmt.Errorf("an object of type %s has no table of virtual functions", clip(ob.Type.Name()))}
	}
	return v.list, nil
}

// tables collects those of one object.
type tables struct {
	r    *Reader
	x    values.Explorer
	list []VTable
	seen map[arch.Address]bool
	left int // parts that are still looked at
}

// of adds the table of a part and those of its base classes.
func (v *tables) of(o *values.Object, depth int) {
	if v.left--; v.left < 0 || !o.Mem || depth > maxOuter*maxOuter {
		return
	}
	class := o.Type.Strip().Defined()
	if !class.Aggregate() || !types.IsCXX(class.Language) {
		return
	}
	if !v.seen[o.Addr] {
		if table, err := v.r.mem.Memory.ReadWord(o.Addr); err == nil {
			if t := v.read(class, table, o.Addr); len(t.Functions) > 0 || t.Cut {
				v.list, v.seen[o.Addr] = append(v.list, t), true
			}
		}
	}
	for i := range class.Members().Fields {
		f := &class.Members().Fields[i]
		if !f.Base {
			continue
		}
		if part, ok := v.x.Base(o, v.r.types.OfField(f)); ok {
			v.of(&part, depth+1)
		}
	}
}

func (v *tables) read(class *types.Type, table, at arch.Address) VTable {
	t := VTable{Class: class.Name(), Table: table, Object: at}
	word := v.r.types.Word()
	left := maxOuter * maxOuter
	for i := range min(v.count(class, &left), maxVFunctions) {
		addr, err := v.r.mem.Memory.ReadWord(table + arch.Address(i*word))
		if err != nil {
			t.Cut = true
			break
		}
		t.Functions = append(t.Functions, VFunction{addr, v.r.mem.SymbolText(addr)})
	}
	return t
}

// count is how many functions the table of a class has: those that it and its first base class declare. Of destructors there are two.
func (v *tables) count(class *types.Type, left *int) (n uint64) {
	if *left--; *left < 0 || !class.Aggregate() {
		return 0
	}
	for _, m := range class.Methods("") {
		if !m.Virtual || m.Slot >= maxVFunctions {
			continue
		}
		last := m.Slot + 1
		if m.Destroys {
			last++
		}
		n = max(n, last)
	}
	for i := range class.Members().Fields {
		f := &class.Members().Fields[i]
		if f.Base && f.Off == 0 && !f.Virtual && !f.Expr.Present() {
			n = max(n, v.count(v.r.types.OfField(f).Strip().Defined(), left))
		}
	}
	return n
}
