package values

import (
	"bytes"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// array reads dimension number n of an array. t is the stripped type of o.
func (b *builder) array(o *Object, t *types.Type, n, depth int) *Value {
	dims := t.Dims()
	if n >= len(dims) {
		return Failed(o.Type, &unknown.Corrupt{Err: unknown.ErrLimit})
	}
	if t.DataLocation.Present() && n == 0 {
		if err := b.follow(o, t); err != nil {
			return Failed(o.Type, err)
		}
	}
	count, err := t.Count(b.f, &dims[n])
	if err != nil {
		return Failed(o.Type, err)
	}
	stride, err := b.strideOf(t, n+1)
	if err != nil {
		return Failed(o.Type, err)
	}
	if elem := t.Target(); n == len(dims)-1 && !t.Vector && len(o.Holes) == 0 {
		if size, ok := elem.Char(); ok && size == stride {
			return b.charArray(o, elem, count)
		}
	}
	return b.elements(o, count, stride, depth, func(part *Object) *Value {
		if n+1 < len(dims) {
			row := b.array(part, t, n+1, depth+1)
			row.row = true
			return row
		}
		part.Type = t.Target()
		return b.value(part, depth+1)
	})
}

// strideOf returns the number of bytes from one element of dimension n-1 to the next.
func (b *builder) strideOf(t *types.Type, n int) (uint64, error) {
	stride, err := b.sizeOf(t.Target())
	if err != nil {
		return 0, err
	}
	if t.Stride.Present() {
		if stride, err = b.f.Number(t.Ref.Unit, &t.Stride); err != nil {
			return 0, err
		}
	}
	for ; n < len(t.Dims()); n++ {
		c, err := t.Count(b.f, &t.Dims()[n])
		if err != nil {
			return 0, err
		}
		if c != 0 && stride > 1<<48/c {
			return 0, &unknown.Corrupt{Err: unknown.ErrLimit}
		}
		stride *= c
	}
	return stride, nil
}

// follow moves o to the elements of an array with DW_AT_data_location.
func (b *builder) follow(o *Object, t *types.Type) error {
	addr, err := b.f.NumberOf(o.Addr, t.Ref.Unit, &t.DataLocation)
	if err != nil {
		return err
	}
	o.Mem, o.Addr, o.Data, o.Holes = true, addr, nil, nil
	return nil
}

// elements reads count elements, stride bytes apart. Equal elements in a row become one part.
func (b *builder) elements(o *Object, count, stride uint64, depth int, read func(*Object) *Value) *Value {
	v := b.text(o, "")
	v.Compound = true
	if t := o.Type.Strip(); t.Language == dwarf.LangRust {
		v.style = brackets
	}
	shown := uint64(0)
	i := uint64(0)
	if depth == 0 {
		i = min(b.skip, count)
		b.skip -= i
	}
	for i < count {
		if shown >= uint64(b.opts.MaxElements) || depth >= b.opts.MaxDepth || !b.take() {
			v.More = true
			break
		}
		part := o.part(o.Type, i*stride, stride)
		el := read(&part)
		n := b.repeats(o, i, count, stride)
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

// repeats counts how many elements, from number i on, have the same bytes.
func (b *builder) repeats(o *Object, i, count, stride uint64) uint64 {
	if stride == 0 || stride > MaxObject/minRepeat || b.noRepeats {
		return 1
	}
	const most = 1 << 16 // bytes looked at
	n := min(count-i, max(most/stride, minRepeat))
	raw, err := b.p.Bytes(o, i*stride, n*stride)
	if err != nil {
		return 1
	}
	k := uint64(1)
	for k < n && bytes.Equal(raw[k*stride:(k+1)*stride], raw[:stride]) {
		k++
	}
	return k
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
