package modules

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/libstate"
)

// maxJIT limits the bytes read of the JIT-compiled code's files of one process: many
// entries may claim the same memory.
const maxJIT = 256 << 20

// fromJIT reads the file that describes code which the process compiled itself. The
// file belongs to this process and is in no cache.
func (s *Set) fromJIT(lib *libstate.Library) Resolution {
	if lib.ImageSize > maxJIT || s.jitBytes.Add(lib.ImageSize) > maxJIT {
		return Resolution{Why: fmt.Sprintf("files of JIT-compiled code in memory are larger than %d bytes", maxJIT)}
	}
	var data []byte
	for at := uint64(0); at < lib.ImageSize; {
		chunk := make([]byte, min(lib.ImageSize-at, 1<<20))
		n, err := s.mem.ReadMem(lib.HeaderAddr+at, chunk)
		data = append(data, chunk[:n]...)
		if at += uint64(n); err != nil {
			break
		}
	}
	im, err := image.FromObject(data)
	if err != nil {
		return Resolution{Why: err.Error()}
	}
	return Resolution{Image: (*Image)(im), Match: Matched}
}
