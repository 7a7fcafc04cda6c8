package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind"
)

// ARM and AArch64. DWARF numbers: DWARF for the Arm Architecture, section 3.1, and
// DWARF for the Arm 64-bit Architecture, section 4.1
// (https://github.com/ARM-software/abi-aa).

var aarch64 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		goroutine:   28,
		banks:       []bank{{first: 64, count: 32, name: "v%d", read: plain(noteFP, 0, 16, 16)}},
		interrupted: aarch64Interrupted,
		// The kernel writes the thread pointer, tpidr_el0, into a note of its own.
		tls:             &tlsABI{pointer: tpNote(noteARMTLS), above: true, tcb: 16, glibcDTV: 0, muslDTV: -1},
		longDouble:      values.QuadFormat,
		maxAlign:        16,
		virtualInAdjust: true,
		codeview:        codeviewARM64,
	}
}}

// The reserved part of struct sigcontext, after siginfo and the general registers, is a
// list of records: a magic word, the record's size, contents
// (arch/arm64/include/uapi/asm/sigcontext.h of Linux).
const (
	aarch64Records   = 128 + 464
	aarch64RecordEnd = aarch64Records + 4096
	aarch64FPSIMD    = 0x46508001 // two status words, then the vectors
)

func aarch64Interrupted(r *Reader, tramp *unwind.Frame, n note) ([]byte, bool) {
	if n != noteFP {
		return nil, false
	}
	for at, end := tramp.SP()+aarch64Records, tramp.SP()+aarch64RecordEnd; at < end; {
		magic, size := r.kernelWord(at, 4), r.kernelWord(at+4, 4)
		if magic == aarch64FPSIMD {
			return r.readBlock(at+16, 32*16)
		}
		if size < 8 {
			return nil, false
		}
		at += size
	}
	return nil, false
}

var arm = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		banks: []bank{
			{first: 64, count: 32, name: "s%d", read: readVFPSingle},
			{first: 256, count: 32, name: "d%d", read: plain(noteARMVFP, 0, 8, 8)},
		},
		interrupted:     armInterrupted,
		tls:             &tlsABI{pointer: tpNote(noteARMTLS), above: true, tcb: 8, glibcDTV: 0, muslDTV: -1},
		maxAlign:        8,
		virtualInAdjust: true,
	}
}}

// readVFPSingle reads one half of a double register; the lower half comes first.
func readVFPSingle(s *savedRegs, i int) ([]byte, bool) {
	d, ok := savedDouble(s, i/2)
	if !ok {
		if d, ok = plain(noteARMVFP, 0, 8, 8)(s, i/2); !ok {
			return nil, false
		}
	}
	if low := i%2 == 0; low == s.r.arch.Big() {
		return d[4:], true
	}
	return d[:4], true
}

// savedDouble returns a double register that calls preserve and that the frame has.
func savedDouble(s *savedRegs, n int) ([]byte, bool) {
	r, _ := s.r.arch.FromDWARF(256 + uint64(n))
	v, _, ok := s.frame.Reg(r)
	if !ok {
		return nil, false
	}
	d := make([]byte, 8)
	s.r.arch.ByteOrder.PutUint64(d, v)
	return d, true
}

// The frame of a handler that takes a siginfo begins with that, and struct ucontext
// follows. Other frames begin with struct ucontext, whose flags mark them. After the
// registers and the signal mask comes a list of records
// (arch/arm/include/asm/ucontext.h of Linux).
const (
	armInfo      = 128
	armPlainMark = 0x5ac3c35a // uc_flags of a frame without description
	armRecords   = 232
	armRecordEnd = armRecords + 512
	armVFP       = 0x56465001
)

func armInterrupted(r *Reader, tramp *unwind.Frame, n note) ([]byte, bool) {
	uc := tramp.SP()
	if n != noteARMVFP {
		return nil, false
	}
	if r.kernelWord(uc, 4) != armPlainMark && r.kernelWord(uc+armRecords, 4) != armVFP { // qemu does not mark it
		uc += armInfo
	}
	for at, end := uc+armRecords, uc+armRecordEnd; at < end; {
		magic, size := r.kernelWord(at, 4), r.kernelWord(at+4, 4)
		if magic == armVFP {
			return r.readBlock(at+8, 32*8)
		}
		if size < 8 {
			return nil, false
		}
		at += size
	}
	return nil, false
}
