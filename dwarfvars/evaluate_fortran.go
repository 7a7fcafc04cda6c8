package dwarfvars

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// Fortran's functions of arrays and numbers, which are answered by what is known of their arguments, and parts of strings.

// intrinsic answers a call of a function of Fortran that only reads; false for others.
func (e *evaluation) intrinsic(n *paths.Call, name string) (Object, bool, error) {
	switch name {
	case "size", "shape", "lbound", "ubound", "rank":
		t, err := e.inquiry(n, name)
		return t, true, err
	case "allocated", "associated", "loc", "kind", "sizeof", "len", "len_trim", "trim":
		t, err := e.state(n, name)
		return t, true, err
	case "mod", "modulo", "abs", "floor", "ceiling", "nint", "int", "real", "dble", "float", "aimag", "conjg", "cmplx", "max", "min", "ichar", "iachar", "char", "not", "iand", "ior", "ieor":
		t, err := e.numeric(n, name)
		return t, true, err
	}
	return Object{}, false, nil
}

func (e *evaluation) arguments(n *paths.Call, name string, least, most int) error {
	if len(n.Args) < least || len(n.Args) > most {
		return &ExpressionError{n.Open, fmt.Errorf("%s with %d arguments: it has %s", name, len(n.Args), counted(least, most))}
	}
	return nil
}

// counted says how many there are, from the least to the most.
func counted(least, most int) string {
	if least == most {
		return strconv.Itoa(least)
	}
	return fmt.Sprintf("from %d to %d", least, most)
}

// ints returns an array of integers.
func (e *evaluation) ints(list []int64) (Object, error) {
	t := e.integerType(4, true)
	for _, v := range list {
		if v != int64(int32(v)) {
			t = e.integerType(8, true)
		}
	}
	var data []byte
	for _, v := range list {
		ob, err := e.x.Word(t, uint64(v))
		if err != nil {
			return Object{}, err
		}
		data = append(data, ob.Data...)
	}
	return e.object(values.Object{Type: e.arrayOf(t, uint64(len(list))), Size: uint64(len(data)), Data: data}, nil)
}

// inquiry answers what the dimensions of an array are. The first of Fortran is the last in memory.
func (e *evaluation) inquiry(n *paths.Call, name string) (Object, error) {
	most := 2 // with the dimension
	if name == "rank" || name == "shape" {
		most = 1
	}
	if err := e.arguments(n, name, 1, most); err != nil {
		return Object{}, err
	}
	ob, err := e.stored(n.Args[0])
	if err != nil {
		return Object{}, err
	}
	bounds, err := e.x.Bounds(&ob)
	if err != nil {
		return Object{}, wrongAt(n.Args[0], err)
	}
	if name == "rank" {
		return e.word(e.integerType(4, true), uint64(len(bounds)))
	}
	if len(bounds) == 0 {
		return Object{}, wrongAt(n.Args[0], fmt.Errorf("an object of type %s is no array", clip(ob.Type.Name())))
	}
	list := make([]int64, len(bounds))
	all := uint64(1)
	for i := range bounds {
		b := &bounds[len(bounds)-1-i]
		all *= b.Count
		switch name {
		case "lbound":
			list[i] = b.Lower
		case "ubound":
			list[i] = b.Lower + int64(b.Count) - 1
		default:
			list[i] = int64(b.Count)
		}
	}
	switch {
	case len(n.Args) > 1:
		dim, err := e.integer(n.Args[1])
		if err != nil {
			return Object{}, err
		}
		if dim < 1 || dim > int64(len(list)) {
			return Object{}, wrongAt(n.Args[1], fmt.Errorf("dimension %d of an array of %d", dim, len(list)))
		}
		return e.computed(e.integerType(4, true), uint64(list[dim-1]), true)
	case name == "size":
		return e.computed(e.integerType(4, true), all, true)
	}
	return e.ints(list)
}

