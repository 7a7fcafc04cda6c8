package dwarfvars

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// What Ada writes: attributes of objects and of types, names in the packages around the frame's function.

// adaScoped returns what GNAT may call a name that is used in a function: in work.run that of a declaration of work.run, of work, or of neither.
func adaScoped(function, name string) (list []string) {
	name = strings.ReplaceAll(name, ".", "__")
	scope := strings.TrimPrefix(function, "_ada_")
	for range maxOuter {
		if scope == "" {
			break
		}
		list = append(list, scope+"__"+name)
		i := strings.LastIndex(scope, "__")
		if i < 0 {
			break
		}
		scope = scope[:i]
	}
	return append(list, name)
}

// ofNested finds a variable of a package that the frame's function declares: one alone whose name ends so.
func (e *evaluation) ofNested(name string) (Object, error) {
	var found *LocalVar
	for _, s := range e.scopes {
		for _, v := range s.Locals {
			if strings.HasSuffix(v.Name, "__"+name) && e.a.inScope(v) {
				if found != nil {
					return Object{}, errNoVariable
				}
				found = v
			}
		}
	}
	if found == nil {
		return Object{}, errNoVariable
	}
	ob, err := e.a.object(found)
	return Object{in: e.in, ob: ob, at: true}, err
}

// adaMember returns a component of a record, also one that a tagged record has of its parent.
func (e *evaluation) adaMember(ob *values.Object, name string) (Object, error) {
	at, name := *ob, strings.ToLower(name)
	t, err := e.object(e.x.Member(&at, name))
	for range maxReferences {
		if err == nil {
			break
		}
		parent, missing := e.x.Member(&at, "_parent")
		if missing != nil {
			return Object{}, err
		}
		at = parent
		if t, missing = e.object(e.x.Member(&at, name)); missing == nil {
			return t, nil
		}
	}
	return t, err
}

// attribute returns one of Ada's attributes, with what is in parentheses behind it.
func (e *evaluation) attribute(n *paths.Attribute, args []paths.Node) (Object, error) {
	name := strings.ToLower(n.Name)
	if t, ok := e.adaType(n.X); ok && len(args) == 2 && (name == "min" || name == "max") {
		return e.attributeExtreme(t, name == "max", args)
	}
	if len(args) > 1 {
		return Object{}, fmt.Errorf("the attribute '%s has one argument at most", n.Name)
	}
	if id, ok := n.X.(*paths.Ident); ok && (name == "first" || name == "last") && e.unresolved(strings.ToLower(id.Name)) { // subtypes that Ada itself has
		first, ok := map[string]uint64{"natural": 0, "positive": 1}[strings.ToLower(id.Name)]
		switch {
		case ok && name == "first":
			return e.word(e.a.r.types.Integer(4, true), first)
		case ok:
			return e.word(e.a.r.types.Integer(4, true), math.MaxInt32)
		}
	}
	if t, ok := e.adaType(n.X); ok {
		return e.attributeOfType(t, name, args)
	}
	ob, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
	}
	set := e.a.r.types
	switch name {
	case "first", "last", "length":
		bounds, err := e.x.Bounds(&ob)
		if err != nil {
			return Object{}, err
		}
		if len(bounds) == 0 {
			return Object{}, fmt.Errorf("an object of type %s is no array: it has no '%s", clip(ob.Type.Name()), n.Name)
		}
		dim, err := e.dimension(args, len(bounds))
		if err != nil {
			return Object{}, err
		}
		b := bounds[dim]
		v := map[string]int64{"first": b.Lower, "last": b.Lower + int64(b.Count) - 1, "length": int64(b.Count)}[name]
		if t := e.indexType(&ob, dim); t != nil && name != "length" {
			return e.word(t, uint64(v))
		}
		return e.word(set.Integer(8, true), uint64(v))
	case "address", "access", "unrestricted_access", "unchecked_access":
		at := e.referred(&ob)
		if !at.Mem {
			return Object{}, errors.New("it has no address: it is in a register, or was computed")
		}
		if name == "address" {
			return e.word(e.pointerTo(set.Of(types.Ref{})), at.Addr)
		}
		return e.word(e.pointerTo(at.Type), at.Addr)
	case "size":
		if bounds, err := e.x.Bounds(&ob); err == nil && len(bounds) > 0 && e.referred(&ob).Type.Strip().Tag != arrayTag {
			return Object{}, errors.New("the size of an array whose bounds are not part of its type is not computed: 'length tells how many elements it has")
		}
		return e.word(set.Integer(8, false), 8*e.referred(&ob).Size)
	case "tag":
		return e.adaMember(&ob, "_tag")
	case "range":
		return Object{}, errors.New("a range is no value: 'first and 'last are")
	}
	return Object{}, fmt.Errorf("the attribute '%s is not known; one of first, last, length, address, access, size, and of types pos, val, succ, pred, modulus", n.Name)
}

// attributeExtreme is T'Max(x, y) or T'Min(x, y).
func (e *evaluation) attributeExtreme(t *types.Type, largest bool, args []paths.Node) (Object, error) {
	ob, err := e.extreme(&paths.Call{Args: args}, largest)
	if err != nil {
		return Object{}, err
	}
	return e.converted("", &ob.ob, t)
}

