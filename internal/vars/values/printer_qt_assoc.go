package values

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// Maps, sets and variants of Qt 5 and 6.

// qt6Map prints a map of Qt 6, which is a std::map behind a pointer.
func qt6Map(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, _, ok := b.elem(o, "d", "d")
	addr, ok1 := b.num(o, "d", "d")
	if !ok || !ok1 {
		return nil
	}
	if addr == 0 {
		return b.entries(o, t, 0, depth, nil)
	}
	at, err := b.inMemory(elem, addr)
	inner, ok := b.member(&at, "m")
	if err != nil || !ok {
		return nil
	}
	p := cxxPrinter(inner.Type.Strip())
	if p == nil {
		return nil
	}
	v := p(b, &inner, inner.Type.Strip(), depth)
	if v == nil || v.Err != nil {
		return v
	}
	_, rest, _ := strings.Cut(v.Text, " with ")
	v.Text, v.typ = title(t)+" with "+rest, o.Type
	return v
}

// qt5Map prints a map of Qt 5: a tree, whose header is a node with the root on its left.
func qt5Map(b *builder, o *Object, t *types.Type, depth int) *Value {
	data, ok := b.pointedTo(o, "d")
	size, ok1 := b.member(&data, "size")
	root, ok2 := b.num(&data, "header", "left")
	first, ok3 := b.num(&data, "mostLeftNode")
	head, ok4 := b.member(&data, "header")
	key, value := t.TypeArg(0), t.TypeArg(1)
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 || key == nil || value == nil {
		return nil
	}
	n, err := b.uint(&size, true)
	switch {
	case err != nil:
		return Failed(o.Type, err)
	case n > maxLength || n > 0 && root == 0:
		return badLength(o.Type, n)
	case n == 0:
		return b.entries(o, t, 0, depth, nil)
	}
	// A node has the address of its parent with its colour in the lowest bits, those of its
	// children, the key and the value.
	w := b.word()
	node := first
	return b.entries(o, t, n, depth, func(i uint64) (Object, Object, bool) {
		if i > 0 {
			ok := false
			if node, ok = b.qt5Next(node); !ok {
				return Object{}, Object{}, false
			}
		}
		if node == head.Addr || node == 0 {
			return Object{}, Object{}, false
		}
		k, err := b.inMemory(key, node+AlignUp(3*w, b.align(key)))
		if err != nil {
			return Object{}, Object{}, false
		}
		v, err := b.inMemory(value, AlignUp(k.Addr+k.Size, b.align(value)))
		return k, v, err == nil
	})
}

// qt5Next returns the next node of a tree in order.
func (b *builder) qt5Next(at uint64) (uint64, bool) {
	w := b.word()
	word := func(addr uint64) (uint64, bool) {
		v, err := b.p.Memory.ReadWord(addr)
		return v, err == nil
	}
	next, ok := word(at + 2*w)
	if !ok {
		return 0, false
	}
	if next != 0 {
		for range maxTreeDepth {
			left, ok := word(next + w)
			if !ok || left == 0 {
				return next, ok
			}
			next = left
		}
		return 0, false
	}
	for range maxTreeDepth {
		up, ok := word(at)
		if up &^= 3; !ok || up == 0 {
			return 0, false
		}
		left, ok := word(up + w)
		if !ok {
			return 0, false
		}
		if left == at {
			return up, true
		}
		at = up
	}
	return 0, false
}

// entries prints the n entries of a map. next returns the key and the value of number i; false
// means that the map is damaged.
func (b *builder) entries(o *Object, t *types.Type, n uint64, depth int, next func(i uint64) (Object, Object, bool)) *Value {
	if n > maxLength {
		return badLength(o.Type, n)
	}
	v := b.elementsText(o, title(t), n)
	v.Compound = true
	for i := range n {
		if i >= uint64(b.opts.MaxElements) || depth >= b.opts.MaxDepth || !b.take() {
			v.More = true
			break
		}
		key, value, ok := next(i)
		if !ok {
			v.Parts = append(v.Parts, Part{Value: badLength(nil, n)})
			break
		}
		p := Part{Key: b.value(&key, depth+1)}
		if value.Type == nil { // of a set
			p.Key, p.Value = nil, p.Key
		} else {
			p.Value = b.value(&value, depth+1)
		}
		v.Parts = append(v.Parts, p)
	}
	return v
}

