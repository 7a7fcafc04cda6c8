package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// hppa is hppa Linux.
var hppa = machine{
	arch: arch.HPPA,
}
