package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind"
)

// x86-64. DWARF numbers: System V ABI, AMD64 supplement, figure 3.36
// (https://gitlab.com/x86-psABIs/x86-64-ABI). Layout of the FXSAVE area and of
// what XSAVE adds: Intel SDM 1, 10.5 and 13.4.

const (
	fxSize  = 512
	x87Size = 10
	fxST    = 32 // 16 bytes each, 10 of them used
	fxXMM   = 160
	avxYMM  = 576 // upper halves, 16 bytes each
)

var amd64 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		banks: []bank{
			{first: 17, count: 16, name: "xmm%d", read: readSSE},
			{first: 33, count: 8, name: "st%d", read: fxArea(fxST, x87Size)},
			{first: 41, count: 8, name: "mm%d", read: fxArea(fxST, 8)},
			{first: 67, count: 16, name: "xmm%d", base: 16, read: neverSaved},
		},
		interrupted: amd64Interrupted,
		steady:      []uint64{58, 59}, // fs_base, gs_base
		tls:         &tlsABI{pointer: tpRegister(58), glibcDTV: 1, muslDTV: 1},
		goroutine:   14,
		codeview:    codeviewAMD64,
		longDouble:  values.X87Format,
		maxAlign:    16,
	}
}}

// neverSaved is for registers whose place in the dump depends on the processor.
func neverSaved(*savedRegs, int) ([]byte, bool) { return nil, false }

// fxArea reads from the FXSAVE area, which is also the start of what XSAVE wrote.
func fxArea(off, size int) func(*savedRegs, int) ([]byte, bool) {
	return func(s *savedRegs, i int) ([]byte, bool) {
		area, ok := s.block(noteFP)
		if !ok || len(area) < fxSize {
			area, _ = s.block(noteXState)
		}
		return slice(area, off+16*i, size)
	}
}

// readSSE reads an SSE register: 16 bytes, or 32 if its upper half is in use.
func readSSE(s *savedRegs, i int) ([]byte, bool) {
	low, ok := fxArea(fxXMM, 16)(s, i)
	if !ok {
		return nil, false
	}
	x, _ := s.block(noteXState)
	if high, ok := slice(x, avxYMM+16*i, 16); ok && hasAVX(x) {
		return append(append(make([]byte, 0, 32), low...), high...), true
	}
	return low, true
}

// hasAVX reports whether XSTATE_BV says that the upper halves are in use; otherwise
// they are zero.
func hasAVX(x []byte) bool { return x[fxSize]&4 != 0 }

// Layout of a signal frame, from the stack pointer in the code that returns from the
// handler (arch/x86/include/uapi/asm/ucontext.h, sigcontext.h of Linux): struct
// ucontext, with the address of the floating-point state that FXSAVE or XSAVE wrote.
// Words in the unused part of that state say which.
const (
	amd64SigFP  = 224
	fpMagicAt   = 464        // FP_XSTATE_MAGIC1; 16 bytes on the size of the state
	fpMagic     = 0x46505853 // at fpMagicAt
	fpMagicEnd  = 0x46505845 // after the last byte
	maxFPXState = 1 << 14
)

func amd64Interrupted(r *Reader, tramp *unwind.Frame, n note) ([]byte, bool) {
	addr, _ := r.proc.ReadWord(tramp.SP() + amd64SigFP) // 0 if nothing was saved, where nothing can be read
	return savedX86(r, addr, n)
}

// savedX86 reads an FXSAVE area that the kernel wrote, with what XSAVE adds.
func savedX86(r *Reader, addr uint64, n note) ([]byte, bool) {
	area, ok := r.readBlock(addr, fxSize)
	if n == noteFP || n == notePRXFP {
		return area, ok
	}
	order := r.arch.ByteOrder
	size := int(order.Uint32(area[fpMagicAt+16:])) // of the state, without the word after it
	if n != noteXState || order.Uint32(area[fpMagicAt:]) != fpMagic || size <= fxSize || size > maxFPXState {
		return nil, false
	}
	whole, _ := r.readBlock(addr, size+4)
	if order.Uint32(whole[size:]) != fpMagicEnd {
		return nil, false
	}
	return whole[:size], true
}
