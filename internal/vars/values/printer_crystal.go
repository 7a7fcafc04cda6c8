package values

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// Values of Crystal, whose compiler says that its units are C++'s. Objects of classes are pointers, and begin with the number of
// their class, which is in no debugging information: that of nil is 0, and that of String 1.

const crystalNil, crystalStringID = 0, 1

// crystalLowest is below all objects: the kernel maps nothing there.
const crystalLowest = 1 << 16

// crystalPrinter returns the printer for a structure of Crystal; nil if there is none. Its names have parentheses, which C++ has in
// no name of a class but those in templates' arguments.
func crystalPrinter(name string) printer {
	switch {
	case name == "String":
		return crystalString
	case !strings.HasSuffix(name, ")"):
		return nil
	case strings.HasPrefix(name, "Array("):
		return crystalArray
	case strings.HasPrefix(name, "Deque("):
		return crystalDeque
	case strings.HasPrefix(name, "Slice("):
		return crystalSlice
	case strings.HasPrefix(name, "Hash("):
		return crystalHash
	case strings.HasPrefix(name, "Set("):
		return crystalSet
	case strings.HasPrefix(name, "("):
		return crystalUnion
	}
	return nil
}

// crystalPointer prints what a pointer to an object of Crystal's library leads to, which stands for that; nil for other pointers.
func (b *builder) crystalPointer(o *Object, t *types.Type, addr uint64, depth int) *Value {
	elem := t.Target().Strip()
	if addr == 0 || b.opts.Raw || elem.Tag != dwarf.TagStructureType || strings.HasPrefix(elem.BareName, "(") || strings.HasPrefix(elem.BareName, "S") && elem.BareName != "String" {
		return nil
	}
	p := crystalPrinter(elem.BareName)
	if p == nil {
		return nil
	}
	v := p(b, &Object{Type: elem, Mem: true, Addr: addr, Size: elem.ByteSize}, elem, depth)
	if v != nil {
		v.typ, v.printed = o.Type, true
	}
	return v
}

// crystalString prints the bytes behind the length. The number of its class must be that of strings.
func crystalString(b *builder, o *Object, t *types.Type, _ int) *Value {
	n, ok := b.num(o, "bytesize")
	first, ok1 := b.member(o, "c")
	if !ok || !ok1 || !o.Mem || n > maxLength {
		return nil
	}
	if id, err := b.p.Int(o.Addr, 4, false); err != nil || id != crystalStringID {
		return nil
	}
	if n == 0 {
		return b.placed(b.stringValue(o, first.Type, nil, false), first.Addr, 0)
	}
	return b.lengthText(o, first.Type, first.Addr, n)
}

func crystalArray(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, _, ok := b.elem(o, "buffer")
	addr, ok1 := b.num(o, "buffer")
	n, ok2 := b.num(o, "size")
	room, ok3 := b.num(o, "capacity")
	if !ok || !ok1 || !ok2 || !ok3 || n > room || room > maxLength {
		return nil
	}
	return b.run(b.roomy(b.text(o, ""), n, room), elem, addr, n, depth)
}

func crystalSlice(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, _, ok := b.elem(o, "pointer")
	addr, ok1 := b.num(o, "pointer")
	n, ok2 := b.num(o, "size")
	if !ok || !ok1 || !ok2 || n > maxLength {
		return nil
	}
	return b.run(b.counted(b.text(o, ""), n), elem, addr, n, depth)
}

func crystalDeque(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, _, ok := b.elem(o, "buffer")
	addr, ok1 := b.num(o, "buffer")
	start, ok2 := b.num(o, "start")
	n, ok3 := b.num(o, "size")
	room, ok4 := b.num(o, "capacity")
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 || n > room || room > maxLength {
		return nil
	}
	return b.ring(b.roomy(b.text(o, ""), n, room), elem, addr, start, n, room, depth)
}

