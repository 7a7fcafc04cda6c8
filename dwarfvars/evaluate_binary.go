package dwarfvars

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// Operators between two operands, as C computes with them.

func (e *evaluation) binary(n *paths.Binary) (Object, error) {
	if n.Op == "," {
		if _, err := e.eval(n.X); err != nil {
			return Object{}, err
		}
		return e.eval(n.Y)
	}
	if id, ok := n.X.(*paths.Ident); ok && id.Bracketed && e.unresolved(id.Name) {
		if c, ok := castBefore(id.Name, n.Op, n.Y); ok {
			if _, ok := e.lookup(id.Name); ok {
				return e.eval(c)
			}
		}
	}
	if n.Op == "&&" || n.Op == "||" {
		is, err := e.condition(n.X)
		if err == nil && is == (n.Op == "&&") {
			is, err = e.condition(n.Y)
		}
		if err != nil {
			return Object{}, err
		}
		return e.truth(is)
	}
	if e.dialect == paths.Pascal {
		n = onceEach(n)
		if t, ok, err := e.ofPascal(n); ok || err != nil {
			return t, err
		}
	}
	if isText(n.X) || isText(n.Y) {
		return e.compareText(n)
	}
	if e.dialect == paths.Pascal && (n.Op == "==" || n.Op == "!=") {
		if t, ok, err := e.letter(n); ok || err != nil {
			return t, err
		}
	}
	if n.Op == "eqv" || n.Op == "neqv" || n.Op == "^" && e.dialect == paths.Ada {
		a, err := e.condition(n.X)
		if err != nil {
			return Object{}, err
		}
		b, err := e.condition(n.Y)
		if err != nil {
			return Object{}, err
		}
		return e.truth((a == b) == (n.Op == "eqv"))
	}
	x, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
	}
	y, err := e.stored(n.Y)
	if err != nil {
		return Object{}, err
	}
	if n.Op == ".*" || n.Op == "->*" {
		at := *e.referred(&x)
		if n.Op == "->*" {
			if at, err = e.x.Pointee(&x); err != nil {
				return Object{}, wrongAt(n.X, err)
			}
		}
		t, err := e.x.PointedMember(&at, e.referred(&y))
		if err != nil { // of the class that the object is of
			if whole, failed := e.x.Whole(&at, e.long()); failed == nil {
				if of, failed := e.x.PointedMember(&whole, e.referred(&y)); failed == nil {
					return e.object(of, nil)
				}
			}
		}
		return e.object(t, wrongAt(n.Y, err))
	}
	if x, y, err = e.operands(n, x, y); err != nil {
		return Object{}, err
	}
	if t, ok, err := e.strings(n, &x, &y); ok || err != nil {
		return t, err
	}
	if t, ok, err := e.computeComplex(n, &x, &y); ok || err != nil {
		return t, err
	}
	if e.floats(&x) || e.floats(&y) {
		return e.computeFloats(n, &x, &y)
	}
	a, signedA, err := e.number(&x)
	if err != nil {
		return Object{}, wrongAt(n.X, err)
	}
	b, signedB, err := e.number(&y)
	if err != nil {
		return Object{}, wrongAt(n.Y, err)
	}
	signed, narrow := usual(&x, &y, signedA, signedB)
	if narrow && (e.typed() || signed && (e.dialect != paths.Plain && e.dialect != paths.D || n.Op == "<<" && b >= 32)) { // what C leaves open has the number that is meant
		narrow = false
	}
	if narrow && !signed { // as unsigned int
		a, b = a&math.MaxUint32, b&math.MaxUint32
	}
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
	if narrow { // as int, or unsigned int
		return e.word(e.a.r.types.Integer(4, signed), types.Resize(v, 4, signed))
	}
	return e.computed(e.result(&x, &y, signed), v, signed)
}

// castBefore reads (T) - y as the cast of -y to a type; false if the operator stands only between operands.
func castBefore(name, op string, y paths.Node) (paths.Node, bool) {
	if op != "-" && op != "+" && op != "*" && op != "&" {
		return nil, false
	}
	if b, ok := y.(*paths.Binary); ok && !b.Bracketed { // (T) - 1 * 2: the cast is of -1
		x, _ := castBefore(name, op, b.X)
		return &paths.Binary{Op: b.Op, X: x, Y: b.Y}, true
	}
	return &paths.Cast{Type: paths.TypeName{Name: name}, X: &paths.Unary{Op: op, X: y}}, true
}

