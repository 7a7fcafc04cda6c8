package ruby

import (
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/tasks"
)

// memory reads objects of a process.
type memory struct {
	procmem.Reader
	layout
	p       *tasks.Process
	version string // "3.1"
}

// field reads a pointer in the record at an address.
func (m *memory) field(at uint64, name string) uint64 {
	if at == 0 || at%8 != 0 {
		return 0
	}
	return m.Word(at + m.at(name))
}

// number reads 4 bytes in the record at an address.
func (m *memory) number(at uint64, name string) uint32 {
	if at == 0 {
		return 0
	}
	v, _ := m.U32(at + m.at(name))
	return v
}

// Types of objects: the low five bits of their flags.
const (
	typeObject   = 0x01
	typeClass    = 0x02
	typeModule   = 0x03
	typeFloat    = 0x04
	typeString   = 0x05
	typeRegexp   = 0x06
	typeArray    = 0x07
	typeHash     = 0x08
	typeStruct   = 0x09
	typeBignum   = 0x0a
	typeFile     = 0x0b
	typeData     = 0x0c
	typeMatch    = 0x0d
	typeComplex  = 0x0e
	typeRational = 0x0f
	typeSymbol   = 0x14
	typeInternal = 0x1a
	typeIncluded = 0x1c
	typeMask     = 0x1f
)

// Types of internal objects.
const (
	internalScope   = 1 // cref
	internalSpecial = 2 // svar
	internalMethod  = 6
	internalCode    = 7
)

// Where flags have what.
const (
	flagUser   = 12                  // the first bit that each type uses as it likes
	flagHere   = 1 << (flagUser + 1) // of arrays, objects: the contents are in the object; of strings: they are not
	bignumHere = 1 << (flagUser + 2) // of Integers: the digits are in the object
	hashTable  = 1 << (flagUser + 3) // of Hashes: they have a table
)

// flags reads the flags of an object; 0 if there is none.
func (m *memory) flags(at uint64) uint64 {
	if at == 0 || at%8 != 0 || at == m.layout["value.nil"] {
		return 0
	}
	return m.Word(at)
}

// is reports whether an object is of a type.
func (m *memory) is(at, kind uint64) bool { return m.flags(at)&typeMask == kind }

// internal reports whether an object is internal, of a type.
func (m *memory) internal(at, kind uint64) bool {
	f := m.flags(at)
	return f&typeMask == typeInternal && f>>flagUser&15 == kind
}

// maxName limits names of methods, classes and files.
const maxName = 4096

// text reads at most limit bytes of a String, and how long it is.
func (m *memory) text(at uint64, limit int) (s string, length uint64, ok bool) {
	f := m.flags(at)
	if f&typeMask != typeString {
		return "", 0, false
	}
	from := at + m.at("string.embedded")
	switch {
	case f&flagHere != 0:
		from, length = m.field(at, "string.pointer"), m.field(at, "string.length")
	case m.at("string.embedded") == m.at("string.length"):
		length = f >> (flagUser + 2) & 31
	default:
		length = m.field(at, "string.length")
	}
	b := m.Bytes(from, int(min(length, uint64(limit))))
	if b == nil {
		return "", 0, false
	}
	return string(b), length, true
}

// maxLength is more than lists have, and so little that an address and a length can be added.
const maxLength = 1 << 40

// name reads a String that is a name; "" if there is none.
func (m *memory) name(at uint64) string {
	s, n, ok := m.text(at, maxName)
	if !ok || n > maxName {
		return ""
	}
	return s
}

// list returns where the elements of an Array are, and how many.
func (m *memory) list(at uint64) (from, length uint64, ok bool) {
	f := m.flags(at)
	if f&typeMask != typeArray {
		return 0, 0, false
	}
	if f&flagHere != 0 {
		mask := uint64(3)
		if m.version > "3.1" {
			mask = 127
		}
		return at + m.at("array.embedded"), f >> (flagUser + 3) & mask, true
	}
	from, length = m.field(at, "array.pointer"), m.field(at, "array.length")
	return from, length, from%8 == 0 && length <= maxLength
}

// structure returns where the members of a Struct are, and how many.
func (m *memory) structure(at uint64) (from, length uint64, ok bool) {
	mask := uint64(3)
	if m.version > "3.2" {
		mask = 127
	}
	if length = m.flags(at) >> (flagUser + 1) & mask; length != 0 {
		return at + m.at("struct.array"), length, true
	}
	from, length = m.field(at, "struct.heap"), m.field(at, "struct.length")
	return from, length, from%8 == 0 && length <= maxLength
}

// contents returns where the data is that C keeps in an object: since 3.3 it may be in the object itself.
func (m *memory) contents(at uint64) uint64 {
	const embedded = 2
	if flag := m.field(at, "data.flag"); m.version >= "3.3" && flag&embedded != 0 {
		return at + m.at("data.data")
	}
	return m.field(at, "data.data")
}

// element reads an element of an Array; 0 if there is none.
func (m *memory) element(at, i uint64) uint64 {
	from, n, ok := m.list(at)
	if !ok || i >= n {
		return 0
	}
	return m.Word(from + 8*i)
}

// maxEntries is how many entries of a table are looked at.
const maxEntries = 1 << 16

// table goes through what a st_table has, in the order in which it was put there, until do returns false. It returns false if not all could be read.
func (m *memory) table(at uint64, do func(key, value uint64) bool) bool {
	list := m.field(at, "st.list")
	from, to := m.field(at, "st.from"), m.field(at, "st.to")
	if list == 0 || to-from > maxEntries {
		return false
	}
	const size, step = 24, 64
	for i := from; i < to; i += step {
		n := min(step, to-i)
		words, ok := m.Words(list+i*size, int(3*n))
		if !ok {
			return false
		}
		for ; len(words) > 0; words = words[3:] {
			if words[0] != 1<<64-1 && !do(words[1], words[2]) { // this one was taken out
				return true
			}
		}
	}
	return true
}
