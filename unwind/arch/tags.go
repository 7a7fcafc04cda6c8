package arch

// topByte is how many bits of an address arm64 ignores.
const topByte = 8

// DataAddress returns an address without the bits that the processor ignores where it reads and writes data: on arm64 the top byte, in which allocators
// and sanitizers keep tags (top-byte ignore, MTE, HWASan). Addresses of code have none. a may be nil.
func (a *Arch) DataAddress(addr Address) Address {
	if a == nil || a.Family != FamilyARM64 {
		return addr
	}
	return uint64(int64(addr<<topByte) >> topByte)
}
