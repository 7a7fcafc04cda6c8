package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
)

// A role says what a field is for, and so which values are unkind.
type role uint8

const (
	roleNumber role = iota // a size, count or offset
	roleRef                // leads to another place of the file: one of the choices
	roleCode               // a kind, form or opcode: one of the choices
	roleAddr               // an address of the process
)

// A field is a number in a file.
type field struct {
	off, size int // size in bytes; 0 for LEB128
	role      role
	choices   []uint64 // values that mean something; shared by many fields
}

// A region is a part of a file that something reads.
type region struct{ off, size int }

// A shape is what is known of a file's structure.
type shape struct {
	big     bool
	word    int // bytes of an address; 0 is 8
	fields  []field
	regions []region
	addrs   []uint64 // of the process
	// addrOf is the address that the process has an offset at; nil of what is no memory, or whose addresses are not known.
	addrOf func(off int) uint64
	text   bool
}

func (s *shape) order() binary.ByteOrder {
	if s.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

var interesting = []uint64{0, 1, 2, 3, 7, 8, 0x10, 0x7f, 0x80, 0xff, 0x100, 0xfff, 0x1000, 0x7fff, 0x8000, 0xffff, 0x10000, 1 << 20, 1 << 24,
	0x7fffffff, 0x80000000, 0xfffffff0, 0xfffffffe, 0xffffffff, 1 << 32, 1<<32 + 1, 1 << 36, 1 << 40, 1<<47 - 1, 1 << 47, 1 << 62, 1<<63 - 1, 1 << 63,
	^uint64(0) - 4095, ^uint64(0) - 15, ^uint64(0) - 7, ^uint64(0) - 1, ^uint64(0)}

// A mutator makes edits of one file.
type mutator struct {
	rng   *rand.Rand
	data  []byte
	shape *shape
}

// edits returns some edits, mostly few.
func (m *mutator) edits() []edit {
	n := 1
	for m.rng.IntN(3) != 0 && n < 12 {
		n++
	}
	var list []edit
	if m.shape.addrOf != nil && m.rng.IntN(2) == 0 {
		list = m.consistent()
		n = min(n, m.rng.IntN(3))
	}
	for range n {
		if e, ok := m.edit(); ok {
			list = append(list, e)
		}
	}
	if m.rng.IntN(40) == 0 {
		list = append(list, m.resize())
	}
	return list
}

func (m *mutator) edit() (edit, bool) {
	if len(m.data) == 0 {
		return edit{Ins: m.noise(1 + m.rng.IntN(64))}, true
	}
	if m.shape.text && m.rng.IntN(3) != 0 {
		return m.word()
	}
	if len(m.shape.fields) > 0 && m.rng.IntN(5) < 3 {
		return m.field(m.shape.fields[m.rng.IntN(len(m.shape.fields))])
	}
	r := region{0, len(m.data)}
	if len(m.shape.regions) > 0 && m.rng.IntN(8) != 0 {
		r = m.shape.regions[m.rng.IntN(len(m.shape.regions))]
	}
	return m.bytes(r)
}

// consistent changes what several words of memory say, so that they agree: lists become rings or lead to one place, and whoever knew a place or a number
// knows another one.
func (m *mutator) consistent() (list []edit) {
	fields, most := m.shape.fields, 256
	if len(fields) == 0 {
		return nil
	}
	pick := func(role role) field {
		f := fields[m.rng.IntN(len(fields))]
		for range 32 {
			if f.role == role {
				break
			}
			f = fields[m.rng.IntN(len(fields))]
		}
		return f
	}
	put := func(off int, v uint64) {
		if e, ok := m.overwrite(off, m.number(v, m.shape.word)); ok && len(list) < most {
			list = append(list, e)
		}
	}
	first := pick(roleAddr)
	switch m.rng.IntN(4) {
	case 0: // whoever points there points elsewhere
		from, to := m.read(first.off, first.size), m.shape.addrs[m.rng.IntN(len(m.shape.addrs))]
		for _, f := range fields {
			if m.read(f.off, f.size) == from {
				put(f.off, to)
			}
		}
	case 1: // a ring, perhaps with pointers back, of words that are far from each other or neighbours
		all := []field{first}
		apart := m.rng.IntN(2) == 0
		for range m.rng.IntN(16) {
			next := pick(roleAddr)
			if !apart {
				next = fields[m.rng.IntN(min(len(fields), 1<<12))]
			}
			all = append(all, next)
		}
		head, back := uint64(m.rng.IntN(4)*m.shape.word), m.rng.IntN(2) == 0
		for i, f := range all {
			put(f.off, m.shape.addrOf(all[(i+1)%len(all)].off)-head)
			if back {
				put(f.off+m.shape.word, m.shape.addrOf(all[(i+len(all)-1)%len(all)].off)-head)
			}
		}
	case 2: // many lead to one place
		to := m.shape.addrOf(first.off) - uint64(m.rng.IntN(4)*m.shape.word)
		for range m.rng.IntN(64) {
			put(pick(roleAddr).off, to)
		}
	default: // a size that lies, wherever it is said
		f := pick(roleNumber)
		from := m.read(f.off, f.size)
		to := m.unkind(from, f.size, nil)
		for _, f := range fields {
			if m.read(f.off, f.size) == from {
				put(f.off, to)
			}
		}
	}
	return list
}

// overwrite makes an edit inside the file, as far as it goes.
func (m *mutator) overwrite(off int, b []byte) (edit, bool) {
	if off < 0 || off >= len(m.data) {
		return edit{}, false
	}
	b = b[:min(len(b), len(m.data)-off)]
	return edit{off, len(b), b}, len(b) > 0
}

// bytes damages a region without knowing what is there.
func (m *mutator) bytes(r region) (edit, bool) {
	if r.size <= 0 || r.off < 0 || r.off >= len(m.data) {
		return edit{}, false
	}
	r.size = min(r.size, len(m.data)-r.off)
	at := r.off + m.rng.IntN(r.size)
	switch m.rng.IntN(10) {
	case 0, 1: // a bit
		return m.overwrite(at, []byte{m.data[at] ^ 1<<m.rng.IntN(8)})
	case 2:
		return m.overwrite(at, []byte{byte(m.rng.Uint32())})
	case 3, 4, 5: // a number
		size := 1 << m.rng.IntN(4)
		if m.rng.IntN(4) != 0 {
			at = at / size * size
		}
		if at+size > len(m.data) {
			return edit{}, false
		}
		return m.overwrite(at, m.number(m.unkind(m.read(at, size), size, nil), size))
	case 6: // a chunk from elsewhere
		n := 1 + m.rng.IntN(min(r.size, 1<<m.rng.IntN(13)))
		from := r.off + m.rng.IntN(r.size)
		return m.overwrite(at, append([]byte(nil), m.data[from:min(from+n, len(m.data))]...))
	case 7: // repeated
		n, times := 1+m.rng.IntN(64), 1+m.rng.IntN(64)
		chunk := m.data[at:min(at+n, r.off+r.size)]
		var b []byte
		for range times {
			b = append(b, chunk...)
		}
		return m.overwrite(at, b[:min(len(b), r.off+r.size-at)])
	case 8: // removed, what follows moves up
		n := min(1+m.rng.IntN(64), r.off+r.size-at)
		end := min(r.off+r.size, at+1<<m.rng.IntN(16))
		if at+n >= end {
			return edit{}, false
		}
		b := append([]byte(nil), m.data[at+n:end]...)
		return m.overwrite(at, append(b, make([]byte, n)...))
	}
	return m.overwrite(at, m.noise(1+m.rng.IntN(64)))
}

// word replaces a word of a text, or a line.
func (m *mutator) word() (edit, bool) {
	pick := func(seps string) (from, to int) {
		at := m.rng.IntN(len(m.data))
		from, to = bytes.LastIndexAny(m.data[:at], seps)+1, len(m.data)
		if n := bytes.IndexAny(m.data[at:], seps); n >= 0 {
			to = at + n
		}
		return from, max(from, to)
	}
	from, to := pick(" \n")
	other, end := pick(" \n")
	with := bytes.Clone(m.data[other:end])
	switch m.rng.IntN(6) {
	case 0, 1:
		with = strconv.AppendUint(nil, m.unkind(m.rng.Uint64()>>m.rng.IntN(64), 8, nil), []int{10, 16}[m.rng.IntN(2)])
	case 2:
		with = bytes.Repeat(with[:min(len(with), 64)], 1<<m.rng.IntN(10))
	case 3: // a whole line
		from, to = pick("\n")
		other, end = pick("\n")
		with = bytes.Clone(m.data[other:end])
	case 4:
		from, to = pick("\n")
		with = bytes.Repeat(append(bytes.Clone(m.data[from:min(to, from+256)]), '\n'), 1<<m.rng.IntN(8))
	}
	return edit{from, to - from, with}, true
}

// noise is random, or one byte many times.
func (m *mutator) noise(n int) []byte {
	b := make([]byte, n)
	fill := byte(m.rng.Uint32())
	for i := range b {
		b[i] = fill
		if fill&1 == 1 {
			b[i] = byte(m.rng.Uint32())
		}
	}
	return b
}

// resize cuts the file, or inserts or removes bytes.
func (m *mutator) resize() edit {
	n := len(m.data)
	if n == 0 {
		return edit{}
	}
	at := m.rng.IntN(n)
	if len(m.shape.regions) > 0 && m.rng.IntN(2) == 0 {
		r := m.shape.regions[m.rng.IntN(len(m.shape.regions))]
		at = max(0, min(n-1, r.off+m.rng.IntN(max(1, r.size+1))))
	}
	switch m.rng.IntN(4) {
	case 0:
		return edit{Off: at, Ins: m.noise(1 << m.rng.IntN(13))}
	case 1:
		return edit{Off: at, Del: min(n-at, 1<<m.rng.IntN(13))}
	}
	return edit{Off: at, Del: n - at}
}

func (m *mutator) read(off, size int) uint64 {
	if off < 0 || off+size > len(m.data) {
		return 0
	}
	b, order := m.data[off:off+size], m.shape.order()
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	case 8:
		return order.Uint64(b)
	}
	return 0
}

