package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Calls on architectures whose other instructions are not decoded. golang.org/x/arch
// v0.32.0 has no package for them.

// sparcCallBefore finds call, or jmpl that saves its address in o7, before ra and the delay
// slot (SPARC Architecture Manual V9, A.8 and A.24).
func sparcCallBefore(a *arch.Arch, code []byte, ra uint64) (CallSite, bool) {
	n := len(code)
	if n < 8 {
		return CallSite{}, false
	}
	w := binary.BigEndian.Uint32(code[n-8:])
	switch {
	case w>>30 == 1:
		return CallSite{Len: 8, Target: a.Truncate(ra - 8 + uint64(int64(int32(w<<2)))), Direct: true}, true
	case w>>30 == 2 && w>>19&0x3f == 0x38 && w>>25&31 == 15:
		return CallSite{Len: 8}, true
	}
	return CallSite{}, false
}

// alphaCallBefore finds bsr, or jsr that saves the address in $26 (Alpha Architecture
// Handbook, 4.3). A direct call may skip the two instructions that load gp, so its target
// may be slightly after the function's start.
func alphaCallBefore(_ *arch.Arch, code []byte, ra uint64) (CallSite, bool) {
	n := len(code)
	if n < 4 {
		return CallSite{}, false
	}
	w := binary.LittleEndian.Uint32(code[n-4:])
	if w>>21&31 != 26 {
		return CallSite{}, false
	}
	switch w >> 26 {
	case 0x34:
		return CallSite{Len: 4, Target: ra + uint64(int64(int32(w<<11)>>11))*4, Direct: true}, true
	case 0x1a:
		return CallSite{Len: 4}, w>>14&3 == 1
	}
	return CallSite{}, false
}

// hppaCallBefore finds b,l, be,l and bve,l before ra and the delay slot (PA-RISC 2.0
// Architecture, chapter 7). They link to r2, or to r31, from which calls through stubs copy
// it in the delay slot. Targets are not decoded.
func hppaCallBefore(_ *arch.Arch, code []byte, _ uint64) (CallSite, bool) {
	n := len(code)
	if n < 8 {
		return CallSite{}, false
	}
	w := binary.BigEndian.Uint32(code[n-8:])
	link := w >> 21 & 31
	switch {
	case w>>26 == 0x39: // be,l: links r31
		return CallSite{Len: 8}, true
	case w>>26 != 0x3a:
		return CallSite{}, false
	}
	switch w >> 13 & 7 {
	case 0: // b,l
		return CallSite{Len: 8}, link == 2 || link == 31
	case 5, 7: // b,l with 22 bits, bve,l: both link r2
		return CallSite{Len: 8}, true
	}
	return CallSite{}, false
}
