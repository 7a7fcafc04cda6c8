package values

import (
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// maxPieceStack is how many values an expression about an object in pieces may have at a time.
const maxPieceStack = 8

// inPieces evaluates an expression about an object that has no address, since it is in registers, constants and pieces that are nowhere: where the expression adds
// to the object's address, and reads there, it means those. ok is false for an expression that does anything else.
func (b *builder) inPieces(o *Object, v *dwarf.Value) (n uint64, err error, ok bool) {
	if v.Form.Class() != dwarf.ClassExprloc && v.Form.Class() != dwarf.ClassBlock {
		return 0, nil, false
	}
	type entry struct {
		n       uint64
		pointer bool // n is an offset in the object
	}
	var stack []entry
	about := false
	word := b.p.Arch.WordSize
	c := binbuf.New(v.B, 0, b.p.Arch.Big())
	for c.Error == nil && c.More() {
		code := op.Op(c.U8())
		top := len(stack) - 1
		switch {
		case code == op.PushObjectAddress:
			about = true
			stack = append(stack, entry{0, true})
		case code >= op.Lit0 && code < op.Lit0+32:
			stack = append(stack, entry{uint64(code - op.Lit0), false})
		case code == op.Const1u:
			stack = append(stack, entry{uint64(c.U8()), false})
		case top < 0:
			return 0, nil, false
		case code == op.PlusUconst:
			stack[top].n += c.ULEB()
		case code == op.Deref && stack[top].pointer:
			raw, err := b.p.Bytes(o, stack[top].n, uint64(word))
			if err != nil {
				return 0, unknown.Reason(err), true
			}
			stack[top] = entry{types.Uint(raw, b.p.Arch.Big()), false}
		case top < 1 || stack[top].pointer || stack[top-1].pointer:
			return 0, nil, false
		default:
			x, y := stack[top-1].n, stack[top].n
			switch code {
			case op.Plus:
				x += y
			case op.Minus:
				x -= y
			case op.Mul:
				x *= y
			case op.Ne:
				x = map[bool]uint64{true: 1}[x != y]
			case op.Eq:
				x = map[bool]uint64{true: 1}[x == y]
			default:
				return 0, nil, false
			}
			stack = append(stack[:top-1], entry{b.p.Arch.Truncate(x), false})
		}
		if len(stack) > maxPieceStack {
			return 0, nil, false
		}
	}
	if !about || c.Error != nil || len(stack) != 1 || stack[0].pointer {
		return 0, nil, false
	}
	return stack[0].n, nil, true
}
