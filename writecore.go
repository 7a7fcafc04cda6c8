package corewalk

import (
	"fmt"
	"os"

	"github.com/corewalk/corewalk/internal/live/livecore"
	"github.com/corewalk/corewalk/unwind"
)

// CoreOptions bound what WriteCore writes.
type CoreOptions struct {
	// MaxMemory is how many bytes of memory are written at most; 0 for no bound. Where
	// there are more, mappings with threads' stacks come first, then the smallest.
	MaxMemory uint64
}

// CoreWritten says what WriteCore has written.
type CoreWritten struct {
	Size    uint64 // of the file with its holes, in bytes
	Written uint64 // bytes of memory that are no holes
	LeftOut uint64 // bytes of memory that MaxMemory left out
	// Unreadable is how many bytes could not be read; the file has zeros there.
	Unreadable uint64
	// Lost lists the threads whose registers could not be read.
	Lost []unwind.ThreadID
}

// WriteCore writes the core of a running process to f, an empty file: what the kernel
// would write were the process to die now, with holes where memory was never
// touched. The process stands still meanwhile.
func (t *Target) WriteCore(f *os.File, o CoreOptions) (*CoreWritten, error) {
	w, err := t.subject.WriteCore(f, livecore.Options(o))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	return (*CoreWritten)(w), nil
}
