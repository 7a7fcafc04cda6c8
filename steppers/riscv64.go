package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// riscv64 is riscv64 Linux.
var riscv64 = machine{
	arch:  arch.RISCV64,
	chain: &frameChain{ra: -8, fp: -16, cfa: 0},
}