// state answers what is known of a variable itself.
func (e *evaluation) state(n *paths.Call, name string) (Object, error) {
	most := 1
	if name == "associated" {
		most = 2
	}
	if err := e.arguments(n, name, 1, most); err != nil {
		return Object{}, err
	}
	if name == "sizeof" || name == "kind" {
		if id, ok := n.Args[0].(*paths.Ident); ok && e.unresolved(strings.ToLower(id.Name)) {
			t, err := e.typeNamed(paths.TypeName{Name: id.Name})
			if err != nil {
				return Object{}, err
			}
			size, err := e.a.sizeOf(t)
			if err != nil {
				return Object{}, err
			}
			return e.word(e.integerType(4, true), size)
		}
	}
	ob, err := e.stored(n.Args[0])
	if err != nil {
		return Object{}, err
	}
	switch name {
	case "allocated", "associated":
		return e.attached(n, name, &ob)
	case "loc":
		if !ob.Mem {
			return Object{}, errors.New("it has no address: it is in a register, or was computed")
		}
		return e.word(e.integerType(8, true), ob.Addr)
	case "len", "len_trim", "trim":
		return e.stringLength(n, name, &ob)
	case "kind":
		return e.kind(&ob)
	}
	size := ob.Size
	if bounds, err := e.x.Bounds(&ob); err == nil && len(bounds) > 0 && ob.Type.Strip().Tag == arrayTag {
		if size, err = e.a.sizeOf(ob.Type.Strip().Target()); err != nil {
			return Object{}, err
		}
		for i := range bounds {
			size *= bounds[i].Count
		}
	} else if c, ok, err := e.x.Characters(&ob, maxCompared); err == nil && ok {
		size = uint64(len(c.Raw))
	}
	return e.word(e.integerType(8, true), size)
}

// attached answers whether an allocatable array is allocated, or a pointer associated.
func (e *evaluation) attached(n *paths.Call, name string, ob *values.Object) (Object, error) {
	if t := ob.Type.Strip(); t.Pointer() {
		v, _, err := e.x.Number(ob)
		if err != nil || len(n.Args) < 2 || v == 0 {
			if err != nil {
				return Object{}, err
			}
			return e.truth(v != 0)
		}
		to, err := e.stored(n.Args[1])
		if err != nil {
			return Object{}, err
		}
		at := to.Addr
		if to.Type.Strip().Pointer() {
			if at, _, err = e.x.Number(&to); err != nil {
				return Object{}, err
			}
		}
		return e.truth(at == v)
	}
	if len(n.Args) > 1 {
		return Object{}, wrongAt(n.Args[1], errors.New("whether an array is associated with this one is not compared: loc(x) is its address"))
	}
	absent, known, err := e.x.Absent(ob)
	switch {
	case err != nil:
		return Object{}, err
	case !known:
		return Object{}, wrongAt(n.Args[0], fmt.Errorf("an object of type %s is always there: %s tells nothing of it", clip(ob.Type.Name()), name))
	}
	return e.truth(absent == "")
}

func (e *evaluation) stringLength(n *paths.Call, name string, ob *values.Object) (Object, error) {
	if name == "len" {
		return e.length(name, n.Args[0])
	}
	c, ok, err := e.x.Characters(ob, maxCompared)
	if err != nil || !ok || c.Size != 1 || c.Cut {
		return Object{}, wrongAt(n.Args[0], fmt.Errorf("an object of type %s is no string that is known in full", clip(ob.Type.Name())))
	}
	trimmed := strings.TrimRight(string(c.Raw), " ")
	if name == "trim" {
		return e.textOf(&paths.Text{Value: trimmed})
	}
	return e.word(e.integerType(4, true), uint64(len(trimmed)))
}

// kind is the number that Fortran has for the size of numbers.
func (e *evaluation) kind(ob *values.Object) (Object, error) {
	t := ob.Type.Strip()
	for range maxReferences {
		if !t.Pointer() && !t.Reference() && t.Tag != arrayTag {
			break
		}
		t = t.Target().Strip()
	}
	size := t.ByteSize
	switch {
	case t.Tag != dwarf.TagStringType && t.Tag != dwarf.TagBaseType:
		return Object{}, fmt.Errorf("an object of type %s has no kind", clip(ob.Type.Name()))
	case t.Tag == dwarf.TagStringType:
		size = 1
	case t.Encoding == types.EncComplexFloat:
		size /= 2
	}
	return e.word(e.integerType(4, true), size)
}

