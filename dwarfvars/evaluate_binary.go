package dwarfvars

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// Operators between two operands, as C computes with them.

func (e *evaluation) binary(n *paths.Binary) (Object, error) {
	x, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
	}
	a, signedA, err := e.x.Number(&x)
	if err != nil {
		return Object{}, wrongAt(n.X, err)
	}
	if n.Op == "&&" && a == 0 || n.Op == "||" && a != 0 {
		return e.truth(a != 0)
	}
	y, err := e.stored(n.Y)
	if err != nil {
		return Object{}, err
	}
	b, signedB, err := e.x.Number(&y)
	if err != nil {
		return Object{}, wrongAt(n.Y, err)
	}
	if n.Op == "&&" || n.Op == "||" {
		return e.truth(b != 0)
	}
	signed := signedA && signedB || signedA && y.Size < x.Size || signedB && x.Size < y.Size
	if is, ok := compare(n.Op, a, b, signed); ok {
		return e.truth(is)
	}
	if t, ok, err := e.pointers(n.Op, &x, &y, a, b); ok {
		return t, err
	}
	v, err := compute(n.Op, a, b, signed)
	if err != nil {
		return Object{}, err
	}
	t := e.result(&x, &y, signed)
	if t.ByteSize == 4 && int64(int32(v)) != int64(v) {
		t = e.a.r.types.Integer(8, signed)
	}
	return e.word(t, v)
}

func compare(op string, a, b uint64, signed bool) (is, ok bool) {
	less := a < b
	if signed {
		less = int64(a) < int64(b)
	}
	switch op {
	case "==":
		return a == b, true
	case "!=":
		return a != b, true
	case "<":
		return less, true
	case "<=":
		return less || a == b, true
	case ">":
		return !less && a != b, true
	case ">=":
		return !less, true
	}
	return false, false
}

func compute(op string, a, b uint64, signed bool) (uint64, error) {
	if (op == "/" || op == "%") && b == 0 {
		return 0, errors.New("a division by zero")
	}
	if (op == "<<" || op == ">>") && b > 63 {
		return 0, fmt.Errorf("a shift by %d bits", int64(b))
	}
	if signed {
		s, t := int64(a), int64(b)
		switch op {
		case "/":
			return uint64(s / t), nil
		case "%":
			return uint64(s % t), nil
		case ">>":
			return uint64(s >> b), nil
		}
	}
	switch op {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "/":
		return a / b, nil
	case "%":
		return a % b, nil
	case "&":
		return a & b, nil
	case "|":
		return a | b, nil
	case "^":
		return a ^ b, nil
	case "<<":
		return a << b, nil
	case ">>":
		return a >> b, nil
	}
	return 0, fmt.Errorf("%q is not known", op)
}

// pointers adds numbers to pointers, and takes one pointer from another; false if neither operand is one.
func (e *evaluation) pointers(op string, x, y *values.Object, a, b uint64) (Object, bool, error) {
	step := func(o *values.Object) (uint64, bool) {
		t := o.Type.Strip()
		if !t.Pointer() && !(t.Tag == arrayTag && o.Mem) {
			return 0, false
		}
		size, err := e.a.sizeOf(t.Target())
		if err != nil || size == 0 { // void
			size = 1
		}
		return size, true
	}
	sizeX, okX := step(x)
	sizeY, okY := step(y)
	if !okX && !okY {
		return Object{}, false, nil
	}
	kind := func(o *values.Object) (Object, error) {
		t := o.Type
		v := a
		if o == y {
			v = b
		}
		if t.Strip().Tag == arrayTag {
			t = e.a.r.types.PointerTo(t.Strip().Target())
		}
		switch {
		case op == "+" && o == x:
			v += b * sizeX
		case op == "+":
			v += a * sizeY
		default:
			v -= b * sizeX
		}
		return e.word(t, e.a.r.arch.Truncate(v))
	}
	switch {
	case okX && okY && op == "-":
		if sizeX != sizeY {
			return Object{}, true, errors.New("pointers to different types are not subtracted")
		}
		t, err := e.word(e.a.r.types.Integer(8, true), uint64(int64(a-b)/int64(sizeX)))
		return t, true, err
	case okX && !okY && (op == "+" || op == "-"):
		t, err := kind(x)
		return t, true, err
	case okY && !okX && op == "+":
		t, err := kind(y)
		return t, true, err
	}
	if op == "&" || op == "|" || op == "%" || op == "^" {
		return Object{}, false, nil // alignment and tags
	}
	return Object{}, true, fmt.Errorf("%q is not defined for pointers", op)
}
