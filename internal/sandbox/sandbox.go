// Package sandbox confines a process that reads hostile files, on Linux.
//
// Start starts a program under Landlock: it can open only the files of a Policy. The program calls Enter before
// it reads anything hostile: seccomp then leaves it the system calls that Go's runtime and reading files need. It
// can start no program, open no socket, and signal or trace no other process. Files that are open stay usable, so
// it can work with what it was given.
package sandbox

import (
	"iter"
	"os"
)

// A Policy says which files a confined program can open. Paths that do not exist are ignored. Symbolic links in
// them are followed when the program is started; links that the program follows lead nowhere else.
type Policy struct {
	// Read lists files that may be read, and directories below which all files may be read.
	Read []string
	// Files yields open files that may also be opened for reading by their paths. It may be nil, and may close a
	// file when it yields the next.
	Files iter.Seq[*os.File]
	// Write lists directories below which files may be created, written, renamed and removed.
	Write []string
}

// MaxFile limits the size in bytes of a file that a confined program writes.
const MaxFile = 64 << 30