// ring reads n elements of a ring with room for so many, from the one with number first on.
func (b *builder) ring(v *Value, elem *types.Type, addr, first, n, room uint64, depth int) *Value {
	size, err := b.sizeOf(elem)
	if err != nil || room == 0 && n > 0 {
		return nil
	}
	i := first
	return b.sequence(v, elem, n, depth, func() (uint64, bool) {
		at := addr + i%room*size
		i++
		return at, true
	})
}

// crystalHash prints a Hash: entries in the order in which they came, of which deleted ones have no hash.
func crystalHash(b *builder, o *Object, t *types.Type, depth int) *Value {
	return b.crystalEntries(b.text(o, ""), o, "Hash", true, depth)
}

// crystalSet prints a Set, which is the keys of a Hash.
func crystalSet(b *builder, o *Object, t *types.Type, depth int) *Value {
	at, ok := b.num(o, "hash")
	hash, ok1 := b.member(o, "hash")
	if !ok || !ok1 || !hash.Type.Strip().Pointer() {
		return nil
	}
	in, err := b.inMemory(hash.Type.Strip().Target(), at)
	if err != nil {
		return nil
	}
	return b.crystalEntries(b.text(o, ""), &in, "Set", false, depth)
}

func (b *builder) crystalEntries(v *Value, o *Object, kind string, keyed bool, depth int) *Value {
	entry, size, ok := b.elem(o, "entries")
	addr, ok1 := b.num(o, "entries")
	first, ok2 := b.num(o, "first")
	n, ok3 := b.num(o, "size")
	deleted, ok4 := b.num(o, "deleted_count")
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 || size == 0 || n+deleted > maxLength || first > n+deleted {
		return nil
	}
	head := b.elementsText(o, kind, n)
	v.Text, v.Compound = head.Text, true
	v = b.counted(v, n)
	for i := first; i < n+deleted && uint64(len(v.Parts)) < n; i++ {
		if b.scanned += int(size); len(v.Parts) >= b.opts.MaxElements || depth >= b.opts.MaxDepth || b.scanned > maxScan {
			v.More = true
			break
		}
		at, err := b.inMemory(entry, addr+i*size)
		code, ok := b.num(&at, "hash")
		if err != nil || !ok {
			v.More = true
			break
		}
		if code == 0 {
			continue
		}
		key, ok := b.member(&at, "key")
		val, ok1 := b.member(&at, "value")
		if !ok || keyed && !ok1 || !b.take() {
			v.More = true
			break
		}
		p := Part{Value: b.value(&key, depth+1)}
		if keyed {
			p.Key, p.Value = p.Value, b.value(&val, depth+1)
		}
		v.Parts = append(v.Parts, p)
	}
	return v
}

// crystalUnion prints the value that a union has, if that is sure: nil and strings have known numbers, an object of a class begins
// with the number that the union has, and else there must be only one value that is no object.
func crystalUnion(b *builder, o *Object, t *types.Type, depth int) *Value {
	id, ok := b.num(o, "type_id")
	in, ok1 := b.member(o, "union")
	if !ok || !ok1 {
		return nil
	}
	if id == crystalNil {
		return b.text(o, "nil")
	}
	var plain []Object
	fields := in.Type.Strip().Members().Fields
	for i := range fields {
		ob, err := b.field(&in, &fields[i])
		if err != nil {
			return nil
		}
		to := ob.Type.Strip()
		if !to.Pointer() || to.Target().Strip().Tag != dwarf.TagStructureType { // no object of a class
			plain = append(plain, ob)
			continue
		}
		addr, err := b.uint(&ob, false)
		if err != nil {
			return nil
		}
		own, err := b.p.Int(addr, 4, false)
		switch {
		case addr%8 != 0 || addr < crystalLowest: // no address of an object
		case err == nil && own == id:
			return b.value(&ob, depth)
		case err != nil && to.Target().Strip().BareName != "String": // perhaps an object that the dump does not have
			return nil
		}
	}
	if id == crystalStringID || len(plain) != 1 {
		return nil
	}
	return b.value(&plain[0], depth)
}
