package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// sparc64 is sparc64 Linux.
var sparc64 = machine{
	arch: arch.SPARC64,
}
