package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// m68k is m68k Linux.
var m68k = machine{
	arch:  arch.M68K,
	chain: &frameChain{ra: 4, fp: 0, cfa: 8},
}
