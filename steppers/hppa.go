package steppers

import (
	"sync"

	"github.com/corewalk/corewalk/unwind/arch"
)

// hppa is PA-RISC Linux. Its stack grows up, so that no chain of frame pointers
// and no signal frame is followed: what the call frame information says is.
var hppa = sync.OnceValue(func() *machine {
	return &machine{
		arch:       arch.HPPA,
		entryCode:  0x44,
		loaderCode: 0xb4, // _start and _dl_start_user
	}
})
