package heap

import (
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
)

// MaxData is how much of a library's writable data most allocators search.
const MaxData = 8 << 20

// Data calls yield for the writable data of the libraries, the program among them, until it returns false: allocators have their first records there.
// Of each, most bytes are read.
// The bytes are good until yield returns.
func Data(p Process, most uint64, yield func(at uint64, b []byte) bool) {
	libs := p.LibraryTracker()
	if libs == nil {
		return
	}
	mem := procmem.Of(p)
	list, _ := libs.Libraries(false)
	var buf []byte
	for _, lib := range list {
		left := most
		for _, m := range lib.Mappings {
			if m.Perm&libstate.Write == 0 || m.Perm&libstate.Exec != 0 && m.Perm&libstate.Unknown == 0 || left == 0 {
				continue
			}
			n := min(uint64(m.End-m.Start), left)
			left -= n
			if uint64(len(buf)) < n {
				buf = make([]byte, min(n, procmem.MaxBytes))
			}
			b := buf[:min(n, uint64(len(buf)))]
			if !yield(uint64(m.Start), b[:mem.Fill(uint64(m.Start), b)]) {
				return
			}
		}
	}
}
