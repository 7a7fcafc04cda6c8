package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// arm64 is aarch64 Linux. A frame record (AAPCS64, 6.4.6) may lie anywhere in its frame.
var arm64 = machine{
	arch:  arch.ARM64,
	chain: &frameChain{ra: 8, fp: 0, cfa: 16, low: true},
}
