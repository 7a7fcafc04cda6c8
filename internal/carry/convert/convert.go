// Package convert makes minidumps of ELF cores of Linux, and ELF cores of minidumps of Linux. It carries what both can
// say: registers, memory, mappings, modules with their build-ids, the signal, names of threads, how the process was started.
// What the other format has no place for is listed, not dropped silently.
package convert

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// ErrUnsupported means that there is nothing to convert: a running process.
var ErrUnsupported = errors.New("only cores and minidumps can be converted")

// ErrSystem means that a minidump is not of Linux.
var ErrSystem = errors.New("an ELF core of Linux has no form for a process of another system: its modules are not ELF files, and its exceptions are not signals")

// Formats of dumps.
const (
	ToCore     = "core"
	ToMinidump = "minidump"
)

// ErrSame means that a dump has the wanted format already.
var ErrSame = errors.New("it has that format already")

// Options are what the writer of a dump knows besides what is in it.
type Options struct {
	To        string                       // the format; "" for the one that the dump has not
	Args, Env []string                     // of a core, from its first stack
	Time      time.Time                    // when it died
	Name      func(unwind.ThreadID) string // of threads; "" if not known
}

// A Written describes what was written. Sizes are in bytes.
type Written struct {
	Size, Was uint64   // of the file, and of the dump that it was made of
	Format    string   // ToCore or ToMinidump
	Lost      []string // what was not carried over, in words
}

func (o *Options) name(id unwind.ThreadID) string {
	if o.Name == nil {
		return ""
	}
	return o.Name(id)
}

// maxLost limits the list of what was lost: a damaged dump can have a note every twelve bytes.
const maxLost = 64

// lose adds to the list of what was lost, once.
func (w *Written) lose(format string, args ...any) {
	switch s := fmt.Sprintf(format, args...); {
	case len(w.Lost) > maxLost || slices.Contains(w.Lost, s):
	case len(w.Lost) == maxLost:
		w.Lost = append(w.Lost, "more, which is not listed")
	default:
		w.Lost = append(w.Lost, s)
	}
}

// Notes of threads (include/uapi/linux/elf.h). Their owner is "LINUX".
const (
	notePRXFPReg = 0x46e62b7f
	note386TLS   = 0x200
	noteARMVFP   = 0x400
	notePACMask  = 0x406
)

// Sizes of vector state in bytes: the FXSAVE area; struct user_fpsimd_state without and with its padding; struct user_vfp.
const (
	fxsave     = 512
	fpsimd     = 32*16 + 8
	fpsimdNote = fpsimd + 8
	vfp        = 32*8 + 4
)

func machineOf(a *arch.Arch) (machine uint16, class int) {
	switch a {
	case arch.AMD64:
		return elffile.EM_X86_64, 64
	case arch.X86:
		return elffile.EM_386, 32
	case arch.ARM64:
		return elffile.EM_AARCH64, 64
	case arch.ARM:
		return elffile.EM_ARM, 32
	}
	return 0, 0
}

func archName(a *arch.Arch, other string) string {
	if a == nil {
		return other
	}
	return a.Name
}

// noteFlags are flags for the note of what the process had mapped.
func noteFlags(p libstate.Perm) uint32 {
	f := bits(p)
	if p&libstate.Unknown != 0 {
		f |= slimnote.UnknownPerm
	}
	return f
}

func flags(p libstate.Perm) uint32 {
	if p&libstate.Unknown != 0 {
		return elffile.PF_R
	}
	return bits(p)
}

func bits(p libstate.Perm) uint32 {
	f := uint32(0)
	for bit, flag := range map[libstate.Perm]uint32{libstate.Read: elffile.PF_R, libstate.Write: elffile.PF_W, libstate.Exec: elffile.PF_X} {
		if p&bit != 0 {
			f |= flag
		}
	}
	return f
}

// escape writes a path as /proc/PID/maps does.
func escape(path string) string { return strings.ReplaceAll(path, "\n", `\012`) }

// A counter counts what is written.
type counter struct {
	w io.Writer
	n uint64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += uint64(n)
	return n, err
}
