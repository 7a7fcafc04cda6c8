package values

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Containers of GLib, which programs have as pointers to structs. What an element points to is
// not known: it is shown as an address, with the text there if there is nothing but text.

// glibPointer returns a pointer to a container of GLib with what is in that; nil if it is none,
// or if its memory cannot be read.
func (b *builder) glibPointer(o *Object, t *types.Type, addr uint64, depth int) *Value {
	elem := t.Target().Strip()
	if addr == 0 || b.opts.Raw || !types.IsC(t.Language) && !types.IsCXX(t.Language) || elem.Tag != dwarf.TagStructureType {
		return nil
	}
	var show func(b *builder, at, v *Object, depth int) *Value
	switch elem.BareName {
	case "_GList":
		show = glibList([]string{"data", "next", "prev"})
	case "_GSList":
		show = glibList([]string{"data", "next"})
	case "_GString":
		show = glibString
	case "_GPtrArray":
		show = glibPtrArray
	case "_GByteArray":
		show = glibByteArray
	case "_GArray":
		show = glibArray
	case "_GError":
		show = glibError
	case "_GHashTable":
		show = glibHash
	default:
		return nil
	}
	if elem.Declared {
		if full, ok := b.p.Types.Complete(elem); ok {
			elem = full
		}
	}
	v := show(b, &Object{Type: elem, Mem: true, Addr: addr, Size: elem.ByteSize}, o, depth)
	if v == nil {
		return nil
	}
	name := elem.BareName[1:]
	v.Text = b.p.addressText(addr) + " " + name + v.Text
	return v
}

// hasFields reports whether a struct has data members with these names and sizes first, one
// after the other, each aligned to its size. A size of 0 stands for that of an address.
func (b *builder) hasFields(t *types.Type, names []string, sizes ...uint64) bool {
	m := t.Members()
	if len(m.Fields) < len(names) {
		return false
	}
	off := uint64(0)
	for i, name := range names {
		size := b.word()
		if i < len(sizes) && sizes[i] != 0 {
			size = sizes[i]
		}
		f := &m.Fields[i]
		got, err := b.sizeOf(b.p.Types.Of(f.Type))
		off = AlignUp(off, size)
		if f.Name != name || f.Off != off || f.Static || f.Base || f.Bits != 0 || err != nil || got != size {
			return false
		}
		off += size
	}
	return true
}

// anything returns an address of which nothing more is known, with the text that is there, if
// that looks like nothing else: 0x4010 (maybe "text").
func (b *builder) anything(addr uint64, text bool) *Value {
	v := &Value{Text: b.p.addressText(addr)}
	if addr == 0 {
		return v
	}
	raw, cut, err := b.cString(addr, 1)
	switch {
	case err != nil:
	case text:
		v.Text += " " + stringText(nil, raw, false, cut)
	case plainText(raw, cut):
		v.Text += " (maybe " + stringText(nil, raw, false, cut) + ")"
	}
	return v
}

