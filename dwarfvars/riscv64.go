package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind"
)

// RISC-V of 64 bits with the D extension, and LoongArch. DWARF numbers: RISC-V
// DWARF Specification (https://github.com/riscv-non-isa/riscv-elf-psabi-doc),
// DWARF ABI of LoongArch (https://github.com/loongson/la-abi-specs).

var riscv64 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		banks:       []bank{{first: 32, count: 32, name: "f%d", read: plain(noteFP, 0, 8, 8)}},
		interrupted: riscv64Interrupted,
		tls:         &tlsABI{pointer: tpRegister(4), above: true, glibcDTV: -2, muslDTV: -1, muslEntry: 0x800},
		longDouble:  values.QuadFormat,
		maxAlign:    16,
	}
}}

// riscv64SigFP is where the floating-point registers are in a signal frame: siginfo,
// struct ucontext (arch/riscv/include/uapi/asm/ucontext.h of Linux).
const riscv64SigFP = 128 + 432

func riscv64Interrupted(r *Reader, tramp *unwind.Frame, n note) ([]byte, bool) {
	if n != noteFP {
		return nil, false
	}
	return r.readBlock(tramp.SP()+riscv64SigFP, 32*8)
}

var loongarch64 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		banks:      []bank{{first: 32, count: 32, name: "f%d", read: plain(noteFP, 0, 8, 8)}},
		tls:        &tlsABI{pointer: tpRegister(2), above: true, glibcDTV: -2, muslDTV: -1},
		longDouble: values.QuadFormat,
		maxAlign:   16,
	}
}}
