package python

import (
	"strings"
)

// A pair is an entry of a dict.
type pair struct{ key, value uint64 }

// pairs reads the entries of a dict in their order, up to a limit; false if they cannot be read.
func (r *runtime) pairs(at uint64, limit int) (list []pair, all, ok bool) {
	used := r.field(at, "dict.used")
	if used == 0 {
		return nil, true, true
	}
	return r.keyed(r.field(at, "dict.keys"), r.field(at, "dict.values"), limit)
}

// keyed reads what a table of keys has, with the values in the table or, if they are split, in another place.
func (r *runtime) keyed(keys, values uint64, limit int) (list []pair, all, ok bool) {
	head := r.bytes(keys, 40)
	if head == nil {
		return nil, false, false
	}
	o := r.p.State.Arch().ByteOrder
	var entries, n uint64
	size, keyAt := uint64(24), uint64(8)
	if r.minor >= 11 {
		logIndex, kind := head[9], head[10]
		if logIndex > 40 || kind > 2 {
			return nil, false, false
		}
		n = o.Uint64(head[24:])
		entries = keys + 32 + 1<<logIndex
		if kind != 0 {
			size, keyAt = 16, 0
		}
	} else {
		slots := o.Uint64(head[8:])
		n = o.Uint64(head[32:])
		width := uint64(1)
		switch {
		case slots > 0xffffffff:
			return nil, false, false
		case slots > 0xffff:
			width = 4
		case slots > 0xff:
			width = 2
		}
		entries = keys + 40 + slots*width
		if slots > 1<<31 {
			return nil, false, false
		}
	}
	if n > 1<<32 {
		return nil, false, false
	}
	b := r.bytes(entries, min(n, uint64(limit)*4)*size)
	if b == nil && n > 0 {
		return nil, false, false
	}
	var split []uint64
	if values != 0 {
		if r.minor >= 13 {
			values += 8 // sizes
		}
		split = r.words(values, min(n, uint64(limit)*4))
	}
	for i := 0; uint64(len(b)) >= size*uint64(i+1); i++ {
		e := b[uint64(i)*size:]
		p := pair{o.Uint64(e[keyAt:]), o.Uint64(e[keyAt+8:])}
		if split != nil {
			p.value = split[i]
		}
		if p.value == 0 || p.key == 0 {
			continue
		}
		if len(list) == limit {
			return list, false, true
		}
		list = append(list, p)
	}
	return list, n*size <= uint64(len(b)), true
}

func (w *printer) dict(at uint64, depth int) {
	list, all, ok := w.r.pairs(at, w.most.Elements)
	w.WriteString("{")
	if !ok {
		w.WriteString("?")
	}
	for i, p := range list {
		if i > 0 {
			w.WriteString(", ")
		}
		w.value(p.key, depth+1)
		w.WriteString(": ")
		w.value(p.value, depth+1)
		if w.parts > w.all {
			break
		}
	}
	if ok && !all {
		w.WriteString(", ...")
	}
	w.WriteString("}")
}

func isSet(t *typ) bool { return t.name == "set" || t.name == "frozenset" }

// items reads the first elements of a tuple, a list or a set, or the arguments of an exception; n is how many there are.
func (r *runtime) items(at uint64, t *typ, limit int) (items []uint64, n uint64) {
	most := uint64(limit)
	switch {
	case t.flags&flagTuple != 0:
		n = r.field(at, "var.size")
		return r.words(at+r.at("tuple.items"), min(n, most)), n
	case t.flags&flagList != 0:
		n = r.field(at, "var.size")
		return r.words(r.field(at, "list.items"), min(n, most)), n
	case t.flags&flagException != 0:
		args := r.field(at, "exception.args")
		return r.tuple(args, most), r.field(args, "var.size")
	}
	if isDeque(t) {
		return r.dequeItems(at, most)
	}
	const mostSlots = 1 << 12
	table, mask := r.field(at, "set.table"), r.field(at, "set.mask")
	for i, v := range r.words(table, min(mask, mostSlots-1)*2+2) {
		// Entries are a key and its hash, -1 for one that was removed.
		if i%2 == 0 && v != 0 && len(items) < limit && r.typeAt(r.field(v, "object.type")) != nil {
			if hash := r.word(table + uint64(i)*8 + 8); hash != ^uint64(0) {
				items = append(items, v)
			}
		}
	}
	return items, r.field(at, "set.used")
}

