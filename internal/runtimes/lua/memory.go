package lua

import (
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/tasks"
)

// memory reads objects of a process.
type memory struct {
	procmem.Reader
	layout
	version
	p   *tasks.Process
	jit bool // it is LuaJIT

	globalState uint64 // LuaJIT: the first that was found
}

// field reads a pointer in the object at an address.
func (m *memory) field(at uint64, name string) uint64 {
	if at == 0 {
		return 0
	}
	return m.reference(at+m.at(name), m.narrow(name))
}

// reference reads an address, of 4 bytes if it is narrow.
func (m *memory) reference(at uint64, narrow bool) uint64 {
	if narrow {
		v, _ := m.U32(at)
		return uint64(v)
	}
	return m.Word(at)
}

// element reads the element of a list of references that begins at a field.
func (m *memory) element(at uint64, name string, i int) uint64 {
	if m.narrow(name) {
		return m.reference(at+m.at(name)+4*uint64(i), true)
	}
	return m.Word(at + m.at(name) + 8*uint64(i))
}

// next is the object after another in the collector's list.
func (m *memory) next(at uint64) uint64 {
	if m.jit {
		return m.field(at, "object.next")
	}
	return m.Word(at)
}

// number reads 4 bytes in the object at an address.
func (m *memory) number(at uint64, name string) uint32 {
	if at == 0 {
		return 0
	}
	v, _ := m.U32(at + m.at(name))
	return v
}

// A kind is a type of values, the same for all versions.
type kind byte

const (
	kindNone kind = iota // no value
	kindNil
	kindFalse
	kindTrue
	kindLight // a pointer of the program
	kindInt
	kindFloat
	kindString
	kindTable
	kindFunction // of Lua
	kindNative   // of C, with values
	kindPlain    // of C, without
	kindData
	kindThread
	kindForeign // data of C, of LuaJIT's ffi
)

// A value is one of Lua's: a number, or where it is.
type value struct {
	bits uint64
	kind kind
}

// valueSize is the size of a value, and of a slot of the stack.
func (m *memory) valueSize() uint64 {
	if m.jit {
		return 8
	}
	return 16
}

// Types of values and objects in all versions: the low four bits of the tag.
const (
	tagBool     = 1
	tagLight    = 2
	tagNumber   = 3
	tagString   = 4
	tagTable    = 5
	tagFunction = 6
	tagData     = 7
	tagThread   = 8
)

// collectable is a bit of the tag of a value, since 5.2.
const collectable = 1 << 6

// valueOf makes a value of its bits and its tag.
func (m *memory) valueOf(bits uint64, tag byte) value {
	if m.minor > 1 {
		tag &^= collectable
	}
	variant := tag >> 4
	if variant > 3 || m.minor == 1 && variant > 0 {
		return value{}
	}
	switch tag & 15 {
	case 0:
		return value{0, kindNil}
	case tagBool:
		if m.minor == 4 && variant == 1 || m.minor < 4 && bits&0xffffffff != 0 {
			return value{1, kindTrue}
		}
		return value{0, kindFalse}
	case tagLight:
		return value{bits, kindLight}
	case tagNumber:
		if m.minor == 3 && variant == 1 || m.minor == 4 && variant == 0 {
			return value{bits, kindInt}
		}
		return value{bits, kindFloat}
	case tagString:
		return value{bits, kindString}
	case tagTable:
		return value{bits, kindTable}
	case tagFunction:
		switch {
		case m.minor == 1:
			native, _ := m.U8(bits + m.at("closure.isc"))
			if native != 0 {
				return value{bits, kindNative}
			}
			return value{bits, kindFunction}
		case variant == 1:
			return value{bits, kindPlain}
		case variant == 2:
			return value{bits, kindNative}
		}
		return value{bits, kindFunction}
	case tagData:
		return value{bits, kindData}
	case tagThread:
		return value{bits, kindThread}
	}
	return value{}
}

// valueAt reads a value; false if it cannot be read.
func (m *memory) valueAt(at uint64) (value, bool) {
	if at == 0 || at%8 != 0 {
		return value{}, false
	}
	if m.jit {
		bits, ok := m.LookupWord(at)
		v := m.packed(bits)
		return v, ok && v.kind != kindNone
	}
	b := m.Bytes(at, 16)
	if b == nil {
		return value{}, false
	}
	v := m.valueOf(m.Arch.Word(b), b[8])
	return v, v.kind != kindNone
}

