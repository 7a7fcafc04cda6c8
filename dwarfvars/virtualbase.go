package dwarfvars

// tabled is a virtual base of o.
func (b *builder) tabled(o *object, f *baseTable, t *Type, size uint64) (object, error) {
	if !o.mem {
		return object{}, ErrOptimisedOut
	}
	at := o.addr + f.pointer
	table, err := b.p.Memory.ReadWord(at)
	if err != nil {
		return object{}, reason(err)
	}
	slot, width := table+4*f.index, 4
	if f.itanium {
		at, slot, width = o.addr, table-4*f.index, b.p.Arch.WordSize
	}
	off, err := b.p.Int(slot, width, true)
	if err != nil {
		return object{}, err
	}
	return object{typ: t, mem: true, addr: b.p.Arch.Truncate(at + off), size: size}, nil
}

// global is a variable of the module by its name: a static member.
func (b *builder) global(db *database, name string, t *Type, size uint64) (object, bool) {
	rva, ok := db.file.Global(name)
	if !ok {
		return object{}, false
	}
	addr, ok := b.f.Global(rva)
	return object{typ: t, mem: true, addr: addr, size: size}, ok
}
