package types

import (
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// A VariantPart is the alternatives of an enum of Rust or of a record of Ada (DWARF 5, 5.7.10).
type VariantPart struct {
	Discr    Field
	Has      bool // discr is one: there are several alternatives
	Variants []Variant
	lists    int // bytes of the lists of all alternatives
}

// Cost is how many entries have to be looked at to find the alternative that is in use.
func (p *VariantPart) Cost() int { return len(p.Variants) + p.lists }

// A Variant is one alternative. It is in use if the discriminant is val or in list; if it has
// neither, it is in use if no other is.
type Variant struct {
	val    uint64
	has    bool   // val is one
	list   []byte // DW_AT_discr_list
	Fields []Field
	Part   *VariantPart // alternatives inside this one, of Ada
}

// Chosen reports whether v has values of the discriminant.
func (v *Variant) Chosen() bool { return v.has || len(v.list) > 0 }

// Holds reports whether v is in use, for a discriminant got of size bytes.
func (v *Variant) Holds(got uint64, size int, signed bool) bool {
	if v.has && Resize(v.val, size, signed) == got {
		return true
	}
	// The list has single values and ranges, each behind a byte that says which
	// (DWARF 5, 7.5.7), as LEB128 of the discriminant's sign.
	const span = 1
	c := binbuf.New(v.list, 0, false)
	number := func() uint64 {
		if signed {
			return uint64(c.SLEB())
		}
		return c.ULEB()
	}
	for c.More() {
		kind := c.U8()
		low := number()
		high := low
		if kind == span {
			high = number()
		}
		switch {
		case c.Error != nil || kind > span:
			return false
		case signed && int64(low) <= int64(got) && int64(got) <= int64(high), !signed && low <= got && got <= high:
			return true
		}
	}
	return false
}

// maxParts is how deep variant parts nest.
const maxParts = 16

func readVariantPart(u *dwarf.Unit, off uint64, t *Type, depth int) (p VariantPart) {
	var e dwarf.Entry
	var discr dwarf.Value
	c := u.Cursor(off)
	c.Next(&e)
	c.Find(dwarf.AttrDiscr, &discr)
	at, err := u.Ref(&discr)
	p.Has = err == nil
	for n := 0; n < MaxMembers && c.Level() > 0 && c.Next(&e); n++ {
		if e.Tag != dwarf.TagVariant {
			c.SkipChildren()
			continue
		}
		v := readVariant(u, &c, &e, t, depth)
		p.Variants, p.lists = append(p.Variants, v), p.lists+len(v.list)
	}
	if at.Valid() { // a member of the part, or of the record, in Ada
		var member dwarf.Entry
		in := at.Unit.Cursor(at.Off)
		in.Next(&member)
		if member.Tag == dwarf.TagMember {
			p.Discr = readField(at.Unit, &in, &member, t)
		}
	}
	return p
}

func readVariant(u *dwarf.Unit, c *dwarf.Cursor, e *dwarf.Entry, t *Type, depth int) (r Variant) {
	var v dwarf.Value
	for c.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrDiscrValue:
			r.val, r.has = v.U, true
		case dwarf.AttrDiscrList:
			r.list = v.B
		}
	}
	var child dwarf.Entry
	for c.Level() > e.Depth && c.Next(&child) {
		switch {
		case child.Tag == dwarf.TagMember:
			f := readField(u, c, &child, t)
			r.Fields = append(r.Fields, f)
		case child.Tag == dwarf.TagVariantPart && depth < maxParts:
			part := readVariantPart(u, child.Off, t, depth+1)
			r.Part = &part
		}
		c.SkipChildren()
	}
	return r
}
