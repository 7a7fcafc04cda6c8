package scudo

// Signed is a header with the checksum that the process would have given it.
func (h *Heap) Signed(user, packed uint64) uint64 {
	packed &^= 0xffff << 48
	return packed | uint64(h.plain(user, packed)^h.secret)<<48
}
