package dwarfvars

import (
	"fmt"
	"math"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind/arch"
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
		v.Text = b.r.stringAddress(addr) + " " + stringText(elem, raw, b.r.arch.Big(), cut)
		v.More = cut
		return v
	}
	if t.lang == dwarf.LangRust && addr != 0 && rustReference(t.name) {
		return b.reference(o, t, depth)
	}
	v.Text = b.r.addressText(addr)
	return v
}

// addressText is an address with the symbol it is in, if any: "0x401136 <main>".
func (r *Reader) addressText(addr arch.Address) string {
	if s := r.symbolText(addr); s != "" {
		return fmt.Sprintf("%#x <%s>", addr, s)
	}
	return fmt.Sprintf("%#x", addr)
}

// stringAddress is addressText before the string that is there. The name that
// Microsoft's compilers give to a literal says its text, and that once is enough.
func (r *Reader) stringAddress(addr arch.Address) string {
	if s, ok := r.symbolAt(addr); ok && s.literal() {
		return fmt.Sprintf("%#x", addr)
	}
	return r.addressText(addr)
}

// A placedSymbol is the symbol around an address, by its linkage name, and how far in
// it the address is.
type placedSymbol struct {
	linkage string
	off     uint64
	record  bool // of a PDB
}

func (s placedSymbol) literal() bool { return strings.HasPrefix(s.linkage, "??_C@") }

// unnamed reports whether the name is of a constant that the compiler pooled: its
// digits repeat the value.
func (s placedSymbol) unnamed() bool {
	for _, prefix := range [...]string{"__real@", "__xmm@", "__ymm@", "__zmm@"} {
		if strings.HasPrefix(s.linkage, prefix) {
			return true
		}
	}
	return false
}

// symbolText names an address of a library: "main", "table+8"; "" when there is
// no symbol around it.
func (r *Reader) symbolText(addr arch.Address) string {
	s, ok := r.symbolAt(addr)
	if !ok || s.unnamed() {
		return ""
	}
	name := demangle.Name(s.linkage)
	if s.record {
		name = demangle.Func(s.linkage)
	}
	if s.off != 0 {
		return fmt.Sprintf("%s+%d", name, s.off)
	}
	return name
}

func (r *Reader) symbolAt(addr arch.Address) (placedSymbol, bool) {
	libs := r.proc.LibraryTracker()
	if libs == nil || addr == 0 {
		return placedSymbol{}, false
	}
	lib, ok := libs.LibraryAt(addr)
	if !ok {
		return placedSymbol{}, false
	}
	im := r.file(lib)
	at := addr - im.Bias(lib.LoadBias)
	if s, ok := im.SymbolAt(at); ok {
		return placedSymbol{linkage: s.Name(), off: at - s.Value}, true
	}
	return recordSymbol(im, addr-lib.Start)
}

// recordSymbol finds an address of a module in its PDB. Of what only the linker knows
// the end is not known: then it is the name of that very address.
func recordSymbol(im *image.Image, rva uint64) (placedSymbol, bool) {
	file := im.PDB()
	if file == nil || rva > math.MaxUint32 {
		return placedSymbol{}, false
	}
	s, ok, _ := file.Lookup(uint32(rva))
	off := uint32(rva) - s.Start
	if !ok || s.Public && off != 0 {
		return placedSymbol{}, false
	}
	return placedSymbol{linkage: s.Name, off: uint64(off), record: true}, true
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
	v := &LocalVar{fn: b.Function, die: p.die, attrs: gather(p.die)}
	loc, err := b.locate(v)
	if err != nil {
		return "", false
	}
	raw := loc.Bytes
	if loc.Kind != op.ImplicitValue || uint64(p.offset) > uint64(len(raw)) {
		return "", false
	}
	raw = raw[p.offset:]
	for i := 0; i+int(size) <= len(raw); i += int(size) {
		if decodeUint(raw[i:i+int(size)], false) == 0 {
			return stringText(elem, raw[:i], b.r.arch.Big(), false), true
		}
	}
	return "", false
}

func (b *builder) implicitTarget(t *Type, p *implicit) (*object, error) {
	v := &LocalVar{fn: b.Function, die: p.die, attrs: gather(p.die)}
	elem := t.target()
	whole := v.attrs.typ
	if !whole.Valid() {
		whole = t.elem // a DWARF procedure has no type
	}
	loc, err := b.locate(v)
	if err != nil {
		return nil, err
	}
	ob, err := b.at(loc, b.r.typeOf(whole))
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
	raw, err := b.bytes(o, 0, o.size)
	if err != nil {
		return fail(o.typ, err)
	}
	w := b.r.arch.WordSize
	big := b.r.arch.Big()
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
	if b.r.machine.virtualInAdjust {
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
		return b.text(o, fmt.Sprintf("%s, this adjustment %d", b.r.addressText(first), adjust))
	}
	return b.text(o, b.r.addressText(first))
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
	return b.r.addressText(v)
}

func (b *builder) dataMember(t *Type, off int64) string {
	if off == -1 || b.r.arch.WordSize == 4 && uint32(off) == 1<<32-1 {
		return "NULL"
	}
	if !t.class.Valid() {
		return fmt.Sprint(off)
	}
	class := b.r.typeOf(t.class).strip()
	for _, f := range class.all().fields {
		if !f.base && !f.static && f.name != "" && int64(f.off) == off {
			return "&" + class.Name() + "::" + f.name
		}
	}
	return fmt.Sprintf("%s+%d", class.Name(), off)
}
