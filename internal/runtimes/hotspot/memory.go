package hotspot

import "github.com/corewalk/corewalk/internal/procmem"

// maxName is the most bytes of a name that are read.
const maxName = 1024

// memory is the memory of the virtual machine's process.
type memory struct{ procmem.Reader }

// Text reads a name that a zero byte ends; false if there is none.
func (m memory) Text(at uint64) (string, bool) {
	s, ok := m.CString(at, maxName)
	if !ok {
		return "", false
	}
	return string(s), true
}
