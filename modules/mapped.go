package modules

import (
	"github.com/corewalk/corewalk/internal/files/find"
)

// ReadMapped returns the contents of a file that a process had mapped from a path and that is no module: the first at one of the places where the file of a
// module of this path would be looked for of which is says that it is the one; nil if there is none. Files of more than most bytes are not read.
func (s *Set) ReadMapped(path string, most int64, is func(data []byte) bool) []byte {
	for p := range s.finder.Binaries(find.Module{Path: path}) {
		if b, _, err := s.finder.Read(p, most+1); err == nil && int64(len(b)) <= most && is(b) {
			return b
		}
	}
	return nil
}
