// Package binbuf is a bounds-checked cursor over a byte slice.
//
// The standard library's encoding/binary panics on short input and keeps no position, but
// every decoder here reads untrusted bytes and must say where they are wrong. A Cursor
// remembers its first error and returns zeros from then on, so that a decoder may read a
// whole structure and check once.
//
// A Cursor is a plain value: copy it to look ahead. It is not safe for concurrent use. It
// never writes to the bytes.
package binbuf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrShort is wrapped by every error that means that the bytes end too early.
var ErrShort = errors.New("unexpected end of data")

// A Cursor reads Data from Off onward. The zero Order is little-endian.
type Cursor struct {
	Data  []byte
	Off   int // offset in Data of the next byte to read
	Big   bool
	Error error // the first failure; all later reads return zero
}

// New returns a cursor at offset off of data. If off is outside data, the cursor has
// already failed.
func New(data []byte, off int, big bool) Cursor {
	c := Cursor{Data: data, Off: off, Big: big}
	if off < 0 || off > len(data) {
		c.Off = len(data)
		c.Error = fmt.Errorf("offset %#x is outside the %#x bytes of data: %w", off, len(data), ErrShort)
	}
	return c
}

// IsBig reports whether order is big-endian.
func IsBig(order binary.ByteOrder) bool { return order == binary.ByteOrder(binary.BigEndian) }

// Fail records err unless an earlier failure is recorded. It returns the recorded failure.
func (c *Cursor) Fail(err error) error {
	if c.Error == nil {
		c.Error = err
	}
	return c.Error
}

// Len is the number of bytes left.
func (c *Cursor) Len() int { return len(c.Data) - c.Off }

// More reports whether bytes are left and no read has failed.
func (c *Cursor) More() bool { return c.Error == nil && c.Off < len(c.Data) }

// need reports whether n bytes are left. It is just small enough to be inlined (go build -gcflags=-m=2).
func (c *Cursor) need(n int) bool {
	return c.Error == nil && n >= 0 && n <= len(c.Data)-c.Off || c.short(n)
}

// short fails for want of n bytes. It returns false.
func (c *Cursor) short(n int) bool {
	if c.Error == nil {
		c.Error = fmt.Errorf("need %d bytes at offset %#x of %#x: %w", n, c.Off, len(c.Data), ErrShort)
	}
	return false
}

// U8 reads one byte.
func (c *Cursor) U8() uint8 {
	if !c.need(1) {
		return 0
	}
	v := c.Data[c.Off]
	c.Off++
	return v
}

