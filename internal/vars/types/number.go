package types

// Resize cuts v to size bytes and extends its sign, or fills it with zeros.
func Resize(v uint64, size int, signed bool) uint64 {
	if size <= 0 || size > 8 {
		return v
	}
	shift := 64 - 8*uint(size)
	if signed {
		return uint64(int64(v<<shift) >> shift)
	}
	return v << shift >> shift
}

// Uint decodes an integer. Of more than 8 bytes it takes the low-order 8.
func Uint(b []byte, big bool) uint64 {
	var v uint64
	for i := range b {
		if big {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * uint(i))
		}
	}
	return v
}