func (m *mutator) number(v uint64, size int) []byte {
	b, order := make([]byte, size), m.shape.order()
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		order.PutUint16(b, uint16(v))
	case 4:
		order.PutUint32(b, uint32(v))
	case 8:
		order.PutUint64(b, v)
	}
	return b
}

// unkind returns a value to put in the place of v.
func (m *mutator) unkind(v uint64, size int, choices []uint64) uint64 {
	switch m.rng.IntN(8) {
	case 0, 1:
		return interesting[m.rng.IntN(len(interesting))]
	case 2:
		return v + uint64(m.rng.IntN(9)) - 4
	case 3:
		return v + uint64(m.rng.IntN(1024)) - 512
	case 4:
		return uint64(len(m.data)) + uint64(m.rng.IntN(33)) - 16
	case 5:
		return m.rng.Uint64N(1 << (1 + m.rng.IntN(40)))
	case 6:
		if a := m.shape.addrs; len(a) > 0 && size >= 4 {
			return a[m.rng.IntN(len(a))] + uint64(m.rng.IntN(64))*8 - 64
		}
		return v ^ 1<<m.rng.IntN(64)
	}
	if len(choices) > 0 {
		return choices[m.rng.IntN(len(choices))]
	}
	return v * uint64(2+m.rng.IntN(15))
}

