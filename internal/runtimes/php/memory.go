package php

import (
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/tasks"
)

// memory reads objects of a process.
type memory struct {
	procmem.Reader
	layout
	p       *tasks.Process
	version string // "8.2"
}

// field reads a pointer in the object at an address.
func (m *memory) field(at uint64, name string) uint64 {
	if at == 0 {
		return 0
	}
	return m.Word(at + m.at(name))
}

// number reads 4 bytes in the object at an address.
func (m *memory) number(at uint64, name string) uint32 {
	if at == 0 {
		return 0
	}
	v, _ := m.U32(at + m.at(name))
	return v
}

// Types of values.
const (
	typeUndef = iota
	typeNull
	typeFalse
	typeTrue
	typeLong
	typeDouble
	typeString
	typeArray
	typeObject
	typeResource
	typeReference
	typeIndirect    = 12
	typeIndirectOld = 13 // in 7.4
)

// counted reports whether an object that begins with a count of references is of a type.
func (m *memory) counted(at uint64, kind uint32) bool {
	if at == 0 || at%8 != 0 {
		return false
	}
	v, ok := m.U32(at + 4)
	return ok && v&0xf == kind
}

// maxName limits names of functions, classes and files.
const maxName = 4096

// text reads at most limit bytes of a string, and how long it is.
func (m *memory) text(at uint64, limit int) (s string, length uint64, ok bool) {
	if !m.counted(at, typeString) {
		return "", 0, false
	}
	n, ok := m.LookupWord(at + m.at("string.length"))
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

// className reads the name of a class; false if there is no class.
func (m *memory) className(at uint64) (string, bool) {
	if at == 0 || at%8 != 0 {
		return "", false
	}
	if t, ok := m.U8(at); !ok || t != classInternal && t != classUser {
		return "", false
	}
	name := m.name(m.field(at, "class.name"))
	return plain(name), name != ""
}

// Types of classes.
const (
	classInternal = 1
	classUser     = 2
)

// plain cuts what the names of classes without a name have behind a zero byte: where they are written.
func plain(name string) string {
	for i := range len(name) {
		if name[i] == 0 {
			return name[:i]
		}
	}
	return name
}

// A zval is a value of PHP: a number, or where it is.
type zval struct {
	at    uint64 // where the zval is
	value uint64
	kind  byte
}

// zvalAt reads a value, and follows references; false if it cannot be read.
func (m *memory) zvalAt(at uint64) (zval, bool) {
	for range 3 { // what a table has of variables leads to one, and that to a reference
		if at == 0 || at%8 != 0 {
			return zval{}, false
		}
		b := m.Bytes(at, 16)
		if b == nil {
			return zval{}, false
		}
		v := zval{at, m.Arch.Word(b), b[8]}
		switch {
		case v.kind == typeReference && m.counted(v.value, typeReference):
			at = v.value + m.at("reference.value")
		case v.kind == m.indirect():
			at = v.value
		default:
			return v, true
		}
	}
	return zval{}, false
}

func (m *memory) indirect() byte {
	if m.version == "7.4" {
		return typeIndirectOld
	}
	return typeIndirect
}
