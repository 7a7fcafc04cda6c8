package dwarfvars

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxObject bounds the bytes that are read of one object.
const maxObject = 1 << 20

// An object is a typed stretch of bytes: in the process's memory, read when they
// are wanted, or gathered from registers and constants.
type object struct {
	typ  *Type
	size uint64 // bytes

	mem  bool
	addr arch.Address // with mem

	data  []byte // without mem; size bytes
	holes []hole // parts of data that have no value

	// For a field of fewer bits than its bytes: bits of them from bit bitOff on,
	// counted from the first byte's least significant bit, on a big-endian machine
	// from its most significant one.
	bits, bitOff uint64
}

// A hole is a part of an object that has no value, in bits from its start.
type hole struct {
	from, to uint64
	err      error
	ptr      *implicit // the part is a pointer to an object that lies nowhere
}

// An implicit is what DW_OP_implicit_pointer tells.
type implicit struct {
	die    dwarf.DIE
	offset int64
}

// part is the object of type t at a byte offset of o.
func (o *object) part(t *Type, off, size uint64) object {
	p := object{typ: t, size: size, mem: o.mem, addr: o.addr + off}
	if o.mem {
		return p
	}
	if off > uint64(len(o.data)) || size > uint64(len(o.data))-off {
		p.data = make([]byte, min(size, maxObject))
		p.holes = []hole{{0, 8 * size, &CorruptExpression{fmt.Errorf("a part at %d outside of %d bytes", off, len(o.data))}, nil}}
		return p
	}
	p.data = o.data[off : off+size]
	for _, h := range o.holes {
		if h.from < 8*(off+size) && h.to > 8*off {
			q := h
			q.from = max(h.from, 8*off) - 8*off
			q.to = min(h.to, 8*(off+size)) - 8*off
			if h.ptr != nil && (h.from != 8*off || h.to > 8*(off+size)) {
				q.ptr = nil
			}
			p.holes = append(p.holes, q)
		}
	}
	return p
}

// Bytes returns n bytes of o from off on.
func (p *Process) Bytes(o *object, off, n uint64) ([]byte, error) {
	if n > maxObject {
		return nil, fmt.Errorf("%d bytes: %w", n, ErrLimit)
	}
	if o.mem {
		b := make([]byte, n)
		return b, p.Read(o.addr+off, b)
	}
	if off > uint64(len(o.data)) || n > uint64(len(o.data))-off {
		return nil, &CorruptExpression{fmt.Errorf("bytes %d to %d of %d", off, off+n, len(o.data))}
	}
	for i := range o.holes {
		if h := &o.holes[i]; h.from < 8*(off+n) && h.to > 8*off {
			return nil, h.err
		}
	}
	return o.data[off : off+n], nil
}

// bitfield returns the value of an object of fewer bits than bytes.
func (b *builder) bitfield(o *object) (uint64, error) {
	first, last := o.bitOff/8, (o.bitOff+o.bits+7)/8
	var raw []byte
	if o.mem {
		raw = make([]byte, last-first)
		if err := b.p.Read(o.addr+first, raw); err != nil {
			return 0, err
		}
	} else {
		for i := range o.holes {
			if h := &o.holes[i]; h.from < o.bitOff+o.bits && h.to > o.bitOff {
				return 0, h.err
			}
		}
		if last > uint64(len(o.data)) {
			return 0, &CorruptExpression{fmt.Errorf("bits to %d of %d bytes", o.bitOff+o.bits, len(o.data))}
		}
		raw = o.data[first:last]
	}
	// The value's bits are the last ones of a number that is big-endian.
	var v [8]byte
	n, to := min(o.bits, 64), uint64(0)
	if b.p.Arch.Big() {
		to = 64 - n
	}
	copyBits(v[:], to, raw, o.bitOff%8, n, b.p.Arch.Big())
	return decodeUint(v[:], b.p.Arch.Big()), nil
}

// copyBits copies n bits.
func copyBits(dst []byte, to uint64, src []byte, from, n uint64, big bool) {
	if to%8 == 0 && from%8 == 0 && n%8 == 0 {
		copy(dst[to/8:(to+n)/8], src[from/8:(from+n)/8])
		return
	}
	flip := uint64(0)
	if big {
		flip = 7
	}
	for i := range n {
		bit := src[(from+i)/8] >> ((from+i)%8 ^ flip) & 1
		at := (to+i)%8 ^ flip
		d := &dst[(to+i)/8]
		*d = *d&^(1<<at) | bit<<at
	}
}