// numeric computes.
func (e *evaluation) numeric(n *paths.Call, name string) (Object, error) {
	most := map[string]int{"mod": 2, "modulo": 2, "iand": 2, "ior": 2, "ieor": 2, "cmplx": 3, "max": 16, "min": 16, "int": 2, "real": 2}[name]
	least := map[string]int{"mod": 2, "modulo": 2, "iand": 2, "ior": 2, "ieor": 2, "max": 2, "min": 2}[name]
	if err := e.arguments(n, name, max(least, 1), max(most, 1)); err != nil {
		return Object{}, err
	}
	operator := map[string]string{"mod": "%", "modulo": "mod", "iand": "&", "ior": "|", "ieor": "^"}[name]
	ob, err := e.operand(n.Args[0])
	if err != nil {
		return Object{}, err
	}
	if re, im, ok, err := e.x.Complex(&ob); ok || err != nil {
		if err != nil {
			return Object{}, err
		}
		return e.numericComplex(n, name, &ob, re, im)
	}
	f, isFloat, err := e.x.Real(&ob)
	if err != nil {
		return Object{}, wrongAt(n.Args[0], err)
	}
	switch {
	case operator != "" && isFloat && (name == "mod" || name == "modulo"):
		other, err := e.operand(n.Args[1])
		if err != nil {
			return Object{}, err
		}
		g, err := e.asReal(&other)
		if err != nil {
			return Object{}, wrongAt(n.Args[1], err)
		}
		v := math.Mod(f, g)
		if name == "modulo" && v != 0 && (v < 0) != (g < 0) {
			v += g
		}
		return e.object(e.x.RealWord(e.real(&ob, &other), v))
	case operator != "":
		return e.binary(&paths.Binary{Op: operator, X: n.Args[0], Y: n.Args[1]})
	case name == "abs":
		return e.unary(&paths.Unary{Op: "abs", X: n.Args[0]})
	case name == "not":
		return e.unary(&paths.Unary{Op: "~", X: n.Args[0]})
	case name == "max" || name == "min":
		return e.extreme(n, name == "max")
	case name == "char":
		if v, err := e.integer(n.Args[0]); err != nil || v < 0 || v > math.MaxUint8 {
			return Object{}, wrongAt(n.Args[0], cmp.Or(err, fmt.Errorf("no character has the number %d", v)))
		}
		return e.converted("", &ob, e.a.r.types.Number("character(kind=1)", 1, types.EncUnsignedChar))
	case name == "ichar" || name == "iachar":
		if c, ok, err := e.x.Characters(&ob, 1); err == nil && ok && len(c.Raw) > 0 {
			return e.word(e.integerType(4, true), uint64(c.Raw[0]))
		}
		return Object{}, wrongAt(n.Args[0], errors.New("it is no character"))
	}
	if name == "cmplx" {
		g := 0.0
		if f, err = e.asReal(&ob); err != nil {
			return Object{}, err
		}
		if len(n.Args) > 1 {
			im, err := e.operand(n.Args[1])
			if err != nil {
				return Object{}, err
			}
			if g, err = e.asReal(&im); err != nil {
				return Object{}, wrongAt(n.Args[1], err)
			}
		}
		kind, err := e.kindArgument(n, 2, 4)
		if err != nil {
			return Object{}, err
		}
		return e.object(e.x.ComplexWord(e.complexType(2*kind), f, g))
	}
	return e.rounded(n, name, &ob, f, isFloat)
}

// rounded converts between integers and floating-point numbers.
func (e *evaluation) rounded(n *paths.Call, name string, ob *values.Object, f float64, isFloat bool) (Object, error) {
	kind := uint64(4)
	if name == "dble" {
		kind = 8
	}
	kind, err := e.kindArgument(n, 1, kind)
	if err != nil {
		return Object{}, err
	}
	switch name {
	case "real", "dble", "float":
		return e.converted("", ob, e.realType(kind))
	case "aimag", "conjg":
		return Object{}, wrongAt(n.Args[0], fmt.Errorf("an object of type %s is not complex", clip(ob.Type.Name())))
	}
	if !isFloat {
		return e.converted("", ob, e.integerType(max(kind, min(ob.Size, 8)), true))
	}
	switch name {
	case "floor":
		f = math.Floor(f)
	case "ceiling":
		f = math.Ceil(f)
	case "nint":
		f = math.Round(f)
	}
	if math.IsNaN(f) || math.Abs(f) >= 1<<63 {
		return Object{}, fmt.Errorf("%v is no integer of 64 bits", f)
	}
	return e.computed(e.integerType(kind, true), uint64(int64(f)), true)
}

