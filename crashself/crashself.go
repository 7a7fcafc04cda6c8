// Package crashself has a Go program keep its own crashes: a slim core, the report of it, and what the runtime printed.
// One import does it:
//
//	import _ "github.com/corewalk/corewalk/crashself"
//
// It works with and without cgo, needs no privileges and no core_pattern, and changes neither what the program prints nor its
// exit status.
//
// # What is kept
//
// Whatever makes Go's runtime print goroutines and end the program: a panic that nobody recovers from, a fatal error such as
// "concurrent map writes" or "all goroutines are asleep", a stack that overflowed, a fatal signal in Go or in C, abort in C, SIGQUIT.
// Of what ends the program otherwise nothing is kept: os.Exit, SIGKILL, SIGTERM, and signals whose default action C code
// restored.
//
// Each crash has a directory of its own below Options.Dir, which only the user can read:
//
//	core           a slim core, for corewalk and debuggers
//	report.txt     what corewalk prints of it
//	report.json    the same as JSON
//	runtime.txt    what Go's runtime printed
//
// # How
//
// When the package is initialised it starts the program once more. That process, the watcher, goes no further than to the
// initialisation of this package (packages that are initialised before run twice), and waits. It gets what the runtime prints while
// the program dies (debug.SetCrashOutput), through a pipe that has room for one piece of text: the runtime waits at the second one,
// before it ended anything, until the watcher has taken the core. So no crash is lost because the watcher is slow. If
// there is no watcher any more, the program ends as it would without.
//
// The watcher is a child process of the program: one that waits for any child may see it end.
package crashself

import (
	"errors"
	"os"
)

// Options say what is kept of a crash. Sizes are in bytes; 0 is the default.
type Options struct {
	// Dir is where crashes are kept; "" for the environment variable CRASHSELF_DIR, or else crashes-UID in the directory
	// for temporary files. It is made if it is not there.
	Dir string
	// Count is how many crashes of this program are kept in Dir, the oldest are removed; 0 for 20.
	Count int
	// Memory is how much of the program's memory is taken: all that it wrote to if that is not more, or else what stacks lead
	// to; 0 for 16 MiB. Stack is how much of it is taken of each thread's stack, 0 for 256 KiB, and Reach how much of
	// what is pointed to, 0 for 8 MiB.
	Memory, Stack, Reach uint64
	// Output is where the runtime's text goes, too, besides standard error; nil for nowhere. A program must not call
	// debug.SetCrashOutput itself: that takes the place of this package. The file must stay open.
	Output *os.File
	// NoReport leaves the report out.
	NoReport bool
	// Quiet leaves out the line on standard error that says where the crash was kept.
	Quiet bool
	// Wait keeps the program from ending until the report is made. It is so anyway for the first process of a container, or a child of
	// that: with them, all others are killed.
	Wait bool
}

var (
	// ErrUnsupported means that this system cannot do it: only Linux on amd64 and arm64 can.
	ErrUnsupported = errors.New("crashself: only on Linux, amd64 and arm64")
	// ErrNotRunning means that the package could not start its watcher.
	ErrNotRunning = errors.New("crashself: no watcher is running")
)

// Start sets the options, and starts the watcher if it is not running because the import could not, or after Stop. It may
// be called again; the last call counts. It is safe for several goroutines.
func Start(o Options) error { return start(o) }

// Stop ends the watcher: crashes are not kept any more. It is safe for several goroutines.
func Stop() error { return stop() }

func init() { begin() }
