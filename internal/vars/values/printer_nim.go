package values

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// Values of Nim, whose compiler writes C: the names of its types, which end in a hash, tell what they are. A string and a sequence
// are a length and a pointer to the capacity and the elements (arc, orc), or a pointer to the length and the elements (refc).

// nimPrinter returns the printer for a structure that Nim's compiler named; nil if there is none.
func nimPrinter(name string) printer {
	if name == "NimStringV2" || strings.HasPrefix(name, "tySequence__") {
		return nimSequence
	}
	kind, _, ok := strings.Cut(strings.TrimPrefix(name, "tyObject_"), "__")
	if !ok || !strings.HasPrefix(name, "tyObject_") {
		return nil
	}
	switch kind {
	case "Table", "OrderedTable":
		return nimEntries(kind, "Field0", true)
	case "HashSet", "OrderedSet":
		return nimEntries(kind, "Field0", false)
	case "Option":
		return nimOption
	case "Deque":
		return nimDeque
	}
	return nil
}

// nimData returns the elements of a string or a sequence: how many, where, and of which type.
func (b *builder) nimData(o *Object) (elem *types.Type, addr, n uint64, ok bool) {
	n, ok = b.num(o, "len")
	content, ok1 := b.path(o, "p")
	if !ok || !ok1 {
		if n, ok = b.num(o, "Sup", "len"); !ok || !o.Mem {
			return nil, 0, 0, false
		}
		return b.nimArray(o.Type, o.Addr, n)
	}
	if addr, ok = b.num(o, "p"); !ok {
		return nil, 0, 0, false
	}
	to := content.Type.Strip()
	if !to.Pointer() {
		return nil, 0, 0, false
	}
	return b.nimArray(to.Target(), addr, n)
}

// nimArray is nimData for the array called data in a structure at an address.
func (b *builder) nimArray(t *types.Type, addr, n uint64) (*types.Type, uint64, uint64, bool) {
	t = t.Defined()
	for i := range t.Members().Fields {
		if f := &t.Members().Fields[i]; f.Name == "data" {
			if array := t.MemberType(f).Strip(); array.Tag == dwarf.TagArrayType {
				return array.Target(), addr + f.Off, n, true
			}
		}
	}
	return nil, 0, 0, false
}

// nimMember is nimData for the sequence called data in a structure, which refc has behind a pointer.
func (b *builder) nimMember(o *Object) (elem *types.Type, addr, n uint64, ok bool) {
	data, ok := b.member(o, "data")
	if !ok {
		return nil, 0, 0, false
	}
	if t := data.Type.Strip(); t.Pointer() {
		at, ok := b.num(o, "data")
		to := t.Target().Strip().Defined()
		if !ok || !to.Aggregate() {
			return nil, 0, 0, false
		}
		if at == 0 { // is empty
			elem, _, _, ok := b.nimArray(to, 0, 0)
			return elem, 0, 0, ok
		}
		data = Object{Type: to, Mem: true, Addr: at, Size: to.ByteSize}
	}
	return b.nimData(&data)
}

// nimNumber reports whether a type is a number of Nim that C's compiler takes for a character: of bytes, enumerations and sets.
func nimNumber(t *types.Type) bool {
	for range types.MaxChain {
		switch name := t.BareName; {
		case name == "NU8" || name == "NI8" || strings.HasPrefix(name, "tyEnum_") || strings.HasPrefix(name, "tySet_"):
			return types.IsC(t.Language)
		case !t.Transparent():
			return false
		}
		t = t.Target()
	}
	return false
}

func nimSequence(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, addr, n, ok := b.nimData(o)
	if !ok {
		return nil
	}
	if n > maxLength {
		return badLength(o.Type, n)
	}
	if _, char := elem.Char(); char && strings.HasPrefix(t.BareName, "NimStr") {
		if n == 0 {
			return b.placed(b.stringValue(o, elem, nil, false), addr, 0)
		}
		return b.lengthText(o, elem, addr, n)
	}
	return b.run(b.counted(b.text(o, ""), n), elem, addr, n, depth)
}

