package subject

import (
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/carry/convert"
	"github.com/corewalk/corewalk/internal/carry/slim"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/internal/why/process"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// A coreSubject is a core.
type coreSubject struct {
	*corestate.ELFCore
	plain
	path string
	*asked
}

// An asked has what is asked several times for one report.
type asked struct {
	started  func() Start
	recorded func() coredump
}

func newCore(core *corestate.ELFCore, path string) coreSubject {
	c := coreSubject{ELFCore: core, path: path, asked: new(asked)}
	c.started = sync.OnceValue(c.readStart)
	c.recorded = sync.OnceValue(func() coredump { return coredumpOf(path) })
	return c
}

func (c coreSubject) System() string              { return c.OS() }
func (c coreSubject) Moment(More) (Moment, error) { return Moment{State: c}, nil }
func (c coreSubject) Details() *report.Details    { return linuxDetails(c) }
func (c coreSubject) Core() *corestate.ELFCore    { return c.ELFCore }

// Records yields the notes.
func (c coreSubject) Records() iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		for n := range c.ELFCore.Notes() {
			if !yield(n.Type, n.Data) {
				return
			}
		}
	}
}

// Blocked returns the signals that a thread blocks. Cores that debuggers write have none.
func (c coreSubject) Blocked(id unwind.ThreadID) (uint64, bool) {
	t, ok := c.Thread(id)
	return t.SigHold, ok && t.SigHold != 0
}

// ThreadName returns the name of a thread; "" if the core has none.
func (c coreSubject) ThreadName(id unwind.ThreadID) string {
	th, _ := c.Thread(id)
	return th.Name
}

func (c coreSubject) Held() func(libstate.Mapping) uint64 {
	segs := c.Segments()
	return func(m libstate.Mapping) uint64 {
		n := uint64(0)
		i := sort.Search(len(segs), func(i int) bool { return segs[i].End > m.Start })
		for ; i < len(segs) && segs[i].Start < m.End; i++ {
			s := &segs[i]
			if lo, hi := max(s.Start, m.Start), min(s.Start+s.InDump, m.End); lo < hi {
				n += hi - lo
			}
		}
		return n
	}
}

func (c coreSubject) Describe() report.Dump {
	d := report.Dump{Path: c.path, From: c.From(), Format: report.FormatELFCore, OS: strings.ToLower(c.OS()), PID: c.ProcessID(), Arch: c.ArchName(), CommandLine: process.MaskLine(c.Command())}
	if a := c.Arch(); a != nil {
		d.Arch = a.Name
	}
	d.Command = c.Name()
	// The core has only the first fifteen characters of the name; the file's name may be longer.
	if exe := filepath.Base(c.ExecutablePath()); exe != "." && (d.Command == "" || len(d.Command) >= 15 && strings.HasPrefix(exe, d.Command) || c.titled(d.Command) || startedAs(exe, c.Command())) {
		d.Command = exe
	}
	cut, have, want := c.Truncated()
	setSize(&d, cut, have, want)
	// A core does not record when it was written. systemd-coredump does, and the file's time does, unless the
	// file was copied.
	if at := c.recorded().time; !at.IsZero() {
		d.Time = at
	} else if st, err := os.Stat(c.path); err == nil && st.Mode().IsRegular() {
		d.Time, d.TimeOfFile = st.ModTime(), true
	}
	return d
}

// titled reports whether a program's name is of its title. What the core has of the title may be cut: all of it is on the first stack.
func (c coreSubject) titled(name string) bool {
	return ofTitle(name, c.Command()) || strings.Contains(name, " ") && ofTitle(name, strings.Join(c.Started().Arguments, " "))
}

// startedAs reports whether a program was started by the name of its file: another name is what its first thread calls itself, as Node's does.
func startedAs(exe, command string) bool {
	first, _, _ := strings.Cut(command, " ")
	return filepath.Base(first) == exe
}

// ofTitle reports whether a program's name is a piece of the title that a daemon wrote over its arguments: gdb takes what is behind the last slash of the first
// argument, which then is all of the title.
func ofTitle(name, title string) bool {
	slash := strings.LastIndexByte(title, '/') + 1
	const most = 15 // bytes that a core has room for
	return name != "" && (title[slash:] == name || len(name) >= most && strings.HasPrefix(title[slash:], name)) && strings.Contains(title[:slash]+name, " ")
}

// Convert makes a minidump.
func (c coreSubject) Convert(w io.Writer, to string) (*convert.Written, error) {
	s := c.Started()
	return convert.Minidump(w, c.ELFCore, convert.Options{To: to, Args: s.Arguments, Env: s.Env, Time: c.Describe().Time, Name: c.ThreadName})
}

// Said returns the first note of that type.
func (c coreSubject) Said(noteType uint32) []byte {
	for n := range c.ELFCore.Notes() {
		if n.Owner == slimnote.Owner && n.Type == noteType {
			return n.Data
		}
	}
	return nil
}

// WriteSlim keeps what was read of the core.
func (c coreSubject) WriteSlim(w io.Writer, read *corestate.Reads, reach uint64, o slim.Options) (*slim.Written, error) {
	return slim.ELF(w, c.ELFCore, slim.Collect(c.ELFCore, read, slim.Choice{Reach: reach}), o)
}

// maxOwner is the longest owner name of a note that is shown, in bytes.
const maxOwner = 64

func (c coreSubject) Notes() []report.Note {
	var out []report.Note
	for n := range c.ELFCore.Notes() {
		if len(out) == MaxListed {
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
