package corewalk

import (
	"errors"
	"fmt"
	"io"

	"github.com/corewalk/corewalk/internal/carry/convert"
)

// A Converted describes a dump that was made of one in another format. Sizes are in bytes.
type Converted struct {
	Size, Was uint64   // of the file, and of the dump that it was made of
	Format    string   // "core" or "minidump"
	Lost      []string // what the other format has no place for, in words
}

// Convert writes a core of Linux as a minidump, as Breakpad writes them, or a minidump of Linux as an ELF core:
// registers, memory, mappings, modules, the signal, how the process was started. Where a minidump lacks the headers
// of a module, those of the module's file are taken. to is the format to write, "core" or "minidump"; "" means the
// other one than the dump's. Other systems' minidumps and other processors than x86-64, i386, aarch64 and arm are an
// error. It may not be called while another method runs.
func (t *Target) Convert(w io.Writer, to string) (*Converted, error) {
	var out *convert.Written
	var err error
	fault := t.guard(func() { out, err = t.subject.Convert(w, to) })
	if err = errors.Join(fault, err); err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	return (*Converted)(out), nil
}
