package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind"
)

// i386. DWARF numbers: System V ABI, Intel386 supplement, table 2.14
// (https://gitlab.com/x86-psABIs/i386-ABI).

var i386 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		banks: []bank{
			{first: 11, count: 8, name: "st%d", read: readX87},
			{first: 21, count: 8, name: "xmm%d", read: fx386(fxXMM, 16)},
			{first: 29, count: 8, name: "mm%d", read: fx386(fxST, 8)},
		},
		interrupted: i386Interrupted,
		tls:         &tlsABI{pointer: tpNamed("gs_base"), glibcDTV: 1, muslDTV: 1},
		codeview:    codeviewX86,
		longDouble:  values.X87Format,
		maxAlign:    4,
	}
}}

// readX87 reads a floating-point register, which both FXSAVE and FSAVE areas have
// (NT_FPREGSET of i386 is the latter).
func readX87(s *savedRegs, i int) ([]byte, bool) {
	if b, ok := fx386(fxST, 10)(s, i); ok {
		return b, true
	}
	const fsaveST = 28
	return plain(noteFP, fsaveST, 10, 10)(s, i)
}

func fx386(off, size int) func(*savedRegs, int) ([]byte, bool) {
	return func(s *savedRegs, i int) ([]byte, bool) {
		area, ok := s.block(notePRXFP)
		if !ok {
			area, ok = s.block(noteXState)
		}
		if !ok { // minidumps have the FXSAVE area instead
			if area, _ = s.block(noteFP); len(area) < fxSize {
				return nil, false
			}
		}
		return slice(area, off+16*i, size)
	}
}

// Layout of signal frames (arch/x86/include/asm/sigframe.h of Linux), from the stack
// pointer in the code that returns from the handler. The frame of a handler that takes
// a siginfo begins with its three arguments, of which the last two are addresses in the
// frame.
const (
	i386Info    = 12
	i386Context = 140
	i386RTFP    = 236 // address of the state, in a frame with siginfo
	i386FP      = 80  // the same in a frame without
	fsaveSize   = 112 // size of what FSAVE wrote; an FXSAVE area follows
)

func i386Interrupted(r *Reader, tramp *unwind.Frame, n note) ([]byte, bool) {
	sp, at := tramp.SP(), uint64(i386FP)
	if r.kernelWord(sp+4, 4) == r.arch.Truncate(sp+i386Info) && r.kernelWord(sp+8, 4) == r.arch.Truncate(sp+i386Context) {
		at = i386RTFP
	}
	addr := r.kernelWord(sp+at, 4)
	if n == noteFP {
		return r.readBlock(addr, fsaveSize)
	}
	// The upper half of the last word that FSAVE wrote is 0 if more follows.
	if r.kernelWord(addr+fsaveSize-2, 2) != 0 {
		return nil, false
	}
	return savedX86(r, addr+fsaveSize, n)
}