// kindArgument is the kind that an argument asks for, or the usual one.
func (e *evaluation) kindArgument(n *paths.Call, i int, usual uint64) (uint64, error) {
	if len(n.Args) <= i {
		return usual, nil
	}
	k, err := e.integer(n.Args[i])
	if err != nil || k != 4 && k != 8 {
		return 0, wrongAt(n.Args[i], errors.New("numbers of kind 4 and 8 are made"))
	}
	return uint64(k), nil
}

// extreme is the largest or the least of the arguments.
func (e *evaluation) extreme(n *paths.Call, largest bool) (Object, error) {
	best, err := e.operand(n.Args[0])
	if err != nil {
		return Object{}, err
	}
	op := "<"
	if largest {
		op = ">"
	}
	for _, a := range n.Args[1:] {
		next, err := e.operand(a)
		if err != nil {
			return Object{}, err
		}
		better := false
		if e.floats(&best) || e.floats(&next) {
			x, err := e.asReal(&best)
			if err != nil {
				return Object{}, wrongAt(n.Args[0], err)
			}
			y, err := e.asReal(&next)
			if err != nil {
				return Object{}, wrongAt(a, err)
			}
			better = y != x && (y > x) == largest
		} else {
			x, _, err := e.number(&best)
			if err != nil {
				return Object{}, wrongAt(n.Args[0], err)
			}
			y, _, err := e.number(&next)
			if err != nil {
				return Object{}, wrongAt(a, err)
			}
			better, _ = compare(op, y, x, true)
		}
		if better {
			best = next
		}
	}
	return e.object(best, nil)
}

func (e *evaluation) numericComplex(n *paths.Call, name string, ob *values.Object, re, im float64) (Object, error) {
	part := e.realType(max(ob.Size/2, 4))
	switch name {
	case "real", "dble":
		return e.object(e.x.RealWord(part, re))
	case "aimag":
		return e.object(e.x.RealWord(part, im))
	case "abs":
		return e.object(e.x.RealWord(part, math.Hypot(re, im)))
	case "conjg":
		return e.object(e.x.ComplexWord(ob.Type, re, -im))
	case "cmplx":
		return Object{in: e.in, ob: *ob, at: true}, nil
	}
	return Object{}, wrongAt(n.Args[0], fmt.Errorf("%s is not computed of complex numbers", name))
}

// complexType returns the type of complex numbers of 8 or 16 bytes.
func (e *evaluation) complexType(size uint64) *types.Type {
	name := map[uint64]string{8: "complex float", 16: "complex double"}[size]
	if e.dialect == paths.Fortran {
		name = fmt.Sprintf("complex(kind=%d)", size/2)
	}
	return e.a.r.types.Number(name, size, types.EncComplexFloat)
}

// computeComplex computes with numbers of which at least one is complex; false if neither is.
func (e *evaluation) computeComplex(n *paths.Binary, x, y *values.Object) (Object, bool, error) {
	a, okA, err := e.asComplex(x)
	if err != nil {
		return Object{}, true, wrongAt(n.X, err)
	}
	b, okB, err := e.asComplex(y)
	switch {
	case !okA && !okB:
		return Object{}, false, nil
	case err != nil:
		return Object{}, true, wrongAt(n.Y, err)
	}
	size := uint64(8)
	for _, o := range [...]*values.Object{x, y} {
		t := o.Type.Strip()
		if t.Encoding == types.EncComplexFloat && o.Size > 8 || t.Encoding == types.EncFloat && o.Size > 4 {
			size = 16
		}
	}
	var v complex128
	switch n.Op {
	case "==", "!=":
		t, err := e.truth((a == b) == (n.Op == "=="))
		return t, true, err
	case "+":
		v = a + b
	case "-":
		v = a - b
	case "*":
		v = a * b
	case "/":
		v = a / b
	default:
		return Object{}, true, fmt.Errorf("%q is not defined for complex numbers", n.Op)
	}
	t, err := e.object(e.x.ComplexWord(e.complexType(size), real(v), imag(v)))
	return t, true, err
}

// asComplex returns a number as a complex one; is says that it is one.
func (e *evaluation) asComplex(o *values.Object) (v complex128, is bool, err error) {
	if re, im, ok, err := e.x.Complex(o); ok || err != nil {
		return complex(re, im), ok, err
	}
	if t := e.referred(o).Type.Strip(); t.Tag != dwarf.TagBaseType {
		return 0, false, nil
	}
	f, err := e.asReal(o)
	return complex(f, 0), false, err
}