// nimPointer prints what a pointer leads to that stands for a string or a sequence (refc); nil for other pointers.
func (b *builder) nimPointer(o *Object, t *types.Type, addr uint64, depth int) *Value {
	elem := t.Target().Strip()
	if elem.Tag != dwarf.TagStructureType || b.opts.Raw {
		return nil
	}
	text := elem.BareName == "NimStringDesc"
	if !text && !strings.HasPrefix(elem.BareName, "tySequence__") {
		return nil
	}
	elem = elem.Defined()
	if len(elem.Members().Fields) == 0 || elem.Members().Fields[0].Name != "Sup" {
		return nil
	}
	var v *Value
	if addr == 0 { // is empty
		if v = b.counted(b.text(o, `""`), 0); !text {
			v.Text, v.Compound = "", true
		}
	} else if v = nimSequence(b, &Object{Type: elem, Mem: true, Addr: addr, Size: elem.ByteSize}, elem, depth); v == nil {
		return nil
	}
	v.typ, v.printed = o.Type, true
	return v
}

// nimEntries returns the printer for a table or a set: a sequence of entries, of which those in use have a hash.
func nimEntries(kind, hash string, keyed bool) printer {
	return func(b *builder, o *Object, t *types.Type, depth int) *Value {
		entry, addr, room, ok := b.nimMember(o)
		used, ok1 := b.num(o, "counter")
		if !ok || !ok1 {
			return nil
		}
		size, err := b.sizeOf(entry)
		if err != nil || size == 0 || used > room || room > maxLength {
			return nil
		}
		first := 1 // of the fields: behind the hash, and in an ordered one behind the next
		if strings.HasPrefix(kind, "Ordered") {
			first = 2
		}
		fields := entry.Defined().Members().Fields
		if len(fields) <= first || keyed && len(fields) <= first+1 {
			return nil
		}
		v := b.elementsText(o, kind, used)
		v.Compound = true
		for i := uint64(0); i < room && uint64(len(v.Parts)) < used; i++ {
			if b.scanned += int(size); len(v.Parts) >= b.opts.MaxElements || depth >= b.opts.MaxDepth || b.scanned > maxScan {
				v.More = true
				break
			}
			at, err := b.inMemory(entry, addr+i*size)
			code, ok := b.num(&at, hash)
			if err != nil || !ok {
				v.More = true
				break
			}
			if code == 0 {
				continue
			}
			if !b.take() {
				v.More = true
				break
			}
			part := func(i int) *Value {
				ob, err := b.field(&at, &fields[i])
				if err != nil {
					return Failed(b.p.Types.OfField(&fields[i]), err)
				}
				return b.value(&ob, depth+1)
			}
			p := Part{Value: part(first)}
			if keyed {
				p.Key, p.Value = p.Value, part(first+1)
			}
			v.Parts = append(v.Parts, p)
		}
		return v
	}
}

// nimOption prints an Option: none, or the value that there is. One of a pointer has no flag: nil is none.
func nimOption(b *builder, o *Object, t *types.Type, depth int) *Value {
	held, ok := b.member(o, "val")
	has, ok1 := b.num(o, "has")
	switch {
	case !ok || !ok1 || has > 1:
		return nil
	case has == 0:
		return b.text(o, "none")
	}
	v := b.text(o, "some")
	v.Compound = true
	if depth >= b.opts.MaxDepth || !b.take() {
		v.More = true
		return v
	}
	v.Parts = []Part{{Value: b.value(&held, depth+1)}}
	return v
}

// nimDeque prints a Deque: a sequence whose length is a power of two, used as a ring.
func nimDeque(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, addr, room, ok := b.nimMember(o)
	head, ok1 := b.num(o, "head")
	n, ok2 := b.num(o, "count")
	mask, ok3 := b.num(o, "mask")
	if !ok || !ok1 || !ok2 || !ok3 || mask+1 != room || n > room || room > maxLength {
		return nil
	}
	return b.ring(b.counted(b.text(o, ""), n), elem, addr, head, n, room, depth)
}