// plainText reports whether a string is text beyond doubt: some characters, all of which print.
func plainText(raw []byte, cut bool) bool {
	const least = 3
	if cut || len(raw) < least || !utf8.Valid(raw) {
		return false
	}
	for _, r := range string(raw) {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// glibList prints a list whose nodes have these members. In one of both directions, each node
// has the address of the one before.
func glibList(names []string) func(b *builder, at, o *Object, depth int) *Value {
	return func(b *builder, at, o *Object, depth int) *Value {
		w := b.word()
		if !b.hasFields(at.Type, names) || at.Size != uint64(len(names))*w {
			return nil
		}
		if prev, err := b.p.Memory.ReadWord(at.Addr + 2*w); len(names) == 3 && err == nil && prev != 0 {
			if next, err := b.p.Memory.ReadWord(prev + w); err != nil || next != at.Addr {
				return nil // not the address of a node
			}
		}
		v := b.text(o, "")
		v.Compound = true
		seen := map[uint64]bool{}
		after := ""
		for node, last := at.Addr, uint64(0); node != 0; {
			if len(v.Parts) >= b.opts.MaxElements || depth >= b.opts.MaxDepth || !b.take() {
				v.More, after = true, " or more"
				break
			}
			data, err := b.p.Memory.ReadWord(node)
			next, err1 := b.p.Memory.ReadWord(node + w)
			var prev uint64
			var err2 error
			if len(names) == 3 {
				prev, err2 = b.p.Memory.ReadWord(node + 2*w)
			}
			switch {
			case seen[node]:
				after = fmt.Sprintf(", then again from %#x", node)
			case err != nil || err1 != nil || err2 != nil:
				after = fmt.Sprintf(", then unreadable at %#x", node)
			case len(names) == 3 && len(v.Parts) > 0 && prev != last:
				after = fmt.Sprintf(", then damaged at %#x", node)
			}
			if after != "" {
				break
			}
			seen[node] = true
			v.Parts = append(v.Parts, Part{Value: b.anything(data, false)})
			last, node = node, next
		}
		if len(v.Parts) == 0 && !v.More {
			return nil
		}
		v.Text = fmt.Sprintf(" of length %d%s", len(v.Parts), after)
		return v
	}
}

// glibString prints a GString, which has a zero after its characters.
func glibString(b *builder, at, o *Object, depth int) *Value {
	if !b.hasFields(at.Type, []string{"str", "len", "allocated_len"}) {
		return nil
	}
	str, ok := b.num(at, "str")
	n, ok1 := b.num(at, "len")
	room, ok2 := b.num(at, "allocated_len")
	if !ok || !ok1 || !ok2 {
		return nil
	}
	if end, err := b.p.Int(str+n, 1, false); n >= room || room > maxLength || err == nil && end != 0 {
		v := badLength(o.Type, n)
		return v
	}
	chars, _, _ := b.elem(at, "str")
	v := b.lengthText(o, chars, str, n)
	v.Text = " " + v.Text
	return v
}

// glibPtrArray prints an array of addresses.
func glibPtrArray(b *builder, at, o *Object, depth int) *Value {
	first, n, ok := b.glibSpan(at, "pdata")
	if !ok {
		return nil
	}
	v := b.text(o, fmt.Sprintf(" of length %d", n))
	v.Compound = true
	for i := range n {
		if i >= uint64(b.opts.MaxElements) || depth >= b.opts.MaxDepth || !b.take() {
			v.More = true
			break
		}
		data, err := b.p.Memory.ReadWord(first + i*b.word())
		if err != nil {
			v.Parts = append(v.Parts, Part{Value: &Value{Err: unknown.Reason(err)}})
			v.More = i+1 < n
			break
		}
		v.Parts = append(v.Parts, Part{Value: b.anything(data, false)})
	}
	return v
}

// glibSpan returns the address and the number of the elements of an array.
func (b *builder) glibSpan(at *Object, data string) (first, n uint64, ok bool) {
	if !b.hasFields(at.Type, []string{data, "len"}, 0, 4) {
		return 0, 0, false
	}
	first, ok = b.num(at, data)
	n, ok1 := b.num(at, "len")
	return first, n, ok && ok1
}

func glibByteArray(b *builder, at, o *Object, depth int) *Value {
	first, n, ok := b.glibSpan(at, "data")
	elem, size, ok1 := b.elem(at, "data")
	if !ok || !ok1 || size != 1 {
		return nil
	}
	return b.run(b.text(o, fmt.Sprintf(" of length %d", n)), elem, first, n, depth)
}

// glibArray prints how many elements an array has. What they are is not known.
func glibArray(b *builder, at, o *Object, depth int) *Value {
	first, n, ok := b.glibSpan(at, "data")
	if !ok {
		return nil
	}
	return b.text(o, fmt.Sprintf(" of length %d at %#x", n, first))
}

// glibError prints an error. The name of its domain is in a table of the library that has no
// symbol.
func glibError(b *builder, at, o *Object, depth int) *Value {
	if !b.hasFields(at.Type, []string{"domain", "code", "message"}, 4, 4) {
		return nil
	}
	domain, ok := b.num(at, "domain")
	code, ok1 := b.member(at, "code")
	message, ok2 := b.num(at, "message")
	if !ok || !ok1 || !ok2 {
		return nil
	}
	n, err := b.uint(&code, true)
	if err != nil {
		return nil
	}
	return b.text(o, fmt.Sprintf(" of domain %d, code %d: %s", domain, int64(n), b.anything(message, true).Text))
}

// A glibTable is a hash table of GLib: arrays of hashes, of keys and of values. A hash of 0 is a
// free slot, 1 one that was freed.
type glibTable struct {
	size, nodes, occupied uint64
	keys, hashes, values  uint64
	bigKeys, bigValues    bool // have the size of addresses; else 4 bytes
	hash                  uint64
	assumed               bool // the type was only declared
}

// described reads the table by the names of its members.
func (b *builder) described(at *Object) (*glibTable, bool) {
	t := &glibTable{}
	ok := true
	get := func(name string) uint64 {
		n, found := b.num(at, name)
		ok = ok && found
		return n
	}
	t.size, t.nodes, t.occupied = get("size"), get("nnodes"), get("noccupied")
	t.keys, t.hashes, t.values, t.hash = get("keys"), get("hashes"), get("values"), get("hash_func")
	t.bigKeys, t.bigValues = true, true
	if _, small := b.member(at, "have_big_keys"); small && b.word() > 4 {
		t.bigKeys, t.bigValues = get("have_big_keys") != 0, get("have_big_values") != 0
	}
	return t, ok
}

// undescribed reads the table as GLib from 2.60 on has it: size, mod, mask, nnodes, noccupied,
// two bits, and the addresses of keys, hashes, values and of the hash function.
func (b *builder) undescribed(addr uint64) (*glibTable, bool) {
	w := b.word()
	ok := true
	get := func(off, size uint64) uint64 {
		n, err := b.p.Int(addr+off, int(size), false)
		ok = ok && err == nil
		return n
	}
	t := &glibTable{assumed: true, size: get(0, w), nodes: get(w+8, 4), occupied: get(w+12, 4)}
	mask, bits := get(w+4, 4), get(w+16, 4)
	at := AlignUp(w+20, w)
	t.keys, t.hashes, t.values, t.hash = get(at, w), get(at+w, w), get(at+2*w, w), get(at+3*w, w)
	t.bigKeys, t.bigValues = bits&1 != 0 || w == 4, bits&2 != 0 || w == 4
	if b.p.Arch.Big() {
		t.bigKeys, t.bigValues = bits>>31 != 0 || w == 4, bits>>30&1 != 0 || w == 4
	}
	return t, ok && mask == t.size-1
}

// glibHash prints a hash table whose counts agree with its hashes.
func glibHash(b *builder, at, o *Object, depth int) *Value {
	var t *glibTable
	ok := false
	if at.Type.Declared {
		t, ok = b.undescribed(at.Addr)
	} else {
		t, ok = b.described(at)
	}
	if !ok || t.size == 0 || t.size&(t.size-1) != 0 || t.size > maxScan/4 || t.nodes > t.occupied || t.occupied > t.size {
		return nil
	}
	v := b.text(o, "")
	v.Compound = true
	s := scan{b: b, at: t.hashes, left: t.size, size: 4}
	nodes, occupied := uint64(0), uint64(0)
	strings := b.p.SymbolText(t.hash) == "g_str_hash"
	for i := range t.size {
		slot, ok := s.next()
		if !ok {
			return nil
		}
		hash := types.Uint(slot, b.p.Arch.Big())
		if hash != 0 {
			occupied++
		}
		if hash < 2 {
			continue
		}
		nodes++
		if len(v.Parts) >= b.opts.MaxElements || depth >= b.opts.MaxDepth || !b.take() {
			v.More = true
			continue
		}
		key, err := b.slot(t.keys, i, t.bigKeys)
		if err != nil {
			return nil
		}
		p := Part{Value: b.anything(key, strings)}
		if t.values != t.keys { // else it is a set
			value, err := b.slot(t.values, i, t.bigValues)
			if err != nil {
				return nil
			}
			p.Key, p.Value = p.Value, b.anything(value, false)
		}
		v.Parts = append(v.Parts, p)
	}
	if nodes != t.nodes || occupied != t.occupied {
		return nil
	}
	v.Text = fmt.Sprintf(" with %d element%s", nodes, plural(nodes))
	if t.assumed {
		v.Text += " (layout of GLib 2.60)"
	}
	return v
}

// slot reads element i of an array of addresses or of small numbers.
func (b *builder) slot(array, i uint64, big bool) (uint64, error) {
	if big {
		return b.p.Memory.ReadWord(array + i*b.word())
	}
	return b.p.Int(array+4*i, 4, false)
}
