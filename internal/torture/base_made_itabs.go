package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Tables of Go's interfaces that lie: a variable leads to an itab, that to a type, and that to a name.

// goMemory is the memory of such a program: types, from runtime.types on, then what refers to them.
type goMemory struct{ b []byte }

const (
	goTypesSize = 1 << 20
	goTypeSize  = 64
	goPtr       = 22 // kinds of package reflect
	goStruct    = 25
)

func (m *goMemory) at() uint64 { return madeData + uint64(len(m.b)) }

// typ is the address of the type with a number.
func (m *goMemory) typ(n int) uint64 { return madeData + uint64(goTypeSize*(n+1)) }

// describe makes a type: its kind, and where its name is, after runtime.types.
func (m *goMemory) describe(n int, kind byte, name uint64) {
	t := m.b[goTypeSize*(n+1):]
	t[23] = kind
	binary.LittleEndian.PutUint32(t[40:], uint32(name-madeData))
}

// name adds the name of a type, of which it is said how long it is, and returns where.
func (m *goMemory) name(text string, length int) uint64 {
	at := m.at()
	m.b = append(append(append(m.b, 0), uleb(uint64(length))...), text...)
	return at
}

// words adds words, and returns where.
func (m *goMemory) words(list ...uint64) uint64 {
	for len(m.b)%8 != 0 {
		m.b = append(m.b, 0)
	}
	at := m.at()
	for _, v := range list {
		m.b = binary.LittleEndian.AppendUint64(m.b, v)
	}
	return at
}

// goTypesMade are the types of the program in its debugging information. A node has an error, and a pointer to a node is one.
type goTypesMade struct{ any, err, node int }

// goInterfaces makes a program of Go with variables in that memory, which fill adds to the function.
func goInterfaces(frames, members int, fill func(d *dwarfMade, t goTypesMade, m *goMemory)) ([]byte, []byte) {
	e, d, m := newELF(), newDWARF(), &goMemory{make([]byte, goTypesSize)}
	d.info[bytes.Index(d.info, []byte("made.c\x00"))+7] = 0x16 // DW_LANG_Go
	word := d.die(0x24, false, 0x03, 0x08, str("uintptr"), 0x0b, 0x0b, []byte{8}, 0x3e, 0x0b, []byte{7})
	two := func(name, first string) int {
		t := d.die(0x13, true, 0x03, 0x08, str(name), 0x0b, 0x0b, []byte{16})
		d.die(0x0d, false, 0x03, 0x08, str(first), 0x49, 0x13, ref(word), 0x38, 0x0b, []byte{0})
		d.die(0x0d, false, 0x03, 0x08, str("data"), 0x49, 0x13, ref(word), 0x38, 0x0b, []byte{8})
		d.end(1)
		return t
	}
	var t goTypesMade
	t.any = d.die(0x16, false, 0x03, 0x08, str("interface {}"), 0x49, 0x13, ref(two("runtime.eface", "_type")))
	t.err = d.die(0x16, false, 0x03, 0x08, str("error"), 0x49, 0x13, ref(two("runtime.iface", "tab")))
	t.node = d.die(0x13, true, 0x03, 0x08, str("main.node"), 0x0b, 0x0f, uleb(16*uint64(members)))
	for i := range members {
		d.die(0x0d, false, 0x03, 0x08, str(fmt.Sprint("err", i)), 0x49, 0x13, ref(t.err), 0x38, 0x0f, uleb(16*uint64(i)))
	}
	d.end(1)
	d.die(0x0f, false, 0x03, 0x08, str("*main.node"), 0x49, 0x13, ref(t.node))
	d.function()
	fill(d, t, m)
	d.end(2)
	d.into(e)
	symbols, names := make([]byte, 24), []byte{0}
	for name, at := range map[string]uint64{"runtime.types": madeData, "runtime.etypes": madeData + goTypesSize} {
		symbols = append(append(symbols, le32(uint32(len(names)))...), 0x11, 0, 1, 0)
		symbols = append(append(symbols, u64(at)...), u64(8)...)
		names = append(names, str(name)...)
	}
	e.section(".symtab", symbols)
	e.section(".strtab", names)
	c := newCore(frames)
	c.data = m.b
	return c.bytes(), e.bytes()
}

// variableAt adds a variable at an address.
func (d *dwarfMade) variableAt(name string, typ int, at uint64) {
	d.variable(0x34, name, typ, append([]byte{0x03}, u64(at)...)...)
}

func init() {
	// The second word of each is its own address, and its name the longest that is read.
	made["Go interfaces whose itabs are their own types"] = func() ([]byte, []byte) {
		return goInterfaces(1000, 1, func(d *dwarfMade, t goTypesMade, m *goMemory) {
			for n := range 1000 {
				m.describe(n, goPtr, m.name("x", 1<<21-1))
				binary.LittleEndian.PutUint64(m.b[goTypeSize*(n+1)+8:], m.typ(n))
			}
			m.b = append(m.b, bytes.Repeat([]byte("n"), 4096)...)
			for n := range 1000 {
				d.variableAt(fmt.Sprint("v", n), t.err, m.words(m.typ(n), m.at()))
			}
		})
	}
	// Each error has the next one in it, and the last the first.
	made["Go errors in a circle"] = func() ([]byte, []byte) {
		return goInterfaces(100, 1, func(d *dwarfMade, t goTypesMade, m *goMemory) {
			m.describe(0, goPtr, m.name("*main.node", 10))
			itab := m.words(0, m.typ(0))
			const n = 200_000
			first := m.words()
			for i := range uint64(n) {
				m.words(itab, first+16*((i+1)%n))
			}
			for i := range 100 {
				d.variableAt(fmt.Sprint("v", i), t.err, first+16*uint64(i))
			}
		})
	}
	// A structure of a thousand errors, each of which is that structure.
	made["Go errors that are their own members"] = func() ([]byte, []byte) {
		return goInterfaces(100, 1000, func(d *dwarfMade, t goTypesMade, m *goMemory) {
			m.describe(0, goPtr, m.name("*main.node", 10))
			m.describe(1, goStruct, m.name("main.node", 9))
			itab, whole := m.words(0, m.typ(0)), m.words(0, m.typ(1))
			first := m.words()
			for i := range 1000 {
				if i%2 == 0 {
					m.words(itab, first)
				} else {
					m.words(whole, first)
				}
			}
			for i := range 100 {
				d.variableAt(fmt.Sprint("v", i), t.node, first)
				d.variableAt(fmt.Sprint("e", i), t.err, first+16*uint64(i))
			}
		})
	}
	// Types whose names no unit has: each is looked for in all of them.
	made["Go interfaces of types that nobody knows"] = func() ([]byte, []byte) {
		return goInterfaces(1000, 1, func(d *dwarfMade, t goTypesMade, m *goMemory) {
			for n := range 10_000 {
				text := fmt.Sprintf("main.t%0200d", n)
				m.describe(n, goStruct, m.name(text, len(text)))
				d.variableAt(fmt.Sprint("v", n), t.any, m.words(m.typ(n), m.typ(n)))
			}
		})
	}
}
