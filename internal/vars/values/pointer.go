package values

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

func (b *builder) pointer(o *Object, t *types.Type, depth int) *Value {
	if p := o.implicit(); p != nil {
		return b.implicit(o, t, p, depth)
	}
	addr, err := b.uint(o, false)
	if err != nil {
		return Failed(o.Type, err)
	}
	if t.Language == dwarf.LangGo {
		if v := b.goPointerValue(o, t, depth); v != nil {
			return v
		}
		if depth == 0 {
			if v := b.goFollowed(o, t, addr, depth); v != nil {
				return v
			}
		}
	}
	v := b.text(o, "")
	elem := t.Target()
	if size, ok := elem.Char(); ok && addr != 0 && t.Language != dwarf.LangGo && t.Language != dwarf.LangRust {
		raw, cut, err := b.cString(addr, size)
		if err != nil {
			v.Text = fmt.Sprintf("%#x <%v>", addr, err)
			return v
		}
		v.Text = b.p.stringAddress(addr) + " " + stringText(elem, raw, b.p.Arch.Big(), cut)
		v.More = cut
		b.spelled(v, elem, raw, cut)
		return v
	}
	if t.Language == dwarf.LangRust && addr != 0 && rustReference(t.BareName) {
		return b.reference(o, t, depth)
	}
	if v := b.glibPointer(o, t, addr, depth); v != nil {
		return v
	}
	switch {
	case types.IsCXX(t.Language):
		if v := b.crystalPointer(o, t, addr, depth); v != nil {
			return v
		}
	case types.IsC(t.Language):
		if v := b.nimPointer(o, t, addr, depth); v != nil {
			return v
		}
	}
	v.Text = b.p.addressText(addr)
	return v
}

// implicit returns what the pointer o points to, if that has no address.
func (o *Object) implicit() *Implicit {
	if o.Mem || len(o.Holes) != 1 || o.Holes[0].From != 0 || o.Holes[0].To < 8*o.Size {
		return nil
	}
	return o.Holes[0].Implicit
}

// implicit reads the object without an address that a pointer points to.
func (b *builder) implicit(o *Object, t *types.Type, p *Implicit, depth int) *Value {
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
	v.typ, v.Addr = o.Type, 0
	return v
}

// implicitText returns the string without an address that a pointer points to.
func (b *builder) implicitText(t *types.Type, p *Implicit) (string, bool) {
	elem := t.Target()
	size, ok := elem.Char()
	if !ok || p.Offset < 0 {
		return "", false
	}
	raw, ok := b.f.ConstantBytes(p.DIE)
	if !ok || uint64(p.Offset) > uint64(len(raw)) {
		return "", false
	}
	raw = raw[p.Offset:]
	for i := 0; i+int(size) <= len(raw); i += int(size) {
		if types.Uint(raw[i:i+int(size)], false) == 0 {
			return stringText(elem, raw[:i], b.p.Arch.Big(), false), true
		}
	}
	return "", false
}

func (b *builder) implicitTarget(t *types.Type, p *Implicit) (*Object, error) {
	elem := t.Target()
	ob, err := b.f.Variable(p.DIE, t.Elem) // a DWARF procedure has no type
	if err != nil {
		return nil, err
	}
	size, err := b.sizeOf(elem)
	if err != nil {
		return nil, err
	}
	if p.Offset < 0 || uint64(p.Offset) > ob.Size || size > ob.Size-uint64(p.Offset) {
		return nil, unknown.ErrOptimisedOut
	}
	part := ob.part(elem, uint64(p.Offset), size)
	return &part, nil
}

