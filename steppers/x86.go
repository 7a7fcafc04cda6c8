package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// x86 is i386 Linux.
var x86 = machine{
	arch:  arch.X86,
	chain: &frameChain{ra: 4, fp: 0, cfa: 8},
}