// qtSet prints a set, which is a hash table without values.
func qtSet(b *builder, o *Object, t *types.Type, depth int) *Value {
	table, ok := b.member(o, "q_hash")
	if !ok {
		return nil
	}
	table.Type = table.Type.Strip()
	v := either(qt6Hash, qt5Hash)(b, &table, table.Type, depth)
	if v == nil || v.Err != nil {
		return v
	}
	_, rest, _ := strings.Cut(v.Text, " with ")
	v.Text, v.typ = title(t)+" with "+rest, o.Type
	for i := range v.Parts {
		if v.Parts[i].Key != nil {
			v.Parts[i].Key, v.Parts[i].Value = nil, v.Parts[i].Key
		}
	}
	return v
}

// qt5Hash prints a hash table of Qt 5: an array of buckets, each a chain of nodes that ends with
// the table itself.
func qt5Hash(b *builder, o *Object, t *types.Type, depth int) *Value {
	data, ok := b.pointedTo(o, "d")
	size, ok1 := b.member(&data, "size")
	count, ok2 := b.member(&data, "numBuckets")
	buckets, ok3 := b.num(&data, "buckets")
	node, _, ok4 := b.elem(o, "e")
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 {
		return nil
	}
	n, err := b.uint(&size, true)
	room, err1 := b.uint(&count, true)
	at, err2 := b.inMemory(node, 0)
	link, ok := b.member(&at, "next")
	key, ok1 := b.member(&at, "key")
	switch {
	case err != nil || err1 != nil || err2 != nil || !ok || !ok1 || link.Addr != 0:
		return nil
	case n > maxLength || room > maxLength:
		return badLength(o.Type, max(n, room))
	}
	value, valued := b.member(&at, "value")
	s := scan{b: b, at: buckets, left: room, size: b.word()}
	here := data.Addr
	return b.entries(o, t, n, depth, func(i uint64) (Object, Object, bool) {
		if here != data.Addr {
			if here, err = b.p.Memory.ReadWord(here); err != nil {
				return Object{}, Object{}, false
			}
		}
		for here == data.Addr {
			slot, ok := s.next()
			if !ok {
				return Object{}, Object{}, false
			}
			here = types.Uint(slot, b.p.Arch.Big())
		}
		k, v := key, Object{}
		k.Addr += here
		if valued {
			v = value
			v.Addr += here
		}
		return k, v, true
	})
}

// qt6Hash prints a hash table of Qt 6: spans of 128 buckets. A span has a byte for each bucket,
// the number of its entry or 255, and the address of its entries.
func qt6Hash(b *builder, o *Object, t *types.Type, depth int) *Value {
	kind, _, ok := b.elem(o, "d")
	addr, ok1 := b.num(o, "d")
	if !ok || !ok1 {
		return nil
	}
	data, err := b.inMemory(kind, addr)
	if err != nil {
		return nil
	}
	if _, ok := b.member(&data, "spans"); !ok {
		return nil
	}
	if addr == 0 {
		return b.entries(o, t, 0, depth, nil)
	}
	n, ok := b.num(&data, "size")
	room, ok1 := b.num(&data, "numBuckets")
	spans, ok2 := b.num(&data, "spans")
	span, size, ok3 := b.elem(&data, "spans")
	node := data.typeArg()
	const per, free = 128, 255
	if !ok || !ok1 || !ok2 || !ok3 || node == nil {
		return nil
	}
	one := Object{Type: span, Mem: true, Size: size}
	offsets, ok := b.member(&one, "offsets")
	entry, step, ok1 := b.elem(&one, "entries")
	entries, ok2 := b.member(&one, "entries")
	at, err := b.inMemory(node, 0)
	key, ok3 := b.member(&at, "key")
	value, valued := b.member(&at, "value")
	switch {
	case !ok || !ok1 || !ok2 || !ok3 || err != nil || offsets.Size != per || entry == nil || step < at.Size:
		return nil
	case offsets.Addr+per > size || entries.Addr+b.word() > size:
		return nil
	case valued && value.Type.Strip().Pointer() && title(t) == "QMultiHash":
		return nil // chains of values
	case n > room || room > maxLength:
		return badLength(o.Type, max(n, room))
	}
	s := scan{b: b, at: spans, left: (room + per - 1) / per, size: size}
	var here []byte // what is left of the bytes of the present span
	first, index := uint64(0), 0
	return b.entries(o, t, n, depth, func(i uint64) (Object, Object, bool) {
		for {
			if index == len(here) {
				slot, ok := s.next()
				if !ok {
					return Object{}, Object{}, false
				}
				here, index = slot[offsets.Addr:offsets.Addr+per], 0
				first = types.Uint(slot[entries.Addr:entries.Addr+b.word()], b.p.Arch.Big())
			}
			number := uint64(here[index])
			index++
			if number == free {
				continue
			}
			k, v := key, Object{}
			k.Addr += first + number*step
			if valued {
				v = value
				v.Addr += first + number*step
			}
			return k, v, true
		}
	})
}