// U16 reads two bytes.
func (c *Cursor) U16() uint16 {
	if !c.need(2) {
		return 0
	}
	b := c.Data[c.Off:]
	c.Off += 2
	if c.Big {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

// U24 reads three bytes (DW_FORM_strx3, DW_FORM_addrx3).
func (c *Cursor) U24() uint32 {
	if !c.need(3) {
		return 0
	}
	b := c.Data[c.Off:]
	c.Off += 3
	if c.Big {
		return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
	}
	return uint32(b[2])<<16 | uint32(b[1])<<8 | uint32(b[0])
}

// U32 reads four bytes.
func (c *Cursor) U32() uint32 {
	if !c.need(4) {
		return 0
	}
	b := c.Data[c.Off:]
	c.Off += 4
	if c.Big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

// U64 reads eight bytes.
func (c *Cursor) U64() uint64 {
	if !c.need(8) {
		return 0
	}
	b := c.Data[c.Off:]
	c.Off += 8
	if c.Big {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// Uint reads an unsigned integer of 1, 2, 3, 4 or 8 bytes.
func (c *Cursor) Uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(c.U8())
	case 2:
		return uint64(c.U16())
	case 3:
		return uint64(c.U24())
	case 4:
		return uint64(c.U32())
	case 8:
		return c.U64()
	}
	c.Fail(fmt.Errorf("unsupported integer size %d at offset %#x", size, c.Off))
	return 0
}

// Int reads a signed integer of 1, 2, 4 or 8 bytes and sign-extends it.
func (c *Cursor) Int(size int) int64 {
	v := c.Uint(size)
	if size <= 0 || size >= 8 {
		return int64(v)
	}
	shift := 64 - 8*uint(size)
	return int64(v<<shift) >> shift
}

// ULEB reads an unsigned LEB128 number. Nonzero bits past the 64th are an error.
func (c *Cursor) ULEB() uint64 {
	if c.More() { // most have one byte
		if b := c.Data[c.Off]; b < 0x80 {
			c.Off++
			return uint64(b)
		}
	}
	var v uint64
	var shift uint
	for {
		if !c.need(1) {
			return 0
		}
		b := c.Data[c.Off]
		c.Off++
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if (shift == 63 && b&0x7f > 1) || (shift > 63 && b&0x7f != 0) {
			c.Fail(fmt.Errorf("LEB128 number at offset %#x exceeds 64 bits", c.Off-1))
			return 0
		}
		if b&0x80 == 0 {
			return v
		}
		shift += 7
	}
}

// SLEB reads a signed LEB128 number. Bits past the 64th are dropped.
func (c *Cursor) SLEB() int64 {
	var v int64
	var shift uint
	for {
		if !c.need(1) {
			return 0
		}
		b := c.Data[c.Off]
		c.Off++
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b&0x80 == 0 {
			if shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// Bytes reads n bytes without copying them.
func (c *Cursor) Bytes(n int) []byte {
	if !c.need(n) {
		return nil
	}
	b := c.Data[c.Off : c.Off+n : c.Off+n]
	c.Off += n
	return b
}

// Bytes64 is Bytes for a length that comes from the data and may be too large.
func (c *Cursor) Bytes64(n uint64) []byte {
	if n > uint64(c.Len()) {
		if c.Error == nil {
			c.Error = fmt.Errorf("need %d bytes at offset %#x of %#x: %w", n, c.Off, len(c.Data), ErrShort)
		}
		return nil
	}
	return c.Bytes(int(n))
}

// Skip moves over n bytes.
func (c *Cursor) Skip(n int) {
	if c.need(n) {
		c.Off += n
	}
}

// Skip64 is Skip for a length that comes from the data.
func (c *Cursor) Skip64(n uint64) { c.Bytes64(n) }

// Seek moves to offset off of Data.
func (c *Cursor) Seek(off int) {
	if c.Error != nil {
		return
	}
	if off < 0 || off > len(c.Data) {
		c.Error = fmt.Errorf("offset %#x is outside the %#x bytes of data: %w", off, len(c.Data), ErrShort)
		return
	}
	c.Off = off
}

// Align moves forward to the next multiple of n (a power of two), counted from the start of
// Data. It stops at the end of Data, which is not a failure.
func (c *Cursor) Align(n int) {
	c.Off = min((c.Off+n-1)&^(n-1), len(c.Data))
}

// CString reads up to and including a NUL, and returns what precedes it without copying. It
// fails if there is no NUL.
func (c *Cursor) CString() []byte {
	if c.Error != nil {
		return nil
	}
	i := bytes.IndexByte(c.Data[c.Off:], 0)
	if i < 0 {
		c.Error = fmt.Errorf("unterminated string at offset %#x: %w", c.Off, ErrShort)
		return nil
	}
	s := c.Data[c.Off : c.Off+i : c.Off+i]
	c.Off += i + 1
	return s
}

// CStringAt returns the NUL-terminated string at off in data, or false if off is outside
// data or there is no NUL.
func CStringAt(data []byte, off uint64) ([]byte, bool) {
	if off >= uint64(len(data)) {
		return nil, false
	}
	i := bytes.IndexByte(data[off:], 0)
	if i < 0 {
		return nil, false
	}
	return data[off : off+uint64(i) : off+uint64(i)], true
}

// Slice returns data[off:off+size] if all of it exists.
func Slice(data []byte, off, size uint64) ([]byte, bool) {
	if off > uint64(len(data)) || size > uint64(len(data))-off {
		return nil, false
	}
	return data[off : off+size : off+size], true
}
