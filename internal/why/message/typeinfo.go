package message

import (
	"strings"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A typeInfo is the run-time type information of a type (Itanium C++ ABI, 2.9.5): the address of its virtual
// function table, the type's mangled name and, for classes, their bases.
type typeInfo struct {
	addr  arch.Address
	table arch.Address
	name  string
}

// typeInfo reads a std::type_info; nil if the name at addr is not a mangled type.
func (p *Process) typeInfo(addr arch.Address) *typeInfo {
	if addr == 0 || addr%uint64(p.Arch.WordSize) != 0 {
		return nil
	}
	two, ok := p.Words(addr, 2)
	if !ok {
		return nil
	}
	// A name that starts with a star is compared by address. Apple's arm64 has a bit for that.
	at := two[1]
	if p.Arch.WordSize == 8 {
		at &^= 1 << 63
	}
	name, ok := p.cstring(at, maxName)
	name = strings.TrimPrefix(name, "*")
	if !ok || !mangledType(name) {
		return nil
	}
	return &typeInfo{addr: addr, table: two[0], name: name}
}

// mangledType reports whether a name may be a mangled type: printable ASCII that starts like one.
func mangledType(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Kinds of type information for classes, by the class that describes them.
const (
	singleBase = "_ZTVN10__cxxabiv120__si_class_type_infoE"
	manyBases  = "_ZTVN10__cxxabiv121__vmi_class_type_infoE"
)

// maxBases is how many classes are visited in the search for a base.
const maxBases = 256

// baseAt returns the part of an object that has the class with the given mangled name: the object itself, or a
// base class subobject.
func (p *Process) baseAt(t *typeInfo, object arch.Address, name string) (arch.Address, bool) {
	left := maxBases
	return p.findBase(t, object, name, &left)
}

func (p *Process) findBase(t *typeInfo, object arch.Address, name string, left *int) (arch.Address, bool) {
	if *left--; *left < 0 || t == nil {
		return 0, false
	}
	if t.name == name {
		return object, true
	}
	w := uint64(p.Arch.WordSize)
	switch {
	case p.described(t, singleBase):
		base, ok := p.LookupWord(t.addr + 2*w)
		if !ok {
			return 0, false
		}
		return p.findBase(p.typeInfo(base), object, name, left)
	case p.described(t, manyBases):
		return p.findInBases(t, object, name, left)
	}
	return 0, false
}

// findInBases searches a class with several bases. The layout is flags and the number of bases, two unsigned
// ints, then for each base its type and its offset, with flags in the low bits.
func (p *Process) findInBases(t *typeInfo, object arch.Address, name string, left *int) (arch.Address, bool) {
	w := uint64(p.Arch.WordSize)
	n, ok := p.Uint(t.addr+2*w+4, 4)
	if !ok {
		return 0, false
	}
	for i := range min(n, maxBases) {
		two, ok := p.Words(t.addr+2*w+8+i*2*w, 2)
		if !ok {
			return 0, false
		}
		at, ok := p.baseOffset(object, two[1])
		if !ok {
			continue
		}
		if found, ok := p.findBase(p.typeInfo(two[0]), at, name, left); ok {
			return found, true
		}
	}
	return 0, false
}

// baseOffset adds the offset of a base. The offset of a virtual base is in the object's virtual function table.
func (p *Process) baseOffset(object arch.Address, flags uint64) (arch.Address, bool) {
	const virtual = 1
	off := uint64(int64(flags) >> 8)
	if p.Arch.WordSize == 4 {
		off = uint64(int64(int32(flags)) >> 8)
	}
	if flags&virtual == 0 {
		return p.Arch.Truncate(object + off), true
	}
	table, ok := p.LookupWord(object)
	if !ok {
		return 0, false
	}
	delta, ok := p.LookupWord(table + off)
	return p.Arch.Truncate(object + delta), ok
}

// described reports whether t is an object of the run-time library's class whose virtual function table has
// that name. An object refers to the first function of the table, which follows two words.
func (p *Process) described(t *typeInfo, table string) bool {
	if p.LibraryAt == nil || p.Symbol == nil {
		return false
	}
	lib := p.LibraryAt(t.table)
	if lib == nil {
		return false
	}
	addr, ok := p.symbolOf(lib, table)
	return ok && addr+2*uint64(p.Arch.WordSize) == t.table
}
