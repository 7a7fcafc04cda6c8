package dwarfvars

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// Sets of Pascal: a bit for each number from 0 on.

// maxSetBytes is the largest set that is computed with: 256 numbers are Pascal's most, and Modula-2's compilers have more.
const maxSetBytes = 512

// ofSets answers the operators between two sets, of which one may be written as a list; false if no operand is one.
func (e *evaluation) ofSets(n *paths.Binary) (Object, bool, error) {
	switch n.Op {
	case "+", "-", "*", "==", "!=", "<=", ">=":
	default:
		return Object{}, false, nil
	}
	_, listX := n.X.(*paths.List)
	_, listY := n.Y.(*paths.List)
	if listX && listY {
		return Object{}, true, errors.New("which type two lists have is not known: one side is a variable that is a set")
	}
	var set *values.Object
	for _, operand := range [...]paths.Node{n.X, n.Y} {
		if _, list := operand.(*paths.List); list {
			continue
		}
		ob, err := e.stored(operand)
		if err != nil {
			return Object{}, false, nil // whoever computes with it says why
		}
		at := e.referred(&ob)
		if at.Type.Strip().Tag != dwarf.TagSetType {
			if listX || listY {
				return Object{}, true, wrongAt(operand, fmt.Errorf("an object of type %s is no set", clip(at.Type.Name())))
			}
			return Object{}, false, nil
		}
		if set == nil || at.Size > set.Size {
			set = at
		}
	}
	if set.Size > maxSetBytes {
		return Object{}, true, fmt.Errorf("a set of %d bytes is not computed with", set.Size)
	}
	x, err := e.bitsOf(n.X, set)
	if err != nil {
		return Object{}, true, err
	}
	y, err := e.bitsOf(n.Y, set)
	if err != nil {
		return Object{}, true, err
	}
	switch within := func(a, b []byte) bool {
		for i := range a {
			if a[i]&^b[i] != 0 {
				return false
			}
		}
		return true
	}; n.Op {
	case "==", "!=":
		t, err := e.truth(bytes.Equal(x, y) == (n.Op == "=="))
		return t, true, err
	case "<=":
		t, err := e.truth(within(x, y))
		return t, true, err
	case ">=":
		t, err := e.truth(within(y, x))
		return t, true, err
	}
	for i := range x {
		switch n.Op {
		case "+":
			x[i] |= y[i]
		case "-":
			x[i] &^= y[i]
		case "*":
			x[i] &= y[i]
		}
	}
	t, err := e.object(values.Object{Type: set.Type, Size: set.Size, Data: x}, nil)
	return t, true, err
}

// bitsOf are the bits of a set, or of a list of numbers, as many as another set has.
func (e *evaluation) bitsOf(n paths.Node, as *values.Object) ([]byte, error) {
	out := make([]byte, as.Size)
	list, ok := n.(*paths.List)
	if !ok {
		ob, err := e.stored(n)
		if err != nil {
			return nil, err
		}
		at := e.referred(&ob)
		raw, err := e.x.P.Bytes(at, 0, min(at.Size, as.Size))
		copy(out, raw)
		return out, wrongAt(n, err)
	}
	for _, item := range list.Items {
		first, last, err := e.itemOf(item)
		if err != nil {
			return nil, err
		}
		if first <= last && (first < 0 || last >= 8*int64(len(out))) {
			return nil, wrongAt(item, fmt.Errorf("the set has numbers from 0 to %d", 8*len(out)-1))
		}
		for i := first; i <= last; i++ {
			out[i/8] |= 1 << (i % 8)
		}
	}
	return out, nil
}

// itemOf is what an item of a list has: from the first number to the last.
func (e *evaluation) itemOf(item paths.Node) (first, last int64, err error) {
	from, to := item, item
	if r, ok := item.(*paths.Range); ok {
		from, to = r.From, r.To
	}
	if first, err = e.integer(from); err == nil {
		last, err = e.integer(to)
	}
	return first, last, err
}
