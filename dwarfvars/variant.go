package dwarfvars

import "github.com/corewalk/corewalk/internal/dwarf"

// A variantPart is the alternatives of a Rust enum (DWARF 5, 5.7.10).
type variantPart struct {
	discr    field
	has      bool // discr is one: there are several alternatives
	variants []variant
}

// A variant is one alternative: it holds when the discriminant is one of vals;
// without any, when no other does.
type variant struct {
	vals   []uint64
	fields []field
}

func readVariantPart(u *dwarf.Unit, off uint64, t *Type) (p variantPart) {
	var e dwarf.Entry
	var v, discr dwarf.Value
	c := u.Cursor(off)
	if !c.Next(&e) {
		return p
	}
	for c.Attr(&v) {
		if v.Attr == dwarf.AttrDiscr {
			discr = v
		}
	}
	at, err := u.Ref(&discr)
	p.has = err == nil
	for n := 0; n < maxMembers && c.Level() > 0 && c.Next(&e); n++ {
		switch e.Tag {
		case dwarf.TagMember:
			f := readField(u, &c, &e, t)
			if p.has && e.Off == at.Off {
				p.discr = f
			}
			c.SkipChildren()
		case dwarf.TagVariant:
			p.variants = append(p.variants, readVariant(u, &c, &e, t))
		default:
			c.SkipChildren()
		}
	}
	return p
}

func readVariant(u *dwarf.Unit, c *dwarf.Cursor, e *dwarf.Entry, t *Type) (r variant) {
	var v dwarf.Value
	for c.Attr(&v) {
		if v.Attr == dwarf.AttrDiscrValue {
			r.vals = append(r.vals, v.U)
		}
	}
	if !e.HasChildren {
		return r
	}
	depth, child := e.Depth, dwarf.Entry{}
	for c.Level() > depth && c.Next(&child) {
		if child.Tag == dwarf.TagMember {
			f := readField(u, c, &child, t)
			r.fields = append(r.fields, f)
		}
		c.SkipChildren()
	}
	return r
}
