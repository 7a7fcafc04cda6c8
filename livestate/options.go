package livestate

import (
	"os"

	"github.com/corewalk/corewalk/unwind"
)

var _ unwind.ProcessState = (*Process)(nil) // on every host

// An Option changes how a process is attached to or launched.
type Option func(*options)

type options struct {
	execPath  string
	holdFatal bool

	noLibraryEvents bool
	dir             string
	env             []string
	files           []*os.File
}

func newOptions(opts []Option) (o options) {
	for _, f := range opts {
		f(&o)
	}
	return o
}

// ExecPath sets the program's path, for use if the system does not tell it.
func ExecPath(path string) Option { return func(o *options) { o.execPath = path } }

// HoldFatal stops all threads when a signal is about to end the process, until ResumeAll.
// The process's state is then that of its core, and Signal returns the signal.
func HoldFatal() Option { return func(o *options) { o.holdFatal = true } }

// NoLibraryEvents leaves out the events of libraries, so that no breakpoint is put into the
// process for them.
func NoLibraryEvents() Option { return func(o *options) { o.noLibraryEvents = true } }

// Dir sets a launched program's working directory; "" is this program's.
func Dir(dir string) Option { return func(o *options) { o.dir = dir } }

// Env sets a launched program's environment; nil is this program's.
func Env(env []string) Option { return func(o *options) { o.env = env } }

// Files are a launched program's open files, from descriptor 0 on. Without the
// option it has none that lead anywhere (/dev/null).
func Files(files ...*os.File) Option { return func(o *options) { o.files = files } }
