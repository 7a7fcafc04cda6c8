package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// x32 is x86-64 Linux with 32-bit pointers.
var x32 = machine{
	arch:  arch.X32,
	chain: &frameChain{ra: 8, fp: 0, cfa: 16},
}
