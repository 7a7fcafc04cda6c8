package ruby

import "slices"

// maxVariables limits how many variables an object has.
const maxVariables = 1 << 10

// noShape is the number of no shape.
const noShape = 1<<32 - 1

// shapeVariable is the type of shapes that add a variable.
const shapeVariable = 1

// shaped goes through the variables of an object whose shape says where they are, in the order in which they were set.
func (n *names) shaped(v uint64, do func(id, value uint64) bool) bool {
	f := n.flags(v)
	from := n.field(v, "object.heap")
	switch {
	case f&typeMask == typeClass || f&typeMask == typeModule:
		from = n.Word(v + n.at("class.inside"))
	case f&typeMask != typeObject:
		return false
	case f&flagHere != 0:
		from = v + n.at("object.array")
	}
	shapes := n.field(n.shapes, "shapes.list")
	number := f >> n.at("shape.shift")
	type variable struct{ id, index uint64 }
	var all []variable
	for number != noShape {
		if number >= uint64(n.number(n.shapes, "shapes.next")) || len(all) > maxVariables || n.p.Spend(4) != nil {
			return false
		}
		at := shapes + number*n.at("shape.size")
		kind, ok := n.U8(at + n.at("shape.type"))
		parent := uint64(n.number(at, "shape.parent"))
		switch {
		case !ok:
			return false
		case uint64(kind) == n.at("shape.complex"): // variables are in a table
			return n.table(from, do)
		case kind == shapeVariable:
			index := uint64(n.number(at, "shape.next"))
			if index == 0 || index > maxVariables {
				return false
			}
			all = append(all, variable{n.Word(at + n.at("shape.name")), index - 1})
		default:
			all = append(all, variable{})
		}
		number = parent
	}
	slices.Reverse(all)
	for _, one := range all {
		if one.id == 0 {
			continue
		}
		value, ok := n.LookupWord(from + 8*one.index)
		if !ok || from%8 != 0 {
			return false
		}
		if !do(one.id, value) {
			break
		}
	}
	return true
}
