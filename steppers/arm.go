package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// arm is 32-bit ARM Linux.
var arm = machine{
	arch: arch.ARM,
}
