package types

// resize cuts v to size bytes and extends its sign.
func Resize(v uint64, size int, signed bool) uint64 {
	if size <= 0 || size >= 8 {
		return v
	}
	shift := 64 - 8*uint(size)
	if signed {
		return uint64(int64(v<<shift) >> shift)
	}
	return v << shift >> shift
}

// decodeUint reads an integer of at most 8 bytes; of longer ones the low 8.
func Uint(b []byte, big bool) uint64 {
	var v uint64
	if len(b) > 8 {
		if big {
			b = b[len(b)-8:]
		} else {
			b = b[:8]
		}
	}
	for i := range b {
		if big {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * uint(i))
		}
	}
	return v
}
