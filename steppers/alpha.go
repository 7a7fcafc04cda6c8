package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// alpha is alpha Linux.
var alpha = machine{
	arch: arch.Alpha,
}
