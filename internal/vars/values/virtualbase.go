package values

import (
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// tabled returns a virtual base class of o, whose offset is in a table.
func (b *builder) tabled(o *Object, f *types.BaseTable, t *types.Type, size uint64) (Object, error) {
	if !o.Mem {
		return Object{}, unknown.ErrOptimisedOut
	}
	at := o.Addr + f.Pointer
	table, err := b.p.Memory.ReadWord(at)
	if err != nil {
		return Object{}, unknown.Reason(err)
	}
	slot, width := table+4*f.Index, 4
	if f.Itanium {
		at, slot, width = o.Addr, table-4*f.Index, b.p.Arch.WordSize
	}
	off, err := b.p.Int(slot, width, true)
	if err != nil {
		return Object{}, err
	}
	return Object{Type: t, Mem: true, Addr: b.p.Arch.Truncate(at + off), Size: size}, nil
}

// global returns the static member with a name from the PDB.
func (b *builder) global(db *types.Database, name string, t *types.Type, size uint64) (Object, bool) {
	rva, ok := db.File.Global(name)
	if !ok {
		return Object{}, false
	}
	addr, ok := b.f.Global(rva)
	return Object{Type: t, Mem: true, Addr: addr, Size: size}, ok
}
