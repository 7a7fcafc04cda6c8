package cfi

import (
	"fmt"
	"math"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// An encoding is a pointer encoding, DW_EH_PE_...: the low four bits give the format of the
// value, the next three its base (LSB Core, section 10.5.1).
type encoding uint8

const (
	encAbsptr encoding = 0x00
	encULEB   encoding = 0x01
	encUData2 encoding = 0x02
	encUData4 encoding = 0x03
	encUData8 encoding = 0x04
	encSigned encoding = 0x08 // signed, address-sized
	encSLEB   encoding = 0x09
	encSData2 encoding = 0x0a
	encSData4 encoding = 0x0b
	encSData8 encoding = 0x0c

	encFormat encoding = 0x0f
	encBase   encoding = 0x70

	encPCRel    encoding = 0x10
	encTextRel  encoding = 0x20
	encDataRel  encoding = 0x30
	encFuncRel  encoding = 0x40
	encAligned  encoding = 0x50
	encIndirect encoding = 0x80
	encOmit     encoding = 0xff
)

// bases are the possible bases of encoded pointers.
type bases struct {
	section  uint64 // address of the first byte of the cursor's data, for pcrel
	text     uint64
	data     uint64
	function uint64
	addrSize int
}

func mask(size int) uint64 {
	if size >= 8 {
		return math.MaxUint64
	}
	return 1<<(8*uint(size)) - 1
}

// raw reads the stored value of an encoded pointer, sign-extended.
func (e encoding) raw(c *binbuf.Cursor, addrSize int) uint64 {
	switch e & encFormat {
	case encSData4:
		return uint64(int64(int32(c.U32())))
	case encAbsptr:
		return c.Uint(addrSize)
	case encSigned:
		return uint64(c.Int(addrSize))
	case encULEB:
		return c.ULEB()
	case encSLEB:
		return uint64(c.SLEB())
	case encUData2:
		return uint64(c.U16())
	case encUData4:
		return uint64(c.U32())
	case encUData8, encSData8:
		return c.U64()
	case encSData2:
		return uint64(c.Int(2))
	}
	c.Fail(fmt.Errorf("unsupported pointer encoding %#02x at offset %#x: %w", uint8(e), c.Off, ErrUnsupported))
	return 0
}

// read reads an encoded pointer. It fails for an indirect pointer, which would need memory.
func (e encoding) read(c *binbuf.Cursor, b *bases) uint64 {
	if e&encIndirect != 0 {
		c.Fail(fmt.Errorf("unsupported pointer encoding %#02x at offset %#x: %w", uint8(e), c.Off, ErrUnsupported))
		return 0
	}
	base := uint64(0)
	switch e & encBase {
	case 0:
	case encPCRel:
		base = b.section + uint64(c.Off)
	case encDataRel:
		base = b.data
	case encTextRel:
		base = b.text
	case encFuncRel:
		base = b.function
	case encAligned:
		if past := (b.section + uint64(c.Off)) % uint64(b.addrSize); past != 0 {
			c.Skip(b.addrSize - int(past))
		}
		return c.Uint(b.addrSize)
	default:
		c.Fail(fmt.Errorf("unsupported pointer encoding %#02x at offset %#x: %w", uint8(e), c.Off, ErrUnsupported))
		return 0
	}
	return (base + e.raw(c, b.addrSize)) & mask(b.addrSize)
}

// skip skips an encoded pointer, indirect or not.
func (e encoding) skip(c *binbuf.Cursor, b *bases) {
	if e == encOmit {
		return
	}
	if e&encBase == encAligned {
		e = encAligned
	} else {
		e &= encFormat
	}
	e.read(c, b)
}

// size returns the size of a pointer in bytes, or 0 if it varies.
func (e encoding) size(addrSize int) int {
	switch e & encFormat {
	case encAbsptr, encSigned:
		return addrSize
	case encUData2, encSData2:
		return 2
	case encUData4, encSData4:
		return 4
	case encUData8, encSData8:
		return 8
	}
	return 0
}
