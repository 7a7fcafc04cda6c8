// Package subject is what a Target was opened from: a core, a minidump, a running process, or this program
// itself. All of them answer the same questions, so that no other room needs to know which one it has.
package subject

import (
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/carry/convert"
	"github.com/corewalk/corewalk/internal/carry/slim"
	"github.com/corewalk/corewalk/internal/live/livecore"
	"github.com/corewalk/corewalk/internal/why/message"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A State is a process at one moment, as reports see it.
type State interface {
	unwind.ProcessState
	Mappings() []libstate.Mapping
	// MappingAt returns the mapping at an address, even if the dump does not have its memory.
	MappingAt(unwind.Address) (libstate.Mapping, bool)
	// Signal returns the signal that ended the process, or is about to.
	Signal() corestate.SignalInfo
	// ThreadName returns the name of a thread; "" if not known.
	ThreadName(unwind.ThreadID) string
}

// A Subject is what a Target was opened from.
type Subject interface {
	State
	Files
	Death
	Listing

	// Describe says what was opened, and how much of it is there.
	Describe() report.Dump
	// Started says how the process was started.
	Started() Start
	// Warnings lists the defects of a dump that could be worked around.
	Warnings() []string
	// System returns the operating system's name: "Linux", "Windows" ...; "" if not known.
	System() string
	// Moment returns the process to report on. The caller must release it. more, if not nil, says what has to be of that
	// moment besides registers and stacks, if the process goes on.
	Moment(more More) (Moment, error)
	// Records yields the pieces that identify a dump, each with its type: a core's notes, a minidump's streams.
	// A running process has none.
	Records() iter.Seq2[uint32, []byte]
	// WriteCore writes the core of a running process to f, an empty file. For other Subjects the error wraps
	// livestate.ErrUnsupported.
	WriteCore(f livecore.File, o livecore.Options) (*livecore.Result, error)
	// Said returns the note of a slim core that has what was known from files: slimnote.TypeKept or TypeMade; nil for others.
	Said(noteType uint32) []byte
	// WriteSlim writes a dump with what was read of this one, and what readers with more files will read: of that
	// at most reach bytes. For kinds of Subjects that have no slim form the error wraps slim.ErrUnsupported.
	WriteSlim(w io.Writer, read *corestate.Reads, reach uint64, o slim.Options) (*slim.Written, error)
	// Convert writes a minidump of a core, or a core of a minidump; to is what it should be, "" for either. For other Subjects the error is convert.ErrUnsupported.
	Convert(w io.Writer, to string) (*convert.Written, error)
	Close() error
	// CloseAtExit is Close before the program ends: it undoes what the end of the program does not.
	CloseAtExit() error

	// Core, Minidump and Live are for callers of the library who need more than the other methods offer; nil
	// for a Subject of another kind.
	Core() *corestate.ELFCore
	Minidump() *corestate.Minidump
	Live() *livestate.Process
}

// Files connects a Subject with the files of its modules.
type Files interface {
	// BuildLibraries finds the libraries. files has those whose headers are not in memory.
	BuildLibraries(files modules.Source) (*libstate.Table, []string)
	// Recorder is how the process names files that it writes for profilers.
	Recorder() Recorder
	// DumpMemory returns the memory in the dump, without what files supply.
	DumpMemory() arch.Memory
	// SetBacking lets files supply memory that the Subject does not have.
	SetBacking(files modules.Source)
}

// A Recorder is a process that records for profilers what code it makes.
type Recorder struct {
	PID int // in its own namespace of ids, which the names of its files have; 0 for ProcessID
	// Owner is something that has the owner of the process, and when it started (ModTime), if that runs on this machine; else nil.
	Owner fs.FileInfo
}

// Death says why a process ended, besides its signal.
type Death interface {
	// Exception returns what ended a process on a system without signals; nil if nothing did.
	Exception() *reason.Exception
	// UnknownCause reports whether the process died of something that the dump does not name.
	UnknownCause() bool
	// Words returns what the writer of a dump recorded of the process's own messages: the failed assertion, and
	// other text.
	Words() (assertion, text message.Words)
	// Blocked returns the signals that a thread blocks, bit n-1 for signal n; false if that is not known.
	Blocked(unwind.ThreadID) (uint64, bool)
	// LastError returns a thread's last error code on Windows, by name; "" if not known.
	LastError(unwind.ThreadID) string
}

// Listing is what Info lists.
type Listing interface {
	// KnowsMappings reports whether Mappings lists all of the process's mappings, so that an address in none of
	// them was not mapped.
	KnowsMappings() bool
	// Held returns how many bytes of a mapping can be read.
	Held() func(libstate.Mapping) uint64
	// Notes lists a core's notes or a minidump's streams, at most MaxListed.
	Notes() []report.Note
	// Details returns what is known besides threads, modules and memory; nil for nothing.
	Details() *report.Details
	// ThreadInfos describes the threads, if more than their stacks is known.
	ThreadInfos() []report.ThreadInfo
	// MemoryInfo says which memory there is, if Mappings does not say it all; with lists it lists the ranges.
	// It returns nil if there is nothing to add.
	MemoryInfo(lists bool) *report.MemoryInfo
}

// More is called while a process is stopped: it calls take with ranges of memory, first and exclusive last address, and reads
// them from mem.
type More = func(mem arch.Memory, take func(ranges [][2]arch.Address))

// A Moment is a process that does not change until it is released.
type Moment struct {
	State State
	// Activity is what each thread of a running process did just before; nil for others.
	Activity map[unwind.ThreadID]livestate.Activity
	pause    func() time.Duration
	release  func() []report.Warning
	moving   bool
}

// Moving reports whether memory outside the stacks is read while the process goes on.
func (m Moment) Moving() bool { return m.moving }

// Pause returns how long a running process was stopped for the Moment; 0 for others.
func (m Moment) Pause() time.Duration {
	if m.pause == nil {
		return 0
	}
	return m.pause()
}

// Pending reports whether Release has something to do: then the report should be made before it is shown.
func (m Moment) Pending() bool { return m.release != nil }

// Release lets a running process continue, and returns warnings about data that is newer than the Moment.
func (m Moment) Release() []report.Warning {
	if m.release == nil {
		return nil
	}
	return m.release()
}

// MaxListed is the maximum length of each list in a Listing: several times what a process with ten thousand
// threads has. A damaged core can have a note every twelve bytes.
const MaxListed = 1 << 17

// clipped returns as much of a list as is listed.
func clipped[T any](list []T) []T { return list[:min(len(list), MaxListed)] }

// Numbering returns how the system of s numbers signals.
func Numbering(s Subject) reason.Numbering { return reason.NumberingOf(s.System(), s.Arch()) }

// Signal returns the signal that ended the process, for a report on now; nil if there is none.
func Signal(s Subject, now State) *reason.Signal {
	sig := now.Signal()
	if (sig.Source == corestate.NoSignal || sig.Signo == 0) && !s.UnknownCause() {
		return nil
	}
	tid, err := now.DefaultThread()
	if err != nil {
		tid = unwind.NullThread
	}
	return &reason.Signal{
		Number: sig.Signo, Code: sig.Code, HasInfo: sig.Source == corestate.FullSigInfo,
		Addr: sig.Addr, HasAddr: sig.HasAddr, PID: sig.PID, UID: sig.UID, Syscall: sig.Syscall, NoSyscall: !sig.HasSyscall,
		OwnPID: now.ProcessID(), TID: int(tid), Numbers: Numbering(s),
	}
}

// Mappings lists the process's mappings with their files, at most MaxListed.
func Mappings(s Subject) []report.Mapping {
	held := s.Held()
	maps := clipped(s.Mappings())
	out := make([]report.Mapping, 0, len(maps))
	for _, m := range maps {
		out = append(out, report.Mapping{
			Start: report.Addr(m.Start), End: report.Addr(m.End), Perm: m.Perm.String(),
			Offset: report.Addr(m.Offset), File: m.Path, InDump: held(m),
		})
	}
	return out
}

// linuxDetails counts the mappings of a Linux process; the kernel limits their number (vm.max_map_count).
func linuxDetails(s interface {
	System() string
	Mappings() []libstate.Mapping
}) *report.Details {
	if s.System() != "Linux" {
		return nil
	}
	if n := len(s.Mappings()); n > 0 {
		return &report.Details{Mappings: n}
	}
	return nil
}

// plain answers the questions for which most subjects have no answer.
type plain struct{}

func (plain) Exception() *reason.Exception           { return nil }
func (plain) UnknownCause() bool                     { return false }
func (plain) Recorder() Recorder                     { return Recorder{} }
func (plain) Blocked(unwind.ThreadID) (uint64, bool) { return 0, false }
func (plain) Words() (assertion, text message.Words) { return }
func (plain) CloseAtExit() error                     { return nil }
func (plain) Started() Start                         { return Start{} }
func (plain) LastError(unwind.ThreadID) string       { return "" }
func (plain) ThreadInfos() []report.ThreadInfo       { return nil }
func (plain) MemoryInfo(bool) *report.MemoryInfo     { return nil }
func (plain) Core() *corestate.ELFCore               { return nil }
func (plain) Minidump() *corestate.Minidump          { return nil }
func (plain) Live() *livestate.Process               { return nil }

// Said is for cores.
func (plain) Said(uint32) []byte { return nil }

// WriteSlim is for cores.
func (plain) WriteSlim(io.Writer, *corestate.Reads, uint64, slim.Options) (*slim.Written, error) {
	return nil, slim.ErrUnsupported
}

// Convert is for dumps.
func (plain) Convert(io.Writer, string) (*convert.Written, error) { return nil, convert.ErrUnsupported }

func (plain) WriteCore(livecore.File, livecore.Options) (*livecore.Result, error) {
	return nil, fmt.Errorf("cannot write a core: not a running process: %w", livestate.ErrUnsupported)
}
