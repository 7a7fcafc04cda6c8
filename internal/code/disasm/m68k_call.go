package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// m68kCallBefore finds the call that ends where code ends (M68000 Family Programmer's
// Reference Manual, BSR and JSR), trying the longest first. golang.org/x/arch v0.32.0 has no
// package for M68000.
func m68kCallBefore(a *arch.Arch, code []byte, ra uint64) (CallSite, bool) {
	for _, size := range [...]int{6, 4, 2, 8} {
		if len(code) < size {
			continue
		}
		b := code[len(code)-size:]
		if site, ok := m68kCall(b, ra-uint64(size)); ok {
			site.Target = a.Truncate(site.Target)
			return site, true
		}
	}
	return CallSite{}, false
}

// m68kCall decodes b, at pc, as one call.
func m68kCall(b []byte, pc uint64) (CallSite, bool) {
	size := len(b)
	word := func(i int) int64 { return int64(int16(binary.BigEndian.Uint16(b[i:]))) }
	long := func(i int) int64 { return int64(int32(binary.BigEndian.Uint32(b[i:]))) }
	direct := func(target uint64) (CallSite, bool) { return CallSite{Len: size, Target: target, Direct: true}, true }
	op := binary.BigEndian.Uint16(b)
	switch {
	case op == 0x6100: // bsr, displacements of 16, 32 and 8 bits
		return CallSite{Len: 4, Target: pc + 2 + uint64(word(min(2, size-2))), Direct: true}, size == 4
	case op == 0x61ff:
		if size == 6 {
			return direct(pc + 2 + uint64(long(2)))
		}
	case op>>8 == 0x61:
		return CallSite{Len: 2, Target: pc + 2 + uint64(int64(int8(op))), Direct: true}, size == 2
	case op>>3 == 0x4e90>>3: // jsr (An)
		return CallSite{Len: 2}, size == 2
	case op>>3 == 0x4ea8>>3: // jsr d16(An)
		return CallSite{Len: 4}, size == 4
	case op>>3 == 0x4eb0>>3 || op == 0x4ebb: // jsr with an index, and the 68020's further modes
		return CallSite{Len: size}, size >= 4 && m68kIndexLen(binary.BigEndian.Uint16(b[2:])) == size-2
	case size == 4 && op == 0x4eb8:
		return direct(uint64(word(2)))
	case size == 6 && op == 0x4eb9:
		return direct(uint64(uint32(long(2))))
	case size == 4 && op == 0x4eba:
		return direct(pc + 2 + uint64(word(2)))
	}
	return CallSite{}, false
}

// m68kIndexLen returns the length of an indexed address from its extension word on: 2 in
// the brief format, up to 10 in the full one.
func m68kIndexLen(ext uint16) int {
	if ext&0x100 == 0 {
		return 2
	}
	sizes := [4]int{0, 0, 2, 4}
	return 2 + sizes[ext>>4&3] + sizes[ext&3]
}