// field damages a number whose meaning is known.
func (m *mutator) field(f field) (edit, bool) {
	size := f.size
	leb := size == 0
	if leb {
		for size = 1; f.off+size-1 < len(m.data) && m.data[f.off+size-1]&0x80 != 0; size++ {
		}
		if f.off+size > len(m.data) || size > 10 {
			return edit{}, false
		}
	}
	var v uint64
	if leb {
		for i := range size {
			v |= uint64(m.data[f.off+i]&0x7f) << (7 * i)
		}
	} else {
		v = m.read(f.off, size)
	}
	to := uint64(0)
	switch {
	case f.role == roleRef && m.rng.IntN(8) == 0:
		to = uint64(f.off) // itself, where offsets are of the file
	case (f.role == roleRef || f.role == roleCode) && len(f.choices) > 0 && m.rng.IntN(5) != 0:
		to = f.choices[m.rng.IntN(len(f.choices))]
	case f.role == roleAddr && len(m.shape.addrs) > 0 && m.rng.IntN(3) != 0:
		to = m.shape.addrs[m.rng.IntN(len(m.shape.addrs))]
	case f.role == roleCode && m.rng.IntN(2) == 0:
		to = uint64(m.rng.IntN(256))
	default:
		to = m.unkind(v, size, f.choices)
	}
	if !leb {
		return m.overwrite(f.off, m.number(to, size))
	}
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(to>>(7*i))&0x7f | 0x80
	}
	b[size-1] &= 0x7f
	return m.overwrite(f.off, b)
}
