package dwarfvars

import (
	"bytes"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// array reads dimension number n of an array; t is o's type, stripped.
func (b *builder) array(o *object, t *Type, n, depth int) *Value {
	dims := t.dims()
	if n >= len(dims) {
		return fail(o.typ, &CorruptExpression{ErrLimit})
	}
	if t.dataLoc.Present() && n == 0 {
		if err := b.follow(o, t); err != nil {
			return fail(o.typ, err)
		}
	}
	count, err := t.count(b.f, &dims[n])
	if err != nil {
		return fail(o.typ, err)
	}
	stride, err := b.strideOf(t, n+1)
	if err != nil {
		return fail(o.typ, err)
	}
	if elem := t.target(); n == len(dims)-1 && !t.vector && len(o.holes) == 0 {
		if size, ok := elem.isChar(); ok && size == stride {
			return b.charArray(o, elem, count)
		}
	}
	return b.elements(o, count, stride, depth, func(part *object) *Value {
		if n+1 < len(dims) {
			row := b.array(part, t, n+1, depth+1)
			row.row = true
			return row
		}
		part.typ = t.target()
		return b.value(part, depth+1)
	})
}

// strideOf is the number of bytes from one element of dimension n-1 to the next.
func (b *builder) strideOf(t *Type, n int) (uint64, error) {
	stride, err := b.sizeOf(t.target())
	if err != nil {
		return 0, err
	}
	if t.stride.Present() {
		if stride, err = b.f.Number(t.ref.Unit, &t.stride); err != nil {
			return 0, err
		}
	}
	for ; n < len(t.dims()); n++ {
		c, err := t.count(b.f, &t.dims()[n])
		if err != nil {
			return 0, err
		}
		if c != 0 && stride > 1<<48/c {
			return 0, &CorruptExpression{ErrLimit}
		}
		stride *= c
	}
	return stride, nil
}

// follow moves o to where the elements of an array are that lie elsewhere.
func (b *builder) follow(o *object, t *Type) error {
	addr, err := b.f.NumberOf(o.addr, t.ref.Unit, &t.dataLoc)
	if err != nil {
		return err
	}
	o.mem, o.addr, o.data, o.holes = true, addr, nil, nil
	return nil
}

// elements reads count elements, stride bytes apart. Equal ones that follow one
// another are one part.
func (b *builder) elements(o *object, count, stride uint64, depth int, read func(*object) *Value) *Value {
	v := b.text(o, "")
	v.Compound = true
	if t := o.typ.strip(); t.lang == dwarf.LangRust {
		v.style = brackets
	}
	shown := uint64(0)
	for i := uint64(0); i < count; {
		if shown >= uint64(b.opts.MaxElements) || depth >= b.opts.MaxDepth || !b.take() {
			v.More = true
			break
		}
		part := o.part(o.typ, i*stride, stride)
		el := read(&part)
		n := b.repeats(o, i, count, stride)
		if n < minRepeat {
			n = 1
		}
		i += n
		if k := len(v.Parts) - 1; k >= 0 && sameFailure(v.Parts[k].Value, el) {
			v.Parts[k].Repeat += int(n)
			continue
		}
		shown++
		v.Parts = append(v.Parts, Part{Value: el, Repeat: int(n)})
		if el.Err != nil && o.mem && n == 1 {
			// What follows cannot be read either.
			if _, gone := el.Err.(*MemoryNotInDump); gone && i < count {
				v.More = true
				break
			}
		}
	}
	return v
}

// sameFailure reports whether two elements have no value for one reason.
func sameFailure(a, b *Value) bool {
	return a.Err != nil && b.Err != nil && a.Text == b.Text && a.Err.Error() == b.Err.Error()
}

// minRepeat is how many equal elements are shown as one with a count.
const minRepeat = 10

// repeats counts the elements from number i on that have equal bytes.
func (b *builder) repeats(o *object, i, count, stride uint64) uint64 {
	if stride == 0 || stride > maxObject/minRepeat {
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

// charArray reads an array of characters: up to the zeros that fill its end.
func (b *builder) charArray(o *object, elem *Type, count uint64) *Value {
	size, _ := elem.isChar()
	limit := uint64(b.opts.MaxString)
	n := min(count, limit+1)
	if n == 0 {
		return b.text(o, `""`)
	}
	raw, err := b.p.Bytes(o, 0, n*size)
	if err != nil {
		return fail(o.typ, err)
	}
	end := uint64(len(raw)) / size
	for end > 0 && decodeUint(raw[(end-1)*size:end*size], false) == 0 {
		end--
	}
	cut := end > limit
	if cut {
		end = limit
	}
	return b.stringValue(o, elem, raw[:end*size], cut || n < count && end == limit)
}
