package pdb

// Kinds of numeric leaves that are not plain numbers (cvinfo.h, LEAF_ENUM_e).
const (
	numChar   = 0x8000
	numShort  = 0x8001
	numUShort = 0x8002
	numLong   = 0x8003
	numULong  = 0x8004
	numReal32 = 0x8005
	numReal64 = 0x8006
	numQuad   = 0x8009
	numUQuad  = 0x800a
	numOct    = 0x8017
	numUOct   = 0x8018
)

// numeric decodes a numeric leaf at an offset of a record: two bytes that are either the
// number or the kind of the number after them. next is the offset after it, or 0 if it is
// malformed. Negative numbers are sign-extended to 64 bits; of a floating-point number it
// returns the bits, of a 128-bit number the low half.
func numeric(rec []byte, at int) (v uint64, next int) {
	if at < 0 || len(rec)-at < 2 {
		return 0, 0
	}
	kind := le.Uint16(rec[at:])
	if kind < numChar {
		return uint64(kind), at + 2
	}
	size := 0
	switch kind {
	case numChar:
		size = 1
	case numShort, numUShort:
		size = 2
	case numLong, numULong, numReal32:
		size = 4
	case numReal64, numQuad, numUQuad:
		size = 8
	case numOct, numUOct:
		size = 16
	}
	b := rec[at+2:]
	if size == 0 || len(b) < size {
		return 0, 0
	}
	switch kind {
	case numChar:
		v = uint64(int8(b[0]))
	case numShort:
		v = uint64(int16(le.Uint16(b)))
	case numUShort:
		v = uint64(le.Uint16(b))
	case numLong:
		v = uint64(int32(le.Uint32(b)))
	case numULong:
		v = uint64(le.Uint32(b))
	case numReal32:
		v = uint64(le.Uint32(b))
	default:
		v = le.Uint64(b)
	}
	return v, at + 2 + size
}

// numericName decodes a numeric leaf and the name after it.
func numericName(rec []byte, at int) (v uint64, name string, next int) {
	v, at = numeric(rec, at)
	if at == 0 {
		return 0, "", 0
	}
	name = cstring(rec[at:])
	return v, name, min(at+len(name)+1, len(rec))
}