// deferred returns the string that a pointer to characters without a length leads to: gfortran has the length of character(len=:) in a variable of
// its own, .name. Others are returned as they are.
func (e *evaluation) deferred(ob values.Object, name string) values.Object {
	t := ob.Type.Strip()
	if e.dialect != paths.Fortran || !t.Pointer() || strings.HasPrefix(name, ".") {
		return ob
	}
	if s := t.Target().Strip(); s.Tag != dwarf.TagStringType || s.ByteSize != 0 {
		return ob
	}
	length, err := e.variable("." + name)
	if err != nil || !length.at {
		return ob
	}
	n, _, err := e.x.Number(&length.ob)
	at, _, failed := e.x.Number(&ob)
	if err != nil || failed != nil || at == 0 || n > maxArray {
		return ob
	}
	return values.Object{Type: e.a.r.types.StringOf(n), Mem: true, Addr: at, Size: n}
}

// substring returns a part of a string: s(2:4).
func (e *evaluation) substring(n *paths.Call, ob *values.Object) (Object, bool, error) {
	at := e.referred(ob)
	if at.Type.Strip().Tag != dwarf.TagStringType || len(n.Args) != 1 {
		return Object{}, false, nil
	}
	r, ok := n.Args[0].(*paths.Range)
	if !ok || r.Step != nil {
		return Object{}, false, nil
	}
	c, ok, err := e.x.Characters(at, 1)
	length, counted := e.x.Length(at)
	switch err := errors.Join(err, counted); {
	case err != nil:
		return Object{}, true, err
	case !ok || !c.Located:
		return Object{}, true, errors.New("where the characters are is not known")
	}
	from, to := int64(1), int64(length)
	if r.From != nil {
		if from, err = e.integer(r.From); err != nil {
			return Object{}, true, err
		}
	}
	if r.To != nil {
		if to, err = e.integer(r.To); err != nil {
			return Object{}, true, err
		}
	}
	if to < from { // empty, wherever it is
		t, err := e.textOf(&paths.Text{})
		return t, true, err
	}
	if from < 1 || to > int64(length) {
		return Object{}, true, wrongAt(r, fmt.Errorf("characters from %d to %d of a string of %d", from, to, length))
	}
	n1 := uint64(to-from) + 1
	size := max(c.Size, 1)
	t, err := e.object(values.Object{Type: e.a.r.types.StringOf(n1 * size), Mem: true, Addr: c.Addr + uint64(from-1)*size, Size: n1 * size}, nil)
	return t, true, err
}

// basicOfFortran returns a type by its name, with the size that the name has or the usual one: integer, real(8), real*8, complex(kind=4).
func (e *evaluation) basicOfFortran(name string) *types.Type {
	name = strings.Join(strings.Fields(name), "")
	word, rest := name, ""
	if i := strings.IndexAny(name, "(*"); i > 0 {
		word, rest = name[:i], strings.TrimSuffix(strings.TrimPrefix(strings.TrimLeft(name[i:], "(*"), "kind="), ")")
	}
	kind := uint64(4)
	if word == "doubleprecision" {
		word, kind = "real", 8
	}
	if word == "character" {
		kind = 1
	}
	size := kind
	if rest != "" {
		n, err := strconv.ParseUint(rest, 10, 8)
		if err != nil || n == 0 {
			return nil
		}
		kind, size = n, n
		if word == "complex" && strings.Contains(name, "*") {
			kind = n / 2
		}
	}
	if word == "complex" {
		size = 2 * kind
	}
	enc, ok := map[string]types.Encoding{"integer": types.EncSigned, "real": types.EncFloat, "logical": types.EncBoolean, "complex": types.EncComplexFloat, "character": types.EncUnsignedChar}[word]
	if !ok || !slices.Contains(kindsOfFortran(word), kind) {
		return nil
	}
	return e.a.r.types.Number(fmt.Sprintf("%s(kind=%d)", word, kind), size, enc)
}

// kindsOfFortran are the sizes that compilers have for the numbers of a type.
func kindsOfFortran(word string) []uint64 {
	switch word {
	case "character":
		return []uint64{1, 4}
	case "real", "complex":
		return []uint64{4, 8, 10, 16}
	}
	return []uint64{1, 2, 4, 8, 16}
}
