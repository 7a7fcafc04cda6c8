package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind"
)

// s390x. DWARF numbers: ELF Application Binary Interface, s390x Supplement, table
// 1.14 (https://github.com/IBM/s390x-abi). A float of 4 bytes is in the first
// bytes of its register, and the floating-point registers are the first halves of
// the vector registers 0 to 15.

// The numbers go through the even registers of each eight first, then the odd ones.
var s390xOrder = []int{0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15}

var s390x = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		banks: []bank{
			{first: 16, count: 16, name: "f%d", order: s390xOrder, read: plain(noteFP, 8, 8, 8), left: true},
			{first: 68, count: 16, name: "v%d", base: 16, order: s390xOrder, read: plain(noteS390High, 0, 16, 16), left: true},
		},
		interrupted: s390xInterrupted,
		tls:         &tlsABI{pointer: tpRegister(48, 49), glibcDTV: 1, muslDTV: 1},
		longDouble:  values.QuadFormat,
		maxAlign:    8,
	}
}}

// s390 is S/390 of 31 bits, which has no vector registers. The thread pointer is in the
// first access register only.
var s390 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		banks:       s390x.Get().banks[:1],
		interrupted: s390Interrupted,
		tls:         &tlsABI{pointer: tpRegister(48), glibcDTV: 1, muslDTV: 1},
		longDouble:  values.QuadFormat,
		maxAlign:    8,
	}
}}

// Layout of signal frames, from the stack pointer in the code that returns from the
// handler: a caller's part of 160 bytes. For a handler that takes a siginfo, an
// instruction, siginfo and struct ucontext follow. For others, the signal mask and the
// address of the registers follow, and then the registers (arch/s390/kernel/signal.c of
// Linux).
const (
	s390xSigFP     = 544
	s390xSigRegs   = 168 // address of the registers
	s390xSigPlain  = 176 // the registers
	s390xPlainFP   = s390xSigPlain + 208
	s390xFPRegSize = 8 + 16*8
)

func s390xInterrupted(r *Reader, tramp *unwind.Frame, n note) ([]byte, bool) {
	if n != noteFP {
		return nil, false
	}
	sp := tramp.SP()
	if r.kernelWord(sp+s390xSigRegs, 8) == sp+s390xSigPlain {
		return r.readBlock(sp+s390xPlainFP, s390xFPRegSize)
	}
	return r.readBlock(sp+s390xSigFP, s390xFPRegSize)
}

// The same for 31 bits, with a caller's part of 96 bytes.
const (
	s390SigFP   = 256 + 136
	s390SigRegs = 104
	s390PlainFP = 112 + 136
)

func s390Interrupted(r *Reader, tramp *unwind.Frame, n note) ([]byte, bool) {
	if n != noteFP {
		return nil, false
	}
	sp := tramp.SP()
	if r.kernelWord(sp+s390SigRegs, 4) == sp+s390SigRegs+8 {
		return r.readBlock(sp+s390PlainFP, s390xFPRegSize)
	}
	return r.readBlock(sp+s390SigFP, s390xFPRegSize)
}