// is reports whether an object that the collector knows is of a type.
func (m *memory) is(at uint64, tag byte) bool {
	if at == 0 || at%8 != 0 {
		return false
	}
	if m.jit {
		v, ok := m.U8(at + m.at("object.type"))
		return ok && v == jitType(tag)
	}
	v, ok := m.U8(at + 8)
	return ok && v&15 == tag
}

// tagPrototype is the tag of what functions are made of.
func (m *memory) tagPrototype() byte {
	if m.minor == 4 {
		return 10
	}
	return 9
}

// maxName limits names of functions and files.
const maxName = 4096

// text reads at most limit bytes of a string, and how long it is.
func (m *memory) text(at uint64, limit int) (s string, length uint64, ok bool) {
	if !m.is(at, tagString) {
		return "", 0, false
	}
	n, ok := m.LookupWord(at + m.at("string.length"))
	if m.jit {
		n &= 1<<32 - 1
	}
	if tag, _ := m.U8(at + 8); m.minor > 2 && tag>>4 == 0 {
		short, got := m.U8(at + m.at("string.short"))
		n, ok = uint64(short), got
	}
	if !ok {
		return "", 0, false
	}
	b, ok := m.Counted(at+m.at("string.text"), n, limit)
	if !ok {
		return "", 0, false
	}
	return string(b), n, true
}

// name reads a string that is a name; "" if there is none.
func (m *memory) name(at uint64) string {
	s, n, ok := m.text(at, maxName)
	if !ok || n > maxName {
		return ""
	}
	return s
}

// An entry is a key of a table and what it has.
type entry struct{ key, value value }

// Limits of tables.
const (
	maxArray = 1 << 24
	maxNodes = 24 // the logarithm of their number
)

// each goes through a table in the order of Lua's next until do returns false; it returns false if not all could be read.
func (m *memory) each(at uint64, do func(entry) bool) bool {
	if !m.is(at, tagTable) {
		return false
	}
	n := uint64(m.number(at, "table.arraysize"))
	if flags, _ := m.U8(at + 10); m.minor == 4 && flags&0x80 != 0 { // a hint: the size is the next power of two
		size := uint64(1)
		for size < n {
			size *= 2
		}
		n = size
	}
	first := uint64(1)
	if m.jit {
		first = 0
	}
	array, nodes := m.field(at, "table.array"), m.field(at, "table.nodes")
	if n > maxArray || n > 0 && array%8 != 0 || nodes%8 != 0 {
		return false
	}
	for i := range n {
		if m.p.Spend(1) != nil {
			return false
		}
		v, ok := m.valueAt(array + i*m.valueSize())
		if !ok {
			return false
		}
		if v.kind != kindNil && !do(entry{value{i + first, kindInt}, v}) {
			return true
		}
	}
	if m.jit {
		return m.eachNode(nodes, uint64(m.number(at, "table.mask")), do)
	}
	log, ok := m.U8(at + m.at("table.sizelog"))
	if !ok || log > maxNodes {
		return false
	}
	size := m.at("node.size")
	for i := range uint64(1) << log {
		if m.p.Spend(1) != nil {
			return false
		}
		b := m.Bytes(nodes+i*size, int(size))
		if b == nil {
			return false
		}
		v := m.valueOf(m.Arch.Word(b), b[8])
		if v.kind == kindNil || v.kind == kindNone {
			continue
		}
		key := m.valueOf(m.Arch.Word(b[m.at("node.key"):]), b[m.at("node.keytype")])
		if key.kind == kindNone || key.kind == kindNil { // of a key that is no more
			continue
		}
		if !do(entry{key, v}) {
			return true
		}
	}
	return true
}

// lookup finds what a table has for a text; kindNone if it has nothing.
func (m *memory) lookup(table uint64, key string) value {
	var found value
	m.each(table, func(e entry) bool {
		if e.key.kind == kindString {
			if s, n, ok := m.text(e.key.bits, len(key)+1); ok && n == uint64(len(key)) && s == key {
				found = e.value
				return false
			}
		}
		return true
	})
	return found
}
