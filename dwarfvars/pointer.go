package dwarfvars

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

func (b *builder) pointer(o *object, t *Type, depth int) *Value {
	if p := o.implicit(); p != nil {
		return b.implicit(o, t, p, depth)
	}
	addr, err := b.uint(o, false)
	if err != nil {
		return fail(o.typ, err)
	}
	if t.lang == dwarf.LangGo {
		if v := b.goPointerValue(o, t, depth); v != nil {
			return v
		}
	}
	v := b.text(o, "")
	elem := t.target()
	if size, ok := elem.isChar(); ok && addr != 0 && t.lang != dwarf.LangGo && t.lang != dwarf.LangRust {
		raw, cut, err := b.cString(addr, size)
		if err != nil {
			v.Text = fmt.Sprintf("%#x <%v>", addr, err)
			return v
		}
		v.Text = b.p.stringAddress(addr) + " " + stringText(elem, raw, b.p.Arch.Big(), cut)
		v.More = cut
		return v
	}
	if t.lang == dwarf.LangRust && addr != 0 && rustReference(t.name) {
		return b.reference(o, t, depth)
	}
	v.Text = b.p.addressText(addr)
	return v
}

// implicit is what the whole of a pointer is known to point to, when that lies
// nowhere.
func (o *object) implicit() *implicit {
	if o.mem || len(o.holes) != 1 || o.holes[0].from != 0 || o.holes[0].to < 8*o.size {
		return nil
	}
	return o.holes[0].ptr
}

// implicit reads what a pointer to an object without an address points to.
func (b *builder) implicit(o *object, t *Type, p *implicit, depth int) *Value {
	const mark = "(synthetic pointer)"
	if s, ok := b.implicitText(t, p); ok {
		return b.text(o, mark+" "+s)
	}
	target, err := b.implicitTarget(t, p)
	if err != nil || depth >= b.opts.MaxDepth || !b.take() {
		return b.text(o, mark)
	}
	v := b.value(target, depth+1)
	if v.Err != nil {
		return b.text(o, mark)
	}
	if v.Text != "" {
		v.Text = mark + " " + v.Text
	} else {
		v.Text = mark
	}
	v.typ, v.Addr = o.typ, 0
	return v
}

// implicitText is the string that a pointer to characters without an address
// points to.
func (b *builder) implicitText(t *Type, p *implicit) (string, bool) {
	elem := t.target()
	size, ok := elem.isChar()
	if !ok || p.offset < 0 {
		return "", false
	}
	raw, ok := b.f.ConstantBytes(p.die)
	if !ok || uint64(p.offset) > uint64(len(raw)) {
		return "", false
	}
	raw = raw[p.offset:]
	for i := 0; i+int(size) <= len(raw); i += int(size) {
		if decodeUint(raw[i:i+int(size)], false) == 0 {
			return stringText(elem, raw[:i], b.p.Arch.Big(), false), true
		}
	}
	return "", false
}

func (b *builder) implicitTarget(t *Type, p *implicit) (*object, error) {
	elem := t.target()
	ob, err := b.f.Variable(p.die, t.elem) // a DWARF procedure has no type of its own
	if err != nil {
		return nil, err
	}
	size, err := b.sizeOf(elem)
	if err != nil {
		return nil, err
	}
	if p.offset < 0 || uint64(p.offset) > ob.size || size > ob.size-uint64(p.offset) {
		return nil, ErrOptimisedOut
	}
	part := ob.part(elem, uint64(p.offset), size)
	return &part, nil
}

// reference reads a reference and what it refers to: "@0x7ffc10: 5".
func (b *builder) reference(o *object, t *Type, depth int) *Value {
	if p := o.implicit(); p != nil {
		return b.implicit(o, t, p, depth)
	}
	addr, err := b.uint(o, false)
	if err != nil {
		return fail(o.typ, err)
	}
	size, err := b.sizeOf(t.target())
	if err != nil {
		v := b.text(o, fmt.Sprintf("@%#x", addr))
		return v
	}
	to := object{typ: t.target(), mem: true, addr: addr, size: size}
	v := b.value(&to, depth+1)
	mark := fmt.Sprintf("@%#x", addr)
	if v.printed && t.lang != dwarf.LangRust {
		v.typ = o.typ
		return v // a string or a container stands for itself
	}
	if v.Err != nil {
		return b.text(o, mark+": "+v.String())
	}
	v.printed = false
	if v.Compound && v.Text == "" {
		v.Text = mark + ":"
	} else {
		v.Text = mark + ": " + v.Text
	}
	v.typ = o.typ
	return v
}

// memberPointer reads a pointer to a member (Itanium C++ ABI, 2.3): an offset, or
// for functions an address (or a place in the virtual table) and an adjustment.
func (b *builder) memberPointer(o *object, t *Type) *Value {
	raw, err := b.p.Bytes(o, 0, o.size)
	if err != nil {
		return fail(o.typ, err)
	}
	w := b.p.Arch.WordSize
	big := b.p.Arch.Big()
	if n := len(raw); t.ref.db != nil && n > 0 && n <= w {
		return b.text(o, b.msvcMemberPointer(t, decodeUint(raw, big), n))
	}
	if len(raw) < w {
		return fail(o.typ, &CorruptExpression{ErrLimit})
	}
	first := decodeUint(raw[:w], big)
	if len(raw) < 2*w {
		return b.text(o, b.dataMember(t, int64(first)))
	}
	adjust := int64(decodeUint(raw[w:2*w], big))
	if w == 4 {
		adjust = int64(int32(adjust))
	}
	if b.p.VirtualInAdjust {
		if adjust&1 == 1 {
			first++ // as others have it
		}
		adjust >>= 1
	}
	switch {
	case first == 0:
		return b.text(o, "NULL")
	case first&1 == 1:
		return b.text(o, fmt.Sprintf("&virtual table offset %d, this adjustment %d", first-1, adjust))
	case adjust != 0:
		return b.text(o, fmt.Sprintf("%s, this adjustment %d", b.p.addressText(first), adjust))
	}
	return b.text(o, b.p.addressText(first))
}

// msvcMemberPointer is a pointer to a member in Microsoft's object model, of a class
// with at most one base: an offset of 4 bytes, or the address of a function.
func (b *builder) msvcMemberPointer(t *Type, v uint64, size int) string {
	if t.target().strip().tag != dwarf.TagSubroutineType {
		return b.dataMember(t, int64(resize(v, size, true)))
	}
	if v == 0 {
		return "NULL"
	}
	return b.p.addressText(v)
}

func (b *builder) dataMember(t *Type, off int64) string {
	if off == -1 || b.p.Arch.WordSize == 4 && uint32(off) == 1<<32-1 {
		return "NULL"
	}
	if !t.class.Valid() {
		return fmt.Sprint(off)
	}
	class := b.p.Types.typeOf(t.class).strip()
	for _, f := range class.all().fields {
		if !f.base && !f.static && f.name != "" && int64(f.off) == off {
			return "&" + class.Name() + "::" + f.name
		}
	}
	return fmt.Sprintf("%s+%d", class.Name(), off)
}