// dimension is which dimension of an array an attribute means, counted from 0.
func (e *evaluation) dimension(args []paths.Node, n int) (int, error) {
	if len(args) == 0 {
		return 0, nil
	}
	dim, err := e.integer(args[0])
	if err == nil && (dim < 1 || dim > int64(n)) {
		err = wrongAt(args[0], fmt.Errorf("dimension %d of an array of %d", dim, n))
	}
	return int(dim) - 1, err
}

// indexType returns the enumeration that the indexes of a dimension are of; nil if they are numbers.
func (e *evaluation) indexType(ob *values.Object, dim int) *types.Type {
	t := e.referred(ob).Type.Strip()
	if t.Tag != arrayTag || dim >= len(t.Dims()) {
		return nil
	}
	if index := t.Dims()[dim].Index(t); index != nil && index.Base().Tag == dwarf.TagEnumerationType {
		return index
	}
	return nil
}

// adaType returns the type that a node names, if it names no object.
func (e *evaluation) adaType(n paths.Node) (*types.Type, bool) {
	name := ""
	switch n := n.(type) {
	case *paths.Ident:
		name = strings.ToLower(n.Name)
	case *paths.Member:
		flat, ok := adaName(n)
		if !ok {
			return nil, false
		}
		name = flat
	default:
		return nil, false
	}
	if root, _, _ := strings.Cut(name, "__"); !e.unresolved(root) || !e.unresolved(name) {
		return nil, false
	}
	t, ok := e.lookup(name)
	return t, ok
}

// attributeOfType is attribute of a type.
func (e *evaluation) attributeOfType(t *types.Type, name string, args []paths.Node) (Object, error) {
	set, s := e.a.r.types, t.Strip()
	if s.Tag == arrayTag {
		return e.attributeOfArray(s, name, args)
	}
	first, last, ok := s.Range()
	switch name {
	case "size":
		size, err := e.a.sizeOf(t)
		if err != nil {
			return Object{}, err
		}
		return e.word(set.Integer(8, false), 8*size)
	case "range":
		return Object{}, errors.New("a range is no value: 'first and 'last are")
	case "first", "last", "modulus", "pos", "val", "succ", "pred", "enum_rep", "image":
	default:
		return Object{}, fmt.Errorf("the attribute '%s of types is not known; one of first, last, size, pos, val, succ, pred, modulus", name)
	}
	if !ok {
		return Object{}, fmt.Errorf("the range of %s is not known", clip(t.Name()))
	}
	switch name {
	case "first":
		return e.word(t, uint64(first))
	case "last":
		return e.word(t, uint64(last))
	case "modulus":
		if s.Base().Encoding.Signed() || last == math.MaxInt64 {
			return Object{}, fmt.Errorf("%s is no modular type of less than 64 bits", clip(t.Name()))
		}
		return e.word(set.Integer(8, true), uint64(last+1))
	}
	if len(args) != 1 {
		return Object{}, fmt.Errorf("the attribute '%s of a type has an argument", name)
	}
	v, err := e.integer(args[0])
	if err != nil {
		return Object{}, err
	}
	enums := s.Base().Members().Enums
	place := func(v int64) int64 { // of an enumerator among those of its type
		for i := range enums {
			if int64(enums[i].Val) == v {
				return int64(i)
			}
		}
		return v
	}
	switch name {
	case "pos":
		return e.word(set.Integer(8, true), uint64(place(v)))
	case "enum_rep":
		return e.word(set.Integer(8, true), uint64(v))
	case "image":
		return e.word(t, uint64(v)) // whose text it is
	case "succ", "pred":
		by := map[string]int64{"succ": 1, "pred": -1}[name]
		if v = place(v); (v+by < v) != (by < 0) {
			return Object{}, wrongAt(args[0], fmt.Errorf("%d is the last of 64 bits", v))
		}
		v += by
	}
	if len(enums) > 0 {
		if v < 0 || v >= int64(len(enums)) {
			return Object{}, wrongAt(args[0], fmt.Errorf("%s has no value number %d", clip(t.Name()), v))
		}
		v = int64(enums[v].Val)
	}
	if v < first || v > last {
		return Object{}, wrongAt(args[0], fmt.Errorf("%d is not in the range of %s, from %d to %d", v, clip(t.Name()), first, last))
	}
	return e.word(t, uint64(v))
}

// attributeOfArray is attribute of a type of arrays, whose bounds are constants.
func (e *evaluation) attributeOfArray(t *types.Type, name string, args []paths.Node) (Object, error) {
	if name == "size" {
		size, err := e.a.sizeOf(t)
		if err != nil {
			return Object{}, err
		}
		return e.word(e.a.r.types.Integer(8, false), 8*size)
	}
	dim, err := e.dimension(args, len(t.Dims()))
	if err != nil {
		return Object{}, err
	}
	lower, count, ok := t.Dims()[dim].Constant()
	v, known := map[string]int64{"first": lower, "last": lower + int64(count) - 1, "length": int64(count)}[name]
	switch {
	case !known:
		return Object{}, fmt.Errorf("the attribute '%s of types of arrays is not known; one of first, last, length, size", name)
	case !ok:
		return Object{}, fmt.Errorf("the bounds of %s are those of each array", clip(t.Name()))
	}
	return e.word(e.a.r.types.Integer(8, true), uint64(v))
}
