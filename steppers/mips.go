package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// The MIPS architectures of Linux.
var (
	mips      = machine{arch: arch.MIPS}
	mipsel    = machine{arch: arch.MIPSEL}
	mipsn32   = machine{arch: arch.MIPSN32}
	mipsn32el = machine{arch: arch.MIPSN32EL}
	mips64    = machine{arch: arch.MIPS64}
	mips64el  = machine{arch: arch.MIPS64EL}
)
