package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// loong64 is loongarch64 Linux.
var loong64 = machine{
	arch:  arch.Loong64,
	chain: &frameChain{ra: -8, fp: -16, cfa: 0},
}
