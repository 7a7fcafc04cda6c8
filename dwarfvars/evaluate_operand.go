package dwarfvars

import (
	"errors"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// What an operator computes with, where the operand is something that leads to it.

// operand evaluates what an operator has before or after it: what a reference refers to, as nobody computes with references. Languages whose programs
// compute with what a pointer points to, and never with the address, mean that, too.
func (e *evaluation) operand(n paths.Node) (values.Object, error) {
	ob, err := e.stored(n)
	if err != nil {
		return values.Object{}, err
	}
	return e.meant(n, ob)
}

// meant is operand of an object.
func (e *evaluation) meant(n paths.Node, ob values.Object) (values.Object, error) {
	ob = *e.referred(&ob)
	switch e.dialect {
	case paths.Fortran:
		return e.pointed(n, ob)
	case paths.Rust:
		return e.borrowed(ob), nil
	}
	return ob, nil
}

// pointed is what a pointer or an allocatable variable of Fortran stands for.
func (e *evaluation) pointed(n paths.Node, ob values.Object) (values.Object, error) {
	t := ob.Type.Strip()
	if !t.Pointer() || t.Target().Strip().Tag == 0 {
		return ob, nil
	}
	if v, _, err := e.x.Number(&ob); err != nil || v == 0 {
		if err == nil {
			err = errors.New("it is not associated or not allocated: it has no value")
		}
		return ob, wrongAt(n, err)
	}
	to, err := e.x.Pointee(&ob)
	return to, wrongAt(n, err)
}

// borrowed is the number that references of Rust, and boxes, lead to: x + 1 of a &i32 is a number. Others stay as they are.
func (e *evaluation) borrowed(ob values.Object) values.Object {
	at := ob
	for range maxReferences {
		t := at.Type.Strip()
		if !borrows(t) {
			break
		}
		to, err := e.x.Pointee(&at)
		if err != nil {
			return ob
		}
		at = to
	}
	if t := at.Type.Strip(); t.Tag == dwarf.TagBaseType || t.Tag == dwarf.TagEnumerationType {
		return at
	}
	return ob
}

// borrows reports whether a type is that of a reference of Rust, or of a box.
func borrows(t *types.Type) bool {
	return t.Pointer() && (strings.HasPrefix(t.BareName, "&") || strings.HasPrefix(t.BareName, "alloc::boxed::Box<"))
}

// operands is operand of both sides of an operator.
func (e *evaluation) operands(n *paths.Binary, x, y values.Object) (a, b values.Object, err error) {
	if a, err = e.meant(n.X, x); err == nil {
		b, err = e.meant(n.Y, y)
	}
	if err != nil {
		return a, b, err
	}
	if e.dialect == paths.Rust && (address(&a) || address(&b)) { // a reference beside a raw pointer becomes one
		a, b = x, y
	}
	if err := e.noArithmetic(n.Op, &a); err != nil {
		return a, b, wrongAt(n.X, err)
	}
	return e.decayed(a), e.decayed(b), wrongAt(n.Y, e.noArithmetic(n.Op, &b))
}

// address reports whether an object is a pointer, and no reference.
func address(ob *values.Object) bool {
	t := ob.Type.Strip()
	return t.Pointer() && !borrows(t)
}

// noArithmetic says why what leads to something is not computed with in the frame's language; nil if it may be.
func (e *evaluation) noArithmetic(op string, ob *values.Object) error {
	t := ob.Type.Strip()
	switch {
	case e.dialect == paths.Ada && t.Pointer() && op != "=" && op != "==" && op != "!=" && op != "/=":
		return fmt.Errorf("%q is not defined for the access type %s: x.all is what it designates", op, clip(ob.Type.Name()))
	case e.dialect == paths.Rust && borrows(t) && !comparison(op):
		return fmt.Errorf("%q is not defined for a %s: x as usize is the address", op, clip(ob.Type.Name()))
	}
	return nil
}

func comparison(op string) bool {
	_, ok := compare(op, 0, 0, false)
	return ok
}
