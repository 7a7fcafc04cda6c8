package values

import (
	"bytes"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// array reads an array. t is the stripped type of o.
func (b *builder) array(o *Object, t *types.Type, depth int) *Value {
	if absent, err := t.Absent(b.in(o)); err != nil {
		return Failed(o.Type, err)
	} else if absent != "" {
		return b.text(o, absent)
	}
	shape, err := b.layOut(o, t)
	if err != nil {
		return Failed(o.Type, err)
	}
	return b.dimension(o, t, shape, depth)
}

// layOut returns the dimensions of an array, and moves o to its elements, which may be elsewhere.
func (b *builder) layOut(o *Object, t *types.Type) ([]types.Extent, error) {
	shape, err := t.Shape(b.in(o))
	switch {
	case err != nil:
		return nil, err
	case len(shape) == 0:
		return nil, &unknown.Corrupt{Err: unknown.ErrLimit}
	case t.DataLocation.Present():
		return shape, b.follow(o, t)
	}
	return shape, nil
}

// follow moves o to the elements of an array, or to the characters of a string, with DW_AT_data_location.
func (b *builder) follow(o *Object, t *types.Type) error {
	addr, err, ok := uint64(0), error(nil), false
	if !o.Mem {
		addr, err, ok = b.inPieces(o, &t.DataLocation)
	}
	if !ok {
		addr, err = b.f.NumberOf(o.Addr, t.Ref.Unit, &t.DataLocation)
	}
	if err != nil {
		return err
	}
	o.Mem, o.Addr, o.Data, o.Holes = true, addr, nil, nil
	return nil
}

// dimension reads an array from the outermost dimension in shape on.
func (b *builder) dimension(o *Object, t *types.Type, shape []types.Extent, depth int) *Value {
	e, last := &shape[0], len(shape) == 1
	if !e.Known {
		return Failed(o.Type, unknown.ErrLength)
	}
	if elem := t.Target(); last && !t.Vector && len(o.Holes) == 0 {
		if size, ok := elem.Char(); ok && int64(8*size) == e.Stride {
			return b.charArray(o, elem, e.Count)
		}
	}
	return b.elements(o, e, depth, func(part *Object) *Value {
		if !last {
			row := b.dimension(part, t, shape[1:], depth+1)
			row.row = true
			return row
		}
		b.retype(part, t.Target())
		return b.value(part, depth+1)
	})
}

// element returns element number i of a dimension of o. It has the type of o.
func (b *builder) element(o *Object, e *types.Extent, i uint64) Object {
	bit := int64(o.bitOff) + int64(i)*e.Stride // a row may begin within a byte
	if bit%8 == 0 && e.Stride%8 == 0 && e.Size%8 == 0 && uint64(max(e.Stride, -e.Stride)) >= e.Size {
		return o.part(o.Type, uint64(bit/8), e.Size/8)
	}
	// Elements are no wider than their distance: as a whole they may have more bits.
	return o.bitPart(o.Type, uint64(bit), min(uint64(max(e.Stride, -e.Stride)), e.Size), (e.Size+7)/8)
}

// retype gives a part its type. A part of some bits that is more than a number gets bytes of its own.
func (b *builder) retype(part *Object, t *types.Type) {
	part.Type = t
	if part.bits != 0 {
		*part = b.p.bytewise(part)
	}
}

// elements reads the elements of a dimension. Equal elements in a row become one part.
func (b *builder) elements(o *Object, e *types.Extent, depth int, read func(*Object) *Value) *Value {
	v := b.text(o, "")
	v.Compound = true
	if t := o.Type.Strip(); t.Language == dwarf.LangRust {
		v.style = brackets
	}
	shown := uint64(0)
	i, count := uint64(0), e.Count
	if depth == 0 {
		i = min(b.skip, count)
		b.skip -= i
	}
	for i < count {
		if shown >= uint64(b.opts.MaxElements) || depth >= b.opts.MaxDepth || !b.take() {
			v.More = true
			break
		}
		part := b.element(o, e, i)
		el := read(&part)
		n := b.repeats(o, e, i)
		if n < minRepeat {
			n = 1
		}
		i += n
		if k := len(v.Parts) - 1; k >= 0 && !b.noRepeats && sameFailure(v.Parts[k].Value, el) {
			v.Parts[k].Repeat += int(n)
			continue
		}
		shown++
		v.Parts = append(v.Parts, Part{Value: el, Repeat: int(n)})
		if el.Err != nil && o.Mem && n == 1 {
			// What follows cannot be read either.
			if _, gone := el.Err.(*unknown.Memory); gone && i < count {
				v.More = true
				break
			}
		}
	}
	return v
}

// sameFailure reports whether two elements have no value for the same reason.
func sameFailure(a, b *Value) bool {
	return a.Err != nil && b.Err != nil && a.Text == b.Text && a.Err.Error() == b.Err.Error()
}

// minRepeat is the least number of equal elements that become one part with a count.
const minRepeat = 10

// repeats counts how many elements, from number i on, have the same bytes. Where there is something between elements, or
// between the elements of a row, it does not look.
func (b *builder) repeats(o *Object, e *types.Extent, i uint64) uint64 {
	stride := uint64(e.Stride) / 8
	if e.Stride <= 0 || uint64(e.Stride) != e.Size || e.Size%8 != 0 || stride > MaxObject/minRepeat || b.noRepeats {
		return 1
	}
	const bytesSeen = 1 << 16
	most := min(e.Count-i, max(bytesSeen/stride, minRepeat))
	// Few elements have equal ones behind them: twice as many are read each time.
	seen := uint64(1)
	for n := min(most, minRepeat); ; n = min(2*n, most) {
		raw, err := b.p.Bytes(o, i*stride, n*stride)
		if err != nil {
			return seen
		}
		for seen < n && bytes.Equal(raw[seen*stride:(seen+1)*stride], raw[:stride]) {
			seen++
		}
		if seen < n || n == most {
			return seen
		}
	}
}

// charArray reads an array of characters without the zeros at its end.
func (b *builder) charArray(o *Object, elem *types.Type, count uint64) *Value {
	size, _ := elem.Char()
	limit := uint64(b.opts.MaxString)
	n := min(count, limit+1)
	if n == 0 {
		return b.text(o, `""`)
	}
	raw, err := b.p.Bytes(o, 0, n*size)
	if err != nil {
		return Failed(o.Type, err)
	}
	end := uint64(len(raw)) / size
	for end > 0 && types.Uint(raw[(end-1)*size:end*size], false) == 0 {
		end--
	}
	cut := end > limit
	if cut {
		end = limit
	}
	return b.stringValue(o, elem, raw[:end*size], cut || n < count && end == limit)
}

// fixedString reads a string of Fortran, which ends where its length says, with the blanks before that.
func (b *builder) fixedString(o *Object, t *types.Type) *Value {
	if absent, err := t.Absent(b.in(o)); err != nil {
		return Failed(o.Type, err)
	} else if absent != "" {
		return b.text(o, absent)
	}
	n, err := t.CharsIn(b.in(o))
	if err != nil {
		return Failed(o.Type, err)
	}
	if t.DataLocation.Present() {
		if err := b.follow(o, t); err != nil {
			return Failed(o.Type, err)
		}
	}
	char := t.CharOf()
	size, ok := char.Char()
	if !ok {
		char, size = nil, 1
	}
	limit := uint64(b.opts.MaxString) * size
	raw, err := b.p.Bytes(o, 0, min(n, limit))
	if err != nil {
		return Failed(o.Type, err)
	}
	v := b.stringValue(o, char, raw, n > limit)
	if o.Mem {
		b.placed(v, o.Addr, n/size)
	}
	return v
}
