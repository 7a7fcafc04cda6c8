package corewalk

import (
	"fmt"
	"os"

	"github.com/corewalk/corewalk/internal/live/livecore"
)

// CoreOptions bound what WriteCore writes.
type CoreOptions = livecore.Options

// CoreWritten says what WriteCore has written.
type CoreWritten = livecore.Result

// WriteCore writes the core of a running process to f, an empty file: what the kernel
// would write were the process to die now, with holes where memory was never
// touched. The process stands still meanwhile.
func (t *Target) WriteCore(f *os.File, o CoreOptions) (*CoreWritten, error) {
	w, err := t.subject.WriteCore(f, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	return w, nil
}
