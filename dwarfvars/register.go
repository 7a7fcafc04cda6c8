package dwarfvars

import (
	"bytes"
	"math"
	"slices"

	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// How registers hold values. Bits count as in memory: from the least significant bit of the first
// byte, on big-endian machines from the most significant one.

// inRegister returns the contents of a register as they would be in memory, and the bit where a
// value of n bits begins that a location places at bit off of the register. A value narrower than
// the register is in the low-order bytes, unless the machine's ABI says otherwise.
func (e *evaluator) inRegister(reg, off, n uint64, float bool) (src []byte, from uint64, err error) {
	src, b, ok := e.vector(reg)
	if !ok {
		v, ok := e.register(reg)
		if !ok {
			return nil, 0, &unknown.Register{DWARF: reg, Name: e.r.regName(reg)}
		}
		size := e.r.arch.RegSize
		if b = e.r.machine.bank(reg); b != nil {
			size = 8 // frames keep that much of the registers that calls preserve
		}
		src = e.wordBytes(v, size)
	}
	switch {
	case b == nil:
	case b.doubles && float && n == 32 && len(src) == 8:
		f := math.Float64frombits(e.r.arch.ByteOrder.Uint64(src))
		return e.wordBytes(uint64(math.Float32bits(float32(f))), 4), off, nil
	case b.left:
		return src, off, nil
	case len(src) == x87Size && off+n <= 128: // the padding of a long double
		src = e.widen(src, (off+n+7)/8, 0)
	}
	return src, e.lowest(src, off, n), nil
}

// lowest returns the bit where n bits of a number begin, off bits from its least significant end.
func (e *evaluator) lowest(src []byte, off, n uint64) uint64 {
	if all := 8 * uint64(len(src)); e.r.arch.Big() && off+n <= all {
		return all - off - n
	}
	return off
}

// widen adds bytes above a number with fewer than size bytes: zeros, or those of its sign.
func (e *evaluator) widen(b []byte, size uint64, with byte) []byte {
	if uint64(len(b)) >= size {
		return b
	}
	above := bytes.Repeat([]byte{with}, int(size)-len(b))
	if e.r.arch.Big() {
		return append(above, b...)
	}
	return append(slices.Clone(b), above...)
}

// wordBytes returns the low-order size bytes of a value as they would be in memory.
func (e *evaluator) wordBytes(v uint64, size int) []byte {
	b := make([]byte, 8)
	e.r.arch.ByteOrder.PutUint64(b, v)
	if e.r.arch.Big() {
		return b[8-size:]
	}
	return b[:size]
}