// set writes the elements in the order of the table, as Python does.
func (w *printer) set(at uint64, t *typ, depth int) {
	begin, end := "{", "}"
	if t.name == "frozenset" {
		begin, end = "frozenset({", "})"
	}
	items, n := w.r.items(at, t, w.most.Elements)
	if n == 0 {
		w.WriteString(t.name + "()")
		return
	}
	w.list(begin, end, items, n, depth)
}

// A field is an attribute of an instance.
type field struct {
	name  string
	value uint64
}

// fields reads the attributes of an instance: those of __slots__, then those of __dict__. It reports whether that is all.
func (r *runtime) fields(at uint64, t *typ, limit int) (list []field, all bool) {
	for _, s := range r.slotsOf(t) {
		if v := r.word(at + s.offset); v != 0 && len(list) < limit {
			list = append(list, field{s.name, v})
		}
	}
	own, all, ok := r.attributes(at, t, limit)
	for _, p := range own {
		if name, whole := r.str(p.key, maxName); whole && len(list) < limit {
			list = append(list, field{name, p.value})
		}
	}
	return list, all || !ok
}

// instance writes an object of a class with its attributes, a member of an enumeration as that writes it.
func (w *printer) instance(at uint64, t *typ, depth int) {
	w.WriteString("<" + short(t.name))
	list, all := w.r.fields(at, t, w.most.Elements)
	if name, value, ok := enumMember(list); ok {
		if s, ok := w.r.str(name, maxText); ok {
			w.WriteString("." + s + ": ")
			w.value(value, depth+1)
			w.WriteString(">")
			return
		}
	}
	for i, f := range list {
		if w.parts > w.all {
			break
		}
		if i > 0 {
			w.WriteString(",")
		}
		w.WriteString(" " + f.name + "=")
		w.value(f.value, depth+1)
	}
	if !all {
		w.WriteString(", ...")
	}
	if len(list) == 0 {
		w.WriteString(" at " + address(at))
	}
	w.WriteString(">")
}

// Flags of types: where instances keep their attributes.
const (
	flagInlineValues = 1 << 2
	flagManagedDict  = 1 << 4
)

// attributes reads the __dict__ of an instance.
func (r *runtime) attributes(at uint64, t *typ, limit int) (list []pair, all, ok bool) {
	switch {
	case r.minor >= 11 && t.flags&flagManagedDict != 0:
		keys := r.word(t.at + r.at("heaptype.cached_keys"))
		switch {
		case r.minor == 11: // the word at -4 has the values, the one at -3 the dict
			if values := r.word(at - 32); values != 0 {
				return r.keyed(keys, values, limit)
			}
			return r.pairs(r.word(at-24), limit)
		case r.minor == 12: // one word: the dict, or one less than the address of the values
			v := r.word(at - 24)
			if v&1 != 0 {
				return r.keyed(keys, v+1, limit)
			}
			return r.pairs(v, limit)
		}
		before := uint64(24)
		if r.free {
			before = 8
		}
		if d := r.word(at - before); d != 0 {
			return r.pairs(d, limit)
		}
		if t.flags&flagInlineValues != 0 {
			// They follow the object's own fields.
			return r.keyed(keys, at+uint64(t.basic), limit)
		}
		return nil, true, true
	case t.dictOffset > 0 && t.dictOffset < 1<<20:
		if d := r.word(at + uint64(t.dictOffset)); d != 0 {
			return r.pairs(d, limit)
		}
	}
	return nil, true, true
}

// slotsOf returns the members that __slots__ made, of a class and of those that it is derived from.
func (r *runtime) slotsOf(t *typ) []slot {
	if t.slotsRead {
		return t.slots
	}
	t.slotsRead = true
	of := t
	for range 8 {
		if of == nil || of.flags&flagHeap == 0 {
			break
		}
		members := r.word(of.at + r.at("type.members"))
		for i := uint64(0); members != 0 && i < maxElements; i++ {
			const size, objectEx = 40, 16
			b := r.bytes(members+i*size, size)
			if b == nil {
				break
			}
			o := r.p.State.Arch().ByteOrder
			name := r.cstring(o.Uint64(b), 256)
			if name == "" {
				break
			}
			if kind := o.Uint32(b[8:]); kind == objectEx && !strings.HasPrefix(name, "__") {
				if off := o.Uint64(b[16:]); off < 1<<20 {
					t.slots = append(t.slots, slot{name, off})
				}
			}
		}
		of = r.typeAt(r.word(of.at + r.at("type.base")))
	}
	return t.slots
}
