// Package starts finds where the function begins that contains code, for runtimes that know functions of C by their addresses.
package starts

import (
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
)

// nearby is how far behind the beginning of a function code is believed to be in it, where nothing says where functions begin.
const nearby = 4096

// Of returns where the function begins that contains an address, by call frame information or a symbol; without them it is the nearest of the known
// beginnings before it in the same module. files may be nil.
func Of(p unwind.ProcessState, files modules.Source, symbols unwind.SymbolReader, at uint64, known map[uint64]bool) uint64 {
	libs := p.LibraryTracker()
	if libs == nil {
		return 0
	}
	lib, ok := libs.LibraryAt(at)
	if !ok {
		return 0
	}
	if files != nil {
		im := (*image.Image)(modules.LocalImage(files, lib)) // nil has none
		if t := im.EHFrame(); t != nil {
			bias := im.Bias(lib.LoadBias)
			if start, _, ok := t.FDEForPC(at - bias); ok {
				return start + bias
			}
		}
	}
	if s, named := symbols.SymbolAt(lib, at); named {
		return s.Addr
	}
	best := uint64(0)
	for n := range known {
		if n >= lib.Start && at-n < nearby && n > best {
			best = n
		}
	}
	return best
}
