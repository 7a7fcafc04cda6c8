package corewalk

import (
	"fmt"
	"os"

	"github.com/corewalk/corewalk/internal/live/livecore"
	"github.com/corewalk/corewalk/unwind"
)

// CoreOptions limit what WriteCore writes.
type CoreOptions struct {
	// MaxMemory is the maximum number of bytes of memory to write; 0 for no limit. If
	// there is more, mappings with threads' stacks come first, then the smallest.
	MaxMemory uint64
}

// CoreWritten describes a core that WriteCore wrote. Sizes are in bytes.
type CoreWritten struct {
	Size       uint64            // of the file, with its holes
	Written    uint64            // of memory, without holes
	LeftOut    uint64            // of memory beyond MaxMemory
	Unreadable uint64            // of memory that could not be read; the file has zeros there
	Lost       []unwind.ThreadID // threads whose registers could not be read
}

// WriteCore writes the core of a running process to f, an empty file. It is the core that
// the kernel would write if the process died now, with holes for memory that was never
// touched. The process is stopped meanwhile. For other Targets the error wraps
// livestate.ErrUnsupported.
func (t *Target) WriteCore(f *os.File, o CoreOptions) (*CoreWritten, error) {
	w, err := t.subject.WriteCore(f, livecore.Options(o))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	return (*CoreWritten)(w), nil
}