// qtScalar returns the type with a number that Qt 5 and Qt 6 share; nil if it is not a simple
// one.
func qtScalar(id uint64) *types.Type {
	base := func(name string, enc types.Encoding, size uint64) *types.Type {
		return &types.Type{Tag: dwarf.TagBaseType, BareName: name, Encoding: enc, ByteSize: size, Language: dwarf.LangCPlusPlus}
	}
	switch id {
	case 1:
		return base("bool", types.EncBoolean, 1)
	case 2:
		return base("int", types.EncSigned, 4)
	case 3:
		return base("uint", types.EncUnsigned, 4)
	case 4:
		return base("qlonglong", types.EncSigned, 8)
	case 5:
		return base("qulonglong", types.EncUnsigned, 8)
	case 6:
		return base("double", types.EncFloat, 8)
	}
	return nil
}

// qtStringID is the number of QString.
const qtStringID = 10

// qt5Variant prints a variant with a number or a string. Its type has a number.
func qt5Variant(b *builder, o *Object, t *types.Type, depth int) *Value {
	id, ok := b.num(o, "d", "type")
	data, ok1 := b.path(o, "d", "data")
	ptr, ok2 := b.num(o, "d", "data", "ptr")
	if !ok || !ok1 || !ok2 {
		return nil
	}
	if id == qtStringID { // a QArrayData: the number of characters, and their offset
		n, err := b.p.Int(ptr+4, 4, true)
		off, err1 := b.p.Memory.ReadWord(ptr + AlignUp(12, b.word()))
		if err != nil || err1 != nil {
			return nil
		}
		return b.qtVariantText(o, ptr+off, n)
	}
	return b.qtVariantNumber(o, id, &data, depth)
}

// qt6Variant prints a variant with a number or a string. Its type is described by an object, of
// which the variant has the address without the two lowest bits, which are 0.
func qt6Variant(b *builder, o *Object, t *types.Type, depth int) *Value {
	packed, ok := b.num(o, "d", "packedType")
	shared, ok1 := b.num(o, "d", "is_shared")
	data, ok2 := b.path(o, "d", "data")
	if !ok || !ok1 || !ok2 || shared != 0 {
		return nil
	}
	id, size := uint64(0), uint64(0)
	if packed != 0 { // two numbers of 2 bytes, the size, flags, the number
		var err, err1 error
		size, err = b.p.Int(packed<<2+4, 4, false)
		id, err1 = b.p.Int(packed<<2+12, 4, false)
		if err != nil || err1 != nil || id == 0 { // 0 is that of types whose number nobody needed
			return nil
		}
	}
	w := b.word()
	if known := qtScalar(id); known != nil && known.ByteSize != size || id == qtStringID && size != 3*w {
		return nil
	}
	if id == qtStringID && data.Mem && data.Size >= 3*w {
		at, err := b.p.Memory.ReadWord(data.Addr + w)
		n, err1 := b.p.Memory.ReadWord(data.Addr + 2*w)
		if err != nil || err1 != nil {
			return nil
		}
		return b.qtVariantText(o, at, n)
	}
	return b.qtVariantNumber(o, id, &data, depth)
}

// qtVariantNumber returns the value of a variant of a type without parts.
func (b *builder) qtVariantNumber(o *Object, id uint64, data *Object, depth int) *Value {
	if id == 0 {
		return b.text(o, "QVariant (invalid)")
	}
	t := qtScalar(id)
	if t == nil || t.ByteSize > data.Size {
		return nil
	}
	part := data.part(t, 0, t.ByteSize)
	return b.holding(o, "QVariant<"+t.BareName+">", &part, depth)
}

// qtVariantText returns the value of a variant with a string of n characters.
func (b *builder) qtVariantText(o *Object, at, n uint64) *Value {
	if n > maxLength {
		return badLength(o.Type, n)
	}
	raw := make([]byte, 2*min(n, uint64(b.opts.MaxString)))
	if err := b.p.Read(at, raw); n > 0 && err != nil {
		return Failed(o.Type, err)
	}
	v := b.text(o, "QVariant<QString>")
	v.Compound = true
	v.Parts = []Part{{Name: "[contained value]", Value: b.utf16(o, raw, n)}}
	return v
}