// decayed returns a function as a pointer to it, and others as they are.
func (e *evaluation) decayed(ob values.Object) values.Object {
	if t := ob.Type.Strip(); t.Tag == dwarf.TagSubroutineType && ob.Mem && !t.FunctionValue() {
		if p, err := e.x.Word(e.pointerTo(ob.Type), ob.Addr); err == nil {
			return p
		}
	}
	return ob
}

// usual returns whether C computes with two integers as signed ones, and whether with 32 bits: smaller ones become int first.
func usual(x, y *values.Object, signedA, signedB bool) (signed, narrow bool) {
	sizeA, sizeB := max(x.Size, 4), max(y.Size, 4)
	if x.Type.Strip().Tag == arrayTag { // an address
		sizeA = 8
	}
	if y.Type.Strip().Tag == arrayTag {
		sizeB = 8
	}
	signedA = signedA || x.Size < 4 && sizeA == 4
	signedB = signedB || y.Size < 4 && sizeB == 4
	signed = signedA && signedB || signedA && sizeB < sizeA || signedB && sizeA < sizeB
	return signed, sizeA == 4 && sizeB == 4
}

// computeFloats computes with numbers of which at least one is a floating-point number.
func (e *evaluation) computeFloats(n *paths.Binary, x, y *values.Object) (Object, error) {
	a, err := e.asReal(x)
	if err != nil {
		return Object{}, wrongAt(n.X, err)
	}
	b, err := e.asReal(y)
	if err != nil {
		return Object{}, wrongAt(n.Y, err)
	}
	switch n.Op {
	case "==":
		return e.truth(a == b)
	case "!=":
		return e.truth(a != b)
	case "<":
		return e.truth(a < b)
	case "<=":
		return e.truth(a <= b)
	case ">":
		return e.truth(a > b)
	case ">=":
		return e.truth(a >= b)
	case "+":
		a += b
	case "-":
		a -= b
	case "*":
		a *= b
	case "/":
		a /= b
	case "**":
		a = math.Pow(a, b)
	default:
		return Object{}, fmt.Errorf("%q is not defined for floating-point numbers", n.Op)
	}
	return e.object(e.x.RealWord(e.real(x, y), a))
}

// asReal returns a number as a floating-point number.
func (e *evaluation) asReal(o *values.Object) (float64, error) {
	if f, ok, err := e.x.Real(o); ok || err != nil {
		return f, err
	}
	v, signed, err := e.number(o)
	switch {
	case err != nil:
		return 0, err
	case o.Type.Strip().Pointer() || o.Type.Strip().Tag == arrayTag:
		return 0, errors.New("an address is not computed with as a floating-point number")
	case signed:
		return float64(int64(v)), nil
	}
	return float64(v), nil
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

// power computes a**b of integers.
func power(a, b uint64, signed bool) (uint64, error) {
	if signed && int64(b) < 0 {
		switch int64(a) {
		case 1:
			return 1, nil
		case -1:
			return 1 - 2*(b&1), nil
		case 0:
			return 0, errors.New("a division by zero")
		}
		return 0, nil
	}
	negative := signed && int64(a) < 0
	most := uint64(math.MaxUint64)
	if signed {
		most = math.MaxInt64
	}
	if negative {
		a = -a
	}
	negative = negative && b&1 != 0
	v, over, beyond := uint64(1), uint64(0), false
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			if over, v = bits.Mul64(v, a); beyond || over != 0 {
				return 0, errors.New("a power that has more than 64 bits")
			}
		}
		over, a = bits.Mul64(a, a)
		beyond = beyond || over != 0
	}
	if v > most && !(negative && v == most+1) {
		return 0, errors.New("a power that has more than 64 bits")
	}
	if negative {
		v = -v
	}
	return v, nil
}

func compute(op string, a, b uint64, signed bool) (uint64, error) {
	if op == "div" {
		op = "/"
	}
	if (op == "/" || op == "%" || op == "mod") && b == 0 {
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
		case "mod": // of the sign of the divisor
			if s %= t; s != 0 && (s < 0) != (t < 0) {
				s += t
			}
			return uint64(s), nil
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
	case "%", "mod":
		return a % b, nil
	case "&":
		return a & b, nil
	case "&^":
		return a &^ b, nil
	case "**":
		return power(a, b, signed)
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
			t = e.pointerTo(t.Strip().Target())
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
