package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// nearCall is the maximum distance in bytes at which the target of a direct call is
// plausible if the same bytes can also be read as an indirect call.
const nearCall = 64 << 20

// callBefore finds the call that ends where code ends: e8 with a 32-bit displacement, ff /2
// (near) and ff /3 (far) with any operand, 9a in 32-bit mode.
func (m *x86Mode) callBefore(a *arch.Arch, code []byte, ra uint64) (CallSite, bool) {
	n := len(code)
	var direct CallSite
	if n >= 5 && code[n-5] == 0xe8 {
		rel := int64(int32(binary.LittleEndian.Uint32(code[n-4:])))
		direct = CallSite{Len: 5, Target: a.Truncate(ra + uint64(rel)), Direct: true}
		if rel > -nearCall && rel < nearCall {
			return direct, true
		}
	}
	// Opcode, modrm, SIB and four bytes of displacement are seven bytes.
	for size := min(7, n); size >= 2; size-- {
		b := code[n-size:]
		if b[0] == 0xff && m.indirectCallLen(b) == size {
			return CallSite{Len: size + m.callPrefixes(code[:n-size])}, true
		}
	}
	if direct.Direct {
		return direct, true
	}
	if m.bits == 32 && n >= 7 && code[n-7] == 0x9a {
		return CallSite{Len: 7}, true
	}
	return CallSite{}, false
}

// indirectCallLen returns the length, without prefixes, of the indirect call that starts
// with ff at b; 0 if modrm is not that of a call.
func (m *x86Mode) indirectCallLen(b []byte) int {
	modrm := b[1]
	ext := modrm >> 3 & 7
	if ext != 2 && ext != 3 {
		return 0
	}
	mod, rm := modrm>>6, modrm&7
	switch {
	case mod == 3 && ext == 3: // a far call needs a memory operand
		return 0
	case mod == 3:
		return 2
	}
	size := 2
	if rm == 4 {
		if len(b) < 3 {
			return 0
		}
		size++
		if mod == 0 && b[2]&7 == 5 {
			size += 4
		}
	} else if mod == 0 && rm == 5 {
		size += 4
	}
	switch mod {
	case 1:
		size++
	case 2:
		size += 4
	}
	return size
}

// callPrefixes returns the number of prefixes at the end of b: REX, segments, notrack, bnd,
// address size. At most three count.
func (m *x86Mode) callPrefixes(b []byte) int {
	n := 0
	for i := len(b) - 1; i >= 0 && n < 3; i-- {
		switch c := b[i]; {
		case m.bits == 64 && c&0xf0 == 0x40 && n == 0:
		case c == 0x26 || c == 0x2e || c == 0x36 || c == 0x3e || c == 0x64 || c == 0x65 || c == 0x66 || c == 0x67 || c == 0xf2:
		default:
			return n
		}
		n++
	}
	return n
}
