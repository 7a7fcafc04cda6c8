package corewalk

import (
	"fmt"
	"os"

	"github.com/corewalk/corewalk/internal/live/livecore"
	"github.com/corewalk/corewalk/livestate"
)

// CoreOptions bound what WriteCore writes.
type CoreOptions = livecore.Options

// CoreWritten says what WriteCore has written.
type CoreWritten = livecore.Result

// WriteCore writes the core of a running process to f, an empty file: what the kernel
// would write were the process to die now, with holes where memory was never
// touched. The process stands still meanwhile.
func (t *Target) WriteCore(f *os.File, o CoreOptions) (w *CoreWritten, err error) {
	p := t.Live()
	if p == nil {
		return nil, fmt.Errorf("%s: is not a running process: %w", t.path, livestate.ErrUnsupported)
	}
	if err := p.StopAll(); err != nil {
		return nil, err
	}
	defer func() {
		if rerr := p.ResumeAll(); err == nil {
			err = rerr
		}
	}()
	return livecore.Write(f, p, o)
}