// reference reads a reference and what it refers to: "@0x7ffc10: 5".
func (b *builder) reference(o *Object, t *types.Type, depth int) *Value {
	if p := o.implicit(); p != nil {
		return b.implicit(o, t, p, depth)
	}
	addr, err := b.uint(o, false)
	if err != nil {
		return Failed(o.Type, err)
	}
	to, err := b.inMemory(t.Target(), addr)
	if err != nil {
		v := b.text(o, fmt.Sprintf("@%#x", addr))
		return v
	}
	v := b.value(&to, depth+1)
	mark := fmt.Sprintf("@%#x", addr)
	if v.printed && t.Language != dwarf.LangRust {
		v.typ = o.Type
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
	v.typ = o.Type
	return v
}

// memberPointer reads a pointer to a member (Itanium C++ ABI, 2.3): an offset, or for functions
// an address or an offset in the virtual table, and an adjustment.
func (b *builder) memberPointer(o *Object, t *types.Type) *Value {
	raw, err := b.p.Bytes(o, 0, o.Size)
	if err != nil {
		return Failed(o.Type, err)
	}
	w := b.p.Arch.WordSize
	big := b.p.Arch.Big()
	if n := len(raw); t.Ref.DB != nil && n > 0 && n <= w {
		return b.text(o, b.msvcMemberPointer(t, types.Uint(raw, big), n))
	}
	if len(raw) < w {
		return Failed(o.Type, &unknown.Corrupt{Err: unknown.ErrLimit})
	}
	first := types.Uint(raw[:w], big)
	if len(raw) < 2*w {
		return b.text(o, b.dataMember(t, int64(first)))
	}
	adjust := int64(types.Uint(raw[w:2*w], big))
	if w == 4 {
		adjust = int64(int32(adjust))
	}
	if b.p.VirtualInAdjust {
		if adjust&1 == 1 {
			first++ // as on other architectures
		}
		adjust >>= 1
	}
	switch {
	case first == 0:
		return b.text(o, "NULL")
	case first&1 == 1 && adjust == 0 && b.virtualMember(t, (first-1)/uint64(w)) != "":
		return b.text(o, "&virtual "+b.virtualMember(t, (first-1)/uint64(w)))
	case first&1 == 1:
		return b.text(o, fmt.Sprintf("&virtual table offset %d, this adjustment %d", first-1, adjust))
	case adjust != 0:
		return b.text(o, fmt.Sprintf("%s, this adjustment %d", b.p.addressText(first), adjust))
	}
	return b.text(o, b.p.addressText(first))
}

// msvcMemberPointer returns the text of a pointer to a member in Microsoft's object model, of a
// class with at most one base class: an offset of 4 bytes, or the address of a function.
func (b *builder) msvcMemberPointer(t *types.Type, v uint64, size int) string {
	if t.Target().Strip().Tag != dwarf.TagSubroutineType {
		return b.dataMember(t, int64(types.Resize(v, size, true)))
	}
	if v == 0 {
		return "NULL"
	}
	return b.p.addressText(v)
}

func (b *builder) dataMember(t *types.Type, off int64) string {
	if off == -1 || b.p.Arch.WordSize == 4 && uint32(off) == 1<<32-1 {
		return "NULL"
	}
	if !t.Class.Valid() {
		return fmt.Sprint(off)
	}
	class := b.p.Types.Of(t.Class).Strip()
	for _, f := range class.Members().Fields {
		if !f.Base && !f.Static && f.Name != "" && int64(f.Off) == off {
			return "&" + class.Name() + "::" + f.Name
		}
	}
	return fmt.Sprintf("%s+%d", class.Name(), off)
}

// virtualMember returns the name of the virtual function with a number in the table of the class of a pointer to a member, as in
// Device::id(int); "" if it is not known. The class that declares it may be a base class.
func (b *builder) virtualMember(t *types.Type, slot uint64) string {
	if !t.Class.Valid() {
		return ""
	}
	left := maxVirtualClasses
	return b.virtualIn(b.p.Types.Of(t.Class).Defined(), slot, &left)
}

// maxVirtualClasses is how many classes are looked at for a virtual function.
const maxVirtualClasses = 32

func (b *builder) virtualIn(class *types.Type, slot uint64, left *int) string {
	if *left--; *left < 0 || !class.Aggregate() {
		return ""
	}
	if name := class.VirtualFunction(slot); name != "" {
		return class.Name() + "::" + name
	}
	for i := range class.Members().Fields { // the first base class with virtual functions has the table
		f := &class.Members().Fields[i]
		if f.Base && !f.Virtual && f.Off == 0 && !f.Expr.Present() {
			return b.virtualIn(b.p.Types.OfField(f).Defined(), slot, left)
		}
	}
	return ""
}
