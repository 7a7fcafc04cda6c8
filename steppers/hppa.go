package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// hppa is PA-RISC Linux. Its stack grows up, so the steppers follow neither chains of
// frame pointers nor signal frames, only call frame information.
var hppa = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		arch:       arch.HPPA,
		entryCode:  0x44,
		loaderCode: 0xb4, // _start and _dl_start_user
	}
}}
