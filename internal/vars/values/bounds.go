package values

import (
	"errors"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// in returns the frame in which sizes, bounds and strides of the type of o are evaluated. They may depend on the object,
// and on the record that it is a member of.
func (b *builder) in(o *Object) types.Frame {
	if !o.Type.Dynamic() {
		return b.f
	}
	return &objectFrame{b, o}
}

// An objectFrame is a frame, and an object in it.
type objectFrame struct {
	b *builder
	o *Object
}

// Number implements types.Frame.
func (f *objectFrame) Number(u *dwarf.Unit, v *dwarf.Value) (uint64, error) {
	o := f.o
	if o.Type.Strip().Row && o.whole != nil {
		o = o.whole
	}
	if v.Form.Class() == dwarf.ClassReference {
		if d, err := u.Ref(v); err == nil && d.Valid() {
			var e dwarf.Entry
			c := d.Unit.Cursor(d.Off)
			if c.Next(&e); e.Tag == dwarf.TagMember {
				return f.b.discriminant(o, d)
			}
		}
	}
	if o.Mem {
		n, err := f.b.f.NumberOf(o.Addr, u, v)
		if span := (*unknown.Span)(nil); errors.As(err, &span) {
			// What nobody reads is what the called function knows.
			if elem := o.Type.Strip().Target(); elem != nil && !elem.Dynamic() && elem.Whole() > 0 {
				return span.Times * elem.Whole(), nil
			}
		}
		return n, err
	}
	if n, err, ok := f.b.inPieces(o, v); ok {
		return n, err
	}
	return f.b.f.Number(u, v)
}

// Stored implements types.Frame.
func (f *objectFrame) Stored(u *dwarf.Unit, v *dwarf.Value, size uint64) (uint64, error) {
	if f.o.Mem {
		return f.b.f.StoredOf(f.o.Addr, u, v, size)
	}
	return f.b.f.Stored(u, v, size)
}

// maxEnclosing is in how many records, one in the other, a discriminant is looked for.
const maxEnclosing = 8

// discriminant returns the number in a member of a record that o is a part of: in Ada it may be the bound of an array
// in that record.
func (b *builder) discriminant(o *Object, member dwarf.DIE) (uint64, error) {
	rec := o.whole
	for n := 0; rec != nil && n < maxEnclosing; n++ {
		if t := rec.Type.Strip(); t.Aggregate() {
			fields := t.Members().Fields
			for i := range fields {
				f := &fields[i]
				if f.DIE != member || f.Static || b.p.Types.OfField(f).Dynamic() {
					continue
				}
				at, err := b.field(rec, f)
				if err != nil {
					return 0, err
				}
				return b.uint(&at, at.Type.Base().Encoding.Signed())
			}
		}
		rec = rec.whole
	}
	return 0, unknown.ErrLength
}
