package corestate

import (
	"bytes"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

// maxLog is how much of a text is looked at for a microdump, in bytes.
const maxLog = 256 << 20

// worthUnpacking returns how many bytes to unpack of a dump that begins with head; 0 for all. Of a core that is up
// to the end of what its headers describe, and of what is no dump only the beginning, which shows that.
func worthUnpacking(head []byte) int64 {
	switch {
	case bytes.HasPrefix(head, []byte("MDMP")), len(head) < 1<<20: // the latter is all
		return 0
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		f, err := elffile.Parse(head)
		if err != nil || f.Type != elffile.ET_CORE {
			return int64(len(head))
		}
		end := uint64(len(head))
		for _, p := range f.Progs {
			end = max(end, p.Off+min(p.Filesz, 1<<62))
		}
		if len(f.Progs) == 0 || len(f.Warnings) > 0 || end > 1<<62 { // headers elsewhere, or damaged
			return 0
		}
		return int64(end)
	case bytes.IndexByte(head, 0) >= 0:
		return int64(len(head))
	}
	return maxLog
}
