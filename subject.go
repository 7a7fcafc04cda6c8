package corewalk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A state is a process as reports see it, at one moment.
type state interface {
	unwind.ProcessState
	Mappings() []libstate.Mapping
	// MappingAt answers also for memory that a dump does not have.
	MappingAt(unwind.Address) (libstate.Mapping, bool)
	// Signal is the signal that ended the process, or is about to.
	Signal() corestate.SignalInfo
	ThreadName(unwind.ThreadID) string
}

// A subject is what a Target was opened from: a core, or a running process. All
// that differs between them is here.
type subject interface {
	state
	// BuildLibraries finds the libraries; file finds the files of those whose headers
	// are not in memory.
	BuildLibraries(file func(*libstate.Library) *elffile.File) (*libstate.Table, []string)
	// DumpMemory is the memory without what files stand in for.
	DumpMemory() arch.Memory
	Warnings() []string
	Close() error

	// back lets files stand in for memory that the subject does not have.
	back(file func(*libstate.Library) *elffile.File)
	// moment is the process to report on, which does not change until it is released.
	// The release tells what did not come from that moment.
	moment() (s state, release func() []report.Warning, err error)
	describe() report.Dump
	// system is the operating system's name.
	system() string
	// notes are a core's.
	notes() []report.Note
	// held returns how many bytes of the mapping that begins at an address there are.
	held() func(libstate.Mapping) uint64
}

// A coreSubject is a core.
type coreSubject struct {
	*corestate.ELFCore
	path string
}

func (c coreSubject) DumpMemory() arch.Memory { return c.ELFCore.DumpMemory() }
func (c coreSubject) system() string          { return c.OS() }

func (c coreSubject) back(file func(*libstate.Library) *elffile.File) { c.SetBacking(file) }

func (c coreSubject) moment() (state, func() []report.Warning, error) {
	return c, func() []report.Warning { return nil }, nil
}

// ThreadName names a thread; "" where the core does not.
func (c coreSubject) ThreadName(id unwind.ThreadID) string {
	th, _ := c.Thread(id)
	return th.Name
}

func (c coreSubject) held() func(libstate.Mapping) uint64 {
	inDump := map[uint64]uint64{}
	for _, s := range c.Segments() {
		inDump[s.Start] = s.InDump
	}
	return func(m libstate.Mapping) uint64 { return inDump[m.Start] }
}

func (c coreSubject) describe() report.Dump {
	d := report.Dump{Path: c.path, Format: report.FormatELFCore, OS: strings.ToLower(c.OS()), PID: c.ProcessID(), Arch: c.ArchName(), CommandLine: c.Command()}
	if a := c.Arch(); a != nil {
		d.Arch = a.Name
	}
	d.Command = c.Name()
	// The core keeps fifteen characters of the name; the file's may be longer.
	if exe := filepath.Base(c.ExecutablePath()); exe != "." && (d.Command == "" || len(d.Command) >= 15 && strings.HasPrefix(exe, d.Command)) {
		d.Command = exe
	}
	cut, have, want := c.Truncated()
	d.Truncated, d.Size = cut, uint64(max(have, 0))
	if cut {
		d.FullSize = uint64(max(want, 0))
	}
	// A core does not say when it was written; its file does unless it was copied.
	if st, err := os.Stat(c.path); err == nil && st.Mode().IsRegular() {
		d.Time, d.TimeOfFile = st.ModTime(), true
	}
	return d
}

func (c coreSubject) notes() []report.Note {
	var out []report.Note
	for n := range c.Notes() {
		if len(out) == maxListed {
			break
		}
		r := report.Note{Owner: n.Owner[:min(len(n.Owner), maxOwner)], Type: n.Name, Size: n.Size}
		if r.Type == "" {
			r.Type = fmt.Sprintf("%#x", n.Type)
		}
		if n.Thread != unwind.NullThread {
			r.Thread = int(n.Thread)
		}
		if n.Truncated {
			r.Detail = fmt.Sprintf("cut off after %d bytes", len(n.Data))
		}
		out = append(out, r)
	}
	return out
}
