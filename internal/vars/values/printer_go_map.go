package values

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Maps of Go 1.24 and newer (internal/runtime/maps): tables of groups, each with eight slots and
// a word of control bytes, of which the top bit is set if the slot is free. A small map is a
// single group.

const (
	goGroupSlots = 8
	maxGoGroups  = 1 << 20 // looked at for one map
)

// A goGroups iterates over the groups of a map.
type goGroups struct {
	b      *builder
	group  *types.Type
	size   uint64
	dir    uint64 // array of tables
	tables uint64 // left in it
	last   uint64 // the table before
	at     uint64 // next group
	left   uint64 // groups of the table
	seen   int
	table  *types.Type
}

func (b *builder) goMapValue(o *Object, named *types.Type, m *Object, depth int) *Value {
	n, ok := b.num(m, "used")
	dir, ok2 := b.num(m, "dirPtr")
	tables, ok3 := b.num(m, "dirLen")
	switch {
	case !ok || !ok2 || !ok3:
		return nil
	case n > maxLength:
		return badLength(o.Type, n)
	}
	v := b.counted(b.text(o, fmt.Sprintf("%s (len %d)", named.BareName, n)), n)
	it := goGroups{b: b, dir: dir, tables: tables}
	dirType, ok := b.member(m, "dirPtr")
	if !ok || !it.types(dirType.Type) {
		return v
	}
	if tables == 0 {
		it.at, it.left = dir, 1
	}
	slots, ok := fieldNamed(it.group, "slots")
	ctrl, ok2 := fieldNamed(it.group, "ctrl")
	if !ok || !ok2 {
		return v
	}
	slot := b.p.Types.Of(slots.Type).Strip().Target()
	size, err := b.sizeOf(slot)
	if err != nil {
		return v
	}
	var word, group uint64
	i := goGroupSlots
	b.sequence(v, slot, n, depth, func() (uint64, bool) {
		for {
			for ; i < goGroupSlots; i++ {
				if word>>(8*uint(i))&0x80 == 0 {
					i++
					return group + slots.Off + uint64(i-1)*size, true
				}
			}
			var ok bool
			if group, ok = it.next(); !ok {
				return 0, false
			}
			if word, err = b.p.Int(group+ctrl.Off, 8, false); err != nil {
				return 0, false
			}
			i = 0
		}
	})
	keys, elems := b.goLarge(named, dwarf.AttrGoKey), b.goLarge(named, dwarf.AttrGoElem)
	for i := range v.Parts {
		if el := v.Parts[i].Value; el.Compound && len(el.Parts) == 2 && el.Err == nil {
			key, value := el.Parts[0].Value, el.Parts[1].Value
			v.Parts[i].Key, v.Parts[i].Value = b.elsewhere(key, keys, depth), b.elsewhere(value, elems, depth)
		}
	}
	return v
}

// goLarge returns the type of a map's keys or elements, by an attribute of the map's type, if they are so large that slots have their
// addresses; else nil.
func (b *builder) goLarge(named *types.Type, attr dwarf.Attr) *types.Type {
	t := b.goTypeOf(named, attr)
	if t == nil {
		return nil
	}
	if n, err := b.sizeOf(t); err != nil || n <= goIndirectSize {
		return nil
	}
	return t
}

// elsewhere reads the key or element of type t whose address a slot has; if t is nil, the slot has it itself.
func (b *builder) elsewhere(slot *Value, t *types.Type, depth int) *Value {
	if t == nil || slot.Addr == 0 {
		return slot
	}
	at, err := b.p.Memory.ReadWord(slot.Addr)
	if err != nil {
		return Failed(t, unknown.Reason(err))
	}
	return b.read(t, at, depth+1)
}

// types finds the types of tables and groups, from that of the directory.
func (it *goGroups) types(dir *types.Type) bool {
	it.table = dir.Strip().Target().Strip().Target().Strip()
	groups, ok := fieldNamed(it.table, "groups")
	if !ok {
		return false
	}
	data, ok := fieldNamed(it.b.p.Types.Of(groups.Type).Strip(), "data")
	if !ok {
		return false
	}
	it.group = it.b.p.Types.Of(data.Type).Strip().Target().Strip()
	var err error
	it.size, err = it.b.sizeOf(it.group)
	return err == nil && it.size > 0
}

func fieldNamed(t *types.Type, name string) (types.Field, bool) {
	for _, f := range t.Members().Fields {
		if f.Name == name {
			return f, true
		}
	}
	return types.Field{}, false
}

// next returns the address of the next group.
func (it *goGroups) next() (uint64, bool) {
	for {
		if it.left > 0 {
			if it.seen++; it.seen > maxGoGroups {
				return 0, false
			}
			at := it.at
			it.left--
			it.at += it.size
			return at, true
		}
		if it.tables == 0 {
			return 0, false
		}
		it.tables--
		at, err := it.b.p.Memory.ReadWord(it.dir)
		it.dir += it.b.word()
		if err != nil {
			return 0, false
		}
		if at == it.last {
			continue // several entries of the directory share a table
		}
		it.last = at
		table := Object{Type: it.table, Mem: true, Addr: at, Size: it.table.ByteSize}
		data, ok := it.b.num(&table, "groups", "data")
		mask, ok2 := it.b.num(&table, "groups", "lengthMask")
		if !ok || !ok2 {
			return 0, false
		}
		it.at, it.left = data, mask+1
	}
}
