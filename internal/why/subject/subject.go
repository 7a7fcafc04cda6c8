// Package subject is what a Target was opened from: a core, a minidump, a running
// process, or this program itself. Each answers the same questions, so that nothing
// above asks which of them it is.
package subject

import (
	"fmt"
	"iter"
	"time"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/live/livecore"
	"github.com/corewalk/corewalk/internal/why/message"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A State is a process as reports see it, at one moment.
type State interface {
	unwind.ProcessState
	Mappings() []libstate.Mapping
	// MappingAt answers also for memory that a dump does not have.
	MappingAt(unwind.Address) (libstate.Mapping, bool)
	// Signal is the signal that ended the process, or is about to.
	Signal() corestate.SignalInfo
	// ThreadName names a thread; "" for not known.
	ThreadName(unwind.ThreadID) string
}

// A Subject is what a Target was opened from.
type Subject interface {
	State
	Files
	Death
	Listing

	// Describe says what was opened and what of it is there.
	Describe() report.Dump
	// Warnings lists what was wrong with a dump and could be worked around.
	Warnings() []string
	// System is the operating system's name: "Linux", "Windows" ...; "" for not known.
	System() string
	// Moment is the process to report on. The caller releases it.
	Moment() (Moment, error)
	// Records are the pieces that tell a dump from others of its size, each with its
	// type: a core's notes, a minidump's streams. A running process has none.
	Records() iter.Seq2[uint32, []byte]
	// WriteCore writes the core of a running process to f, an empty file. The error
	// for others wraps livestate.ErrUnsupported.
	WriteCore(f livecore.File, o livecore.Options) (*livecore.Result, error)
	Close() error

	// Core, Minidump and Live are for callers of the library who need what the other
	// questions do not tell; nil for a Subject of another kind.
	Core() *corestate.ELFCore
	Minidump() *corestate.Minidump
	Live() *livestate.Process
}

// Files is how a Subject and the files of its modules come together.
type Files interface {
	// BuildLibraries finds the libraries; file finds the files of those whose headers
	// are not in memory.
	BuildLibraries(file func(*libstate.Library) *elffile.File) (*libstate.Table, []string)
	// DumpMemory is the memory without what files stand in for.
	DumpMemory() arch.Memory
	// SetBacking lets files stand in for memory that the Subject does not have.
	SetBacking(file func(*libstate.Library) *elffile.File)
}

// Death is why a process ended, besides its signal.
type Death interface {
	// Exception is what ended a process on a system without signals; nil for none.
	Exception() *reason.Exception
	// UnknownCause reports whether the process died of something that is not named.
	UnknownCause() bool
	// Words are what the writer of a dump recorded of the process's own last words:
	// the assertion that failed, and other text.
	Words() (assertion, text message.Words)
	// LastError is a thread's last error code on Windows, in words; "" for not known.
	LastError(unwind.ThreadID) string
}

// Listing is what Info lists.
type Listing interface {
	// KnowsMappings reports whether Mappings are all of the process: then an address
	// in none of them was not mapped.
	KnowsMappings() bool
	// Held returns how many bytes of a mapping there are to read.
	Held() func(libstate.Mapping) uint64
	// Notes lists a core's notes or a minidump's streams, MaxListed at most.
	Notes() []report.Note
	// Details are what is told besides threads, modules and memory; nil for nothing.
	Details() *report.Details
	// ThreadInfos describe the threads, where there is more to tell than their stacks.
	ThreadInfos() []report.ThreadInfo
	// MemoryInfo tells what memory there is, where Mappings do not say it all; with
	// lists it lists the ranges. nil for nothing to tell.
	MemoryInfo(lists bool) *report.MemoryInfo
}

// A Moment is a process that does not change until it is released.
type Moment struct {
	State   State
	pause   func() time.Duration
	release func() []report.Warning
}

// Pause is how long a running process has stood still for the Moment; 0 for others.
func (m Moment) Pause() time.Duration {
	if m.pause == nil {
		return 0
	}
	return m.pause()
}

// Release lets a running process go on, and tells what was not of the Moment.
func (m Moment) Release() []report.Warning {
	if m.release == nil {
		return nil
	}
	return m.release()
}

// MaxListed bounds each list of a Listing: several times what a process of ten
// thousand threads has. A damaged core can make a note of every twelve bytes.
const MaxListed = 1 << 17

// clipped is as much of a list as is listed.
func clipped[T any](list []T) []T { return list[:min(len(list), MaxListed)] }

// Numbering is how the system of s numbers signals.
func Numbering(s Subject) reason.Numbering { return reason.NumberingOf(s.System(), s.Arch()) }

// Signal is the signal that ended the process, for a report of now; nil for none.
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
		Addr: sig.Addr, HasAddr: sig.HasAddr, PID: sig.PID, UID: sig.UID, Syscall: sig.Syscall,
		OwnPID: now.ProcessID(), TID: int(tid), Numbers: Numbering(s),
	}
}

// Mappings lists the process's memory with the files it was mapped from, MaxListed
// mappings at most.
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

// linuxDetails counts the mappings of a process on Linux, where the kernel limits
// them (vm.max_map_count).
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

// plain answers the questions that most subjects have nothing to say to.
type plain struct{}

func (plain) Exception() *reason.Exception           { return nil }
func (plain) UnknownCause() bool                     { return false }
func (plain) Words() (assertion, text message.Words) { return }
func (plain) LastError(unwind.ThreadID) string       { return "" }
func (plain) ThreadInfos() []report.ThreadInfo       { return nil }
func (plain) MemoryInfo(bool) *report.MemoryInfo     { return nil }
func (plain) Core() *corestate.ELFCore               { return nil }
func (plain) Minidump() *corestate.Minidump          { return nil }
func (plain) Live() *livestate.Process               { return nil }

func (plain) WriteCore(livecore.File, livecore.Options) (*livecore.Result, error) {
	return nil, fmt.Errorf("write a core: not a running process: %w", livestate.ErrUnsupported)
}
