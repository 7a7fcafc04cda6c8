package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind"
)

// MIPS of 32 bits (o32) and of 64 bits (n64). The numbers of the floating-point
// registers follow those of the general registers, as in gcc and in the kernel's
// register block. Dumps do not have the thread pointer, which only an instruction can
// read.

// A register block has 64 bits of each floating-point register.
func mipsFloats() bank {
	return bank{first: 32, count: 32, name: "f%d", read: plain(noteFP, 0, 8, 8)}
}

var mips64 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		banks:           []bank{mipsFloats()},
		interrupted:     mipsInterrupted,
		longDouble:      values.QuadFormat,
		maxAlign:        16,
		virtualInAdjust: true,
	}
}}

var mips32 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		banks:           []bank{{first: 32, count: 32, name: "f%d", read: readMIPS32Float}},
		interrupted:     mipsInterrupted,
		maxAlign:        8,
		virtualInAdjust: true,
	}
}}

// mipsFR is the bit of the status register that makes all floating-point registers 64
// bits wide. Without it the odd registers are the upper halves of the even ones, and
// the block has each pair in its even register.
const mipsFR = 1 << 26

// readMIPS32Float reads 32 bits, which o32 describes with one number.
func readMIPS32Float(s *savedRegs, i int) ([]byte, bool) {
	high := false
	if i%2 == 1 {
		status, _ := s.r.arch.RegByName("status")
		v, _, ok := s.frame.Reg(status)
		if !ok {
			return nil, false
		}
		if v&mipsFR == 0 {
			i, high = i-1, true
		}
	}
	b, ok := mipsFloats().read(s, i)
	if !ok {
		return nil, false
	}
	if high != s.r.arch.Big() {
		return b[4:], true
	}
	return b[:4], true
}

// Layout of signal frames, from the stack pointer in the code that returns from the
// handler (arch/mips/kernel/signal.c of Linux): room for arguments and code, then
// siginfo and struct ucontext or, for an o32 handler that takes no siginfo, struct
// sigcontext. The system call in that code tells them apart.
const (
	mipsSigFP        = 152 + 296
	mipsPlainFP      = 24 + 272
	mipsSigreturn    = 4119 // of o32; low half of the instruction that loads it
	mipsSigFloatSize = 32 * 8
)

func mipsInterrupted(r *Reader, tramp *unwind.Frame, n note) ([]byte, bool) {
	if n != noteFP {
		return nil, false
	}
	code := r.kernelWord(tramp.RA(), 4)
	if r.arch.WordSize == 4 && code&0xffff == mipsSigreturn {
		return r.readBlock(tramp.SP()+mipsPlainFP, mipsSigFloatSize)
	}
	return r.readBlock(tramp.SP()+mipsSigFP, mipsSigFloatSize)
}
