// Package dumpwrite lays out minidumps: header, directory, streams and what they refer to, then memory. It does
// not check its input.
//
// Everything but the memory is built in memory, and is read by offset, so that offsets of blobs are known as soon
// as they are added. A caller gives the memory's ranges last, and writes their bytes itself, behind Head.
package dumpwrite

import (
	"encoding/binary"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// Sizes in bytes (Microsoft, minidumpapiset.h).
const (
	headerSize = 32
	dirEntry   = 12
	version    = 0xa793
)

// Types of the streams that Head makes.
const (
	memoryList   = 5
	memory64List = 9
)

// ErrTooLarge means that what is not memory does not fit in the 4 GiB that offsets reach.
var ErrTooLarge = errors.New("a minidump's streams have at most 4 GiB")

// A Loc is the position of bytes in the file: a LOCATION_DESCRIPTOR.
type Loc struct{ Size, Off uint32 }

// A Range is memory: Size bytes from Start on.
type Range struct{ Start, Size uint64 }

// A Dump is a minidump being built.
type Dump struct {
	Order binary.ByteOrder
	Time  uint32 // seconds since 1970
	Flags uint64 // MINIDUMP_TYPE

	room    int // entries of the directory
	blobs   []byte
	streams []entry
}

type entry struct {
	kind uint32
	at   Loc
}

// New begins a dump with room for so many streams, that of the memory not counted.
func New(order binary.ByteOrder, streams int) *Dump {
	return &Dump{Order: order, room: streams + 1}
}

func (d *Dump) start() int { return headerSize + d.room*dirEntry }

// Blob adds bytes, at a multiple of 8, as Breakpad's writers do.
func (d *Dump) Blob(b []byte) Loc {
	for (d.start()+len(d.blobs))%8 != 0 {
		d.blobs = append(d.blobs, 0)
	}
	at := d.start() + len(d.blobs)
	d.blobs = append(d.blobs, b...)
	return Loc{uint32(len(b)), uint32(at)}
}

// Put32 changes four bytes of a blob.
func (d *Dump) Put32(off, v uint32) { d.Order.PutUint32(d.blobs[int(off)-d.start():], v) }

// Stream adds a stream.
func (d *Dump) Stream(kind uint32, b []byte) Loc {
	at := d.Blob(b)
	d.streams = append(d.streams, entry{kind, at})
	return at
}

// String adds a MINIDUMP_STRING, and returns its offset.
func (d *Dump) String(s string) uint32 {
	var u []uint16
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			// Three bytes stand for half a surrogate pair, as the parser makes them.
			if len(s) >= 3 && s[0] == 0xed && s[1]&0xe0 == 0xa0 {
				u = append(u, 0xd000|uint16(s[1]&0x3f)<<6|uint16(s[2]&0x3f))
				s = s[3:]
				continue
			}
		}
		u = utf16.AppendRune(u, r)
		s = s[n:]
	}
	b := d.U32(nil, uint32(2*len(u)))
	for _, x := range append(u, 0) {
		b = d.U16(b, x)
	}
	return d.Blob(b).Off
}

// UTF8 adds a string or bytes as Crashpad has them, and returns their offset.
func (d *Dump) UTF8(s []byte) uint32 {
	return d.Blob(append(append(d.U32(nil, uint32(len(s))), s...), 0)).Off
}

// U16, U32 and U64 append numbers in the dump's byte order.
func (d *Dump) U16(b []byte, vs ...uint16) []byte {
	for _, v := range vs {
		b = append(b, 0, 0)
		d.Order.PutUint16(b[len(b)-2:], v)
	}
	return b
}

func (d *Dump) U32(b []byte, vs ...uint32) []byte {
	for _, v := range vs {
		b = append(b, 0, 0, 0, 0)
		d.Order.PutUint32(b[len(b)-4:], v)
	}
	return b
}

func (d *Dump) U64(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
		d.Order.PutUint64(b[len(b)-8:], v)
	}
	return b
}

// Place says where in the file the bytes of ranges will be: the first at the returned offset, the others behind it
// without gaps. Nothing may be added after it.
func (d *Dump) Place(ranges []Range) (at uint64) {
	return d.memoryAt(len(ranges))
}

// memoryAt returns where memory begins that a list of n ranges precedes.
func (d *Dump) memoryAt(n int) uint64 {
	at := uint64(d.start()+len(d.blobs)+7) / 8 * 8
	return (at + 16 + 16*uint64(n) + 7) / 8 * 8
}

// Head returns all of the file but the bytes of ranges, which follow it. With wide the list of the ranges is a
// Memory64List, otherwise a MemoryList, which reaches 4 GiB; without ranges there is none.
func (d *Dump) Head(ranges []Range, wide bool) ([]byte, error) {
	at := d.memoryAt(len(ranges))
	end := at
	var list []byte
	kind := uint32(memoryList)
	if wide {
		kind = memory64List
		list = d.U64(list, uint64(len(ranges)), at)
		for _, r := range ranges {
			list = d.U64(list, r.Start, r.Size)
		}
	} else {
		list = d.U32(list, uint32(len(ranges)))
		for _, r := range ranges {
			list = d.U32(d.U64(list, r.Start), uint32(r.Size), uint32(end))
			end += r.Size
		}
	}
	if at > 1<<32-1 || !wide && end > 1<<32-1 {
		return nil, ErrTooLarge
	}
	if len(ranges) > 0 {
		d.Stream(kind, list)
	}
	out := d.U32(nil, 0x504d444d, version, uint32(len(d.streams)), headerSize, 0, d.Time)
	out = d.U64(out, d.Flags)
	for _, s := range d.streams {
		out = d.U32(out, s.kind, s.at.Size, s.at.Off)
	}
	out = append(out, make([]byte, d.start()-len(out))...)
	out = append(out, d.blobs...)
	if len(ranges) > 0 {
		out = append(out, make([]byte, at-uint64(len(out)))...)
	}
	return out, nil
}
