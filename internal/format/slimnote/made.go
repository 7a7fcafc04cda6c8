package slimnote

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// TypeMade is the type of the note with what records of compilers said of code that the process made, for readers that do not have these; "made".
const TypeMade = 0x6d616465

// The descriptor of TypeMade, in the byte order of the core. All addresses are the process's:
//
//	version u32, count u32
//	functions: start, size u64; flags, lengths of the name and of the unwind table, number of places u32; the name and the table, without padding
//	places: address u64; line, length of the file's path u32; that path
const (
	madeHead  = 32
	placeHead = 16

	madeCut = 1
)

// Made is a function of code that the process made.
type Made struct {
	Start, Size uint64
	Cut         bool // other code took the place of a part of it later
	Name        string
	Table       []byte      // its unwind table, .eh_frame; nil for none
	Places      []MadePlace // that were asked for
}

// A MadePlace is the source line of an address.
type MadePlace struct {
	Addr uint64
	Line uint32 // 0 if it is not known
	File string
}

// MadeBytes returns the descriptor.
func MadeBytes(list []Made, o binary.ByteOrder) []byte {
	b := words(nil, o, version, uint32(len(list)))
	for i := range list {
		m := &list[i]
		b = words(long(b, o, m.Start, m.Size), o, bit(m.Cut, madeCut), uint32(len(m.Name)), uint32(len(m.Table)), uint32(len(m.Places)))
		b = append(append(b, m.Name...), m.Table...)
		for _, p := range m.Places {
			b = append(words(long(b, o, p.Addr), o, p.Line, uint32(len(p.File))), p.File...)
		}
	}
	return b
}

// ParseMade reads a descriptor.
func ParseMade(desc []byte, big bool) ([]Made, error) {
	c := binbuf.New(desc, 0, big)
	if v := c.U32(); c.Error == nil && v != version {
		return nil, fmt.Errorf("version %d, want %d: %w", v, version, errVersion)
	}
	n := c.U32()
	if !room(&c, n, madeHead) {
		return nil, fmt.Errorf("%d functions: %w", n, c.Error)
	}
	list := make([]Made, n)
	for i := range list {
		m := &list[i]
		m.Start, m.Size, m.Cut = c.U64(), c.U64(), c.U32()&madeCut != 0
		name, table, places := c.U32(), c.U32(), c.U32()
		m.Name = string(c.Bytes64(uint64(name)))
		if table > 0 {
			m.Table = slices.Clone(c.Bytes64(uint64(table)))
		}
		if !room(&c, places, placeHead) {
			break
		}
		m.Places = make([]MadePlace, places)
		for k := range m.Places {
			p := &m.Places[k]
			p.Addr, p.Line = c.U64(), c.U32()
			p.File = string(c.Bytes64(uint64(c.U32())))
		}
	}
	if c.Error != nil {
		return nil, fmt.Errorf("what was kept of code that the process made: %w", c.Error)
	}
	return list, nil
}
