package image

import (
	"runtime"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/decompress"
)

// besideLeast is how much of .debug_info is to be decompressed, in bytes, before a second processor is worth starting.
const besideLeast = 256 << 10

// companions are the sections of which each unit's lookup reads some, besides .debug_info.
var companions = [...]string{"abbrev", "line"}

// beside decompresses what a unit needs of other sections at the same time as .debug_info, of which l is to be
// decompressed as far as end. Linkers put what each object file has of every section in the same order, so a unit that
// is found after a third of .debug_info has its lines after about a third of .debug_line. The guess is no more than
// that: what reads a section asks for what it needs.
func (im *Image) beside(l *decompress.Lazy, end uint64) {
	size := uint64(len(l.Data()))
	end = min(end, size)
	if end < l.Filled()+besideLeast || runtime.GOMAXPROCS(0) < 2 {
		return
	}
	im.side.Go(func() {
		_ = mmapfile.Guard(func() { // what reads a section says what is wrong with it or with the file
			for _, name := range companions {
				if data, need, err := im.elf.LazyDebugSection(name); err == nil && need != nil {
					_ = need(0, uint64(float64(len(data))*(float64(end)/float64(size))))
				}
			}
		})
	})
}
