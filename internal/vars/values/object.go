package values

import (
	"errors"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/unwind/arch"
)

// MaxObject is the largest number of bytes read of one object.
const MaxObject = 1 << 20

// An Object is bytes with a type. They are in the process's memory and read when needed, or were
// gathered from registers and constants.
type Object struct {
	Type *types.Type
	Size uint64 // bytes

	Mem  bool
	Addr arch.Address // if Mem

	Data  []byte // if not Mem; Size bytes
	Holes []Hole // parts of Data without a value

	// Of a bit-field: its width and its offset, in bits. The offset counts from the least
	// significant bit of the first byte, on big-endian machines from the most significant one.
	bits, bitOff uint64

	// whole is the record that o is a member of, or the array that it is a row of, if the bounds of o depend on it.
	whole *Object
}

// A Hole is a part of an object without a value, in bits from the start of the object.
type Hole struct {
	From, To uint64
	Err      error
	Implicit *Implicit // the part is a pointer to an object without an address
}

// An Implicit is the operands of DW_OP_implicit_pointer.
type Implicit struct {
	DIE    dwarf.DIE
	Offset int64
}

// lacks reports whether a part of o has no value for a reason.
func (o *Object) lacks(why error) bool {
	return slices.ContainsFunc(o.Holes, func(h Hole) bool { return errors.Is(h.Err, why) })
}

// part returns the object of type t at a byte offset in o.
func (o *Object) part(t *types.Type, off, size uint64) Object {
	p := Object{Type: t, Size: size, Mem: o.Mem, Addr: o.Addr + off, whole: o.whole}
	if o.Mem {
		return p
	}
	if off > uint64(len(o.Data)) || size > uint64(len(o.Data))-off {
		p.Data = make([]byte, min(size, MaxObject))
		p.Holes = []Hole{{0, 8 * size, &unknown.Corrupt{Err: fmt.Errorf("a part at %d outside of %d bytes", off, len(o.Data))}, nil}}
		return p
	}
	p.Data = o.Data[off : off+size]
	for _, h := range o.Holes {
		if h.From < 8*(off+size) && h.To > 8*off {
			q := h
			q.From = max(h.From, 8*off) - 8*off
			q.To = min(h.To, 8*(off+size)) - 8*off
			if h.Implicit != nil && (h.From != 8*off || h.To > 8*(off+size)) {
				q.Implicit = nil
			}
			p.Holes = append(p.Holes, q)
		}
	}
	return p
}

// Bytes returns n bytes of o from off on.
func (p *Process) Bytes(o *Object, off, n uint64) ([]byte, error) {
	if n > MaxObject {
		return nil, fmt.Errorf("%d bytes: %w", n, unknown.ErrLimit)
	}
	if o.Mem {
		b := make([]byte, n)
		return b, p.Read(o.Addr+off, b)
	}
	if off > uint64(len(o.Data)) || n > uint64(len(o.Data))-off {
		return nil, &unknown.Corrupt{Err: fmt.Errorf("bytes %d to %d of %d", off, off+n, len(o.Data))}
	}
	for i := range o.Holes {
		if h := &o.Holes[i]; h.From < 8*(off+n) && h.To > 8*off {
			return nil, h.Err
		}
	}
	return o.Data[off : off+n], nil
}

// bitPart returns the object of type t, of size bytes, of which bits are at a bit of o.
func (o *Object) bitPart(t *types.Type, bit, bits, size uint64) Object {
	first := uint64(int64(bit) >> 3)
	p := o.part(t, first, (bit%8+bits+7)/8)
	p.Size, p.bits, p.bitOff = size, bits, bit%8
	return p
}

// bytewise returns an object of some bits as one that begins with a byte. Numbers stay what they are: bitfield reads them.
// The bytes of others are gathered, as no address has them.
func (p *Process) bytewise(o *Object) Object {
	t := o.Type.Strip()
	switch t.Tag {
	case dwarf.TagBaseType, dwarf.TagSubrangeType, dwarf.TagEnumerationType, dwarf.TagPointerType:
		if !t.Base().Floats() && o.Size <= 8 {
			return *o
		}
	}
	at := *o
	at.bits, at.bitOff = 0, 0
	if o.bitOff == 0 && o.bits == 8*o.Size {
		return at
	}
	at.Mem, at.Addr, at.Holes = false, 0, nil
	at.Data = make([]byte, min(o.Size, MaxObject))
	n := min(o.bits, 8*uint64(len(at.Data)))
	whole := *o
	whole.bits, whole.bitOff = 0, 0
	raw, err := p.Bytes(&whole, 0, (o.bitOff+n+7)/8)
	if err != nil {
		at.Holes = []Hole{{0, 8 * o.Size, err, nil}}
		return at
	}
	CopyBits(at.Data, 0, raw, o.bitOff, n, p.Arch.Big())
	return at
}

// bitfield returns the value of a bit-field.
func (b *builder) bitfield(o *Object) (uint64, error) {
	first, last := o.bitOff/8, (o.bitOff+o.bits+7)/8
	var raw []byte
	if o.Mem {
		raw = make([]byte, last-first)
		if err := b.p.Read(o.Addr+first, raw); err != nil {
			return 0, err
		}
	} else {
		for i := range o.Holes {
			if h := &o.Holes[i]; h.From < o.bitOff+o.bits && h.To > o.bitOff {
				return 0, h.Err
			}
		}
		if last > uint64(len(o.Data)) {
			return 0, &unknown.Corrupt{Err: fmt.Errorf("bits to %d of %d bytes", o.bitOff+o.bits, len(o.Data))}
		}
		raw = o.Data[first:last]
	}
	// In a big-endian number the bits of the value come last.
	var v [8]byte
	n, to := min(o.bits, 64), uint64(0)
	if b.p.Arch.Big() {
		to = 64 - n
	}
	CopyBits(v[:], to, raw, o.bitOff%8, n, b.p.Arch.Big())
	return types.Uint(v[:], b.p.Arch.Big()), nil
}

// CopyBits copies n bits from bit from of src to bit to of dst. Bits count as in Object.
func CopyBits(dst []byte, to uint64, src []byte, from, n uint64, big bool) {
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
