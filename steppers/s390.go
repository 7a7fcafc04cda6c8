package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// The S/390 architectures of Linux.
var (
	s390x = machine{arch: arch.S390X}
	s390  = machine{arch: arch.S390}
)
