//go:build !linux

package livestate

import (
	"time"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Process is a running process that this program traces. There are none on this
// host.
type Process struct{ none }

// Attach fails with ErrUnsupported.
func Attach(int, ...Option) (*Process, error) { return nil, ErrUnsupported }

// Launch fails with ErrUnsupported.
func Launch(string, []string, ...Option) (*Process, error) { return nil, ErrUnsupported }

// Adopt fails with ErrUnsupported.
func Adopt(int, func(func()), ...Option) (*Process, error) { return nil, ErrUnsupported }

// A Snapshot is a process at one moment.
type Snapshot struct{ none }

func (Snapshot) PagesReadLate() int   { return 0 }
func (Snapshot) Pause() time.Duration { return 0 }
func (Snapshot) Process() *Process    { return nil }

func (Snapshot) Unstopped() []unwind.ThreadID { return nil }

// none returns the error of a Process that cannot exist.
type none struct{}

func (none) Close() error                                       { return ErrUnsupported }
func (none) Arch() *arch.Arch                                   { return nil }
func (none) ProcessID() int                                     { return 0 }
func (none) ThreadIDs() ([]unwind.ThreadID, error)              { return nil, ErrUnsupported }
func (none) DefaultThread() (unwind.ThreadID, error)            { return unwind.NullThread, ErrUnsupported }
func (none) Registers(unwind.ThreadID) (r arch.RegSet, _ error) { return r, ErrUnsupported }
func (none) RegisterBlock(unwind.ThreadID) ([]byte, error)      { return nil, ErrUnsupported }
func (none) FPRegs(unwind.ThreadID) ([]byte, bool)              { return nil, false }
func (none) XState(unwind.ThreadID) ([]byte, bool)              { return nil, false }
func (none) ThreadNote(unwind.ThreadID, string, uint32) ([]byte, bool) {
	return nil, false
}
func (none) CodeMask() arch.Address                                        { return 0 }
func (none) PreStackwalk(unwind.ThreadID) error                            { return ErrUnsupported }
func (none) PostStackwalk(unwind.ThreadID) error                           { return ErrUnsupported }
func (none) StopAll() error                                                { return ErrUnsupported }
func (none) ResumeAll() error                                              { return ErrUnsupported }
func (none) IsFirstParty() bool                                            { return false }
func (none) LibraryTracker() libstate.LibraryState                         { return nil }
func (none) ExecutablePath() string                                        { return "" }
func (none) Auxv() libstate.Auxv                                           { return nil }
func (none) ReadMem(arch.Address, []byte) (int, error)                     { return 0, ErrUnsupported }
func (none) ReadWord(arch.Address) (uint64, error)                         { return 0, ErrUnsupported }
func (none) Mappings() []libstate.Mapping                                  { return nil }
func (none) MappingAt(arch.Address) (m libstate.Mapping, _ bool)           { return m, false }
func (none) Activity() map[unwind.ThreadID]Activity                        { return nil }
func (none) ThreadName(unwind.ThreadID) string                             { return "" }
func (none) Signal() (s corestate.SignalInfo)                              { return s }
func (none) ThreadSignal(unwind.ThreadID) (s corestate.SignalInfo, _ bool) { return s, false }
func (none) Exited() (status, signal int, exited bool)                     { return 0, 0, false }
func (none) SnapshotWith(func(arch.Memory, func([][2]arch.Address))) (*Snapshot, error) {
	return nil, ErrUnsupported
}
func (none) Snapshot() (*Snapshot, error)           { return nil, ErrUnsupported }
func (none) Root() string                           { return "" }
func (none) HeldFiles(string, bool) []string        { return nil }
func (none) Descriptor(int) string                  { return "" }
func (none) LockHolder(int) int                     { return 0 }
func (none) OwnThreadID(id unwind.ThreadID) uint64  { return uint64(id) }
func (none) CommandLine() string                    { return "" }
func (none) Kill() error                            { return ErrUnsupported }
func (none) NotificationFD() (int, error)           { return -1, ErrUnsupported }
func (none) WatchEvents() error                     { return ErrUnsupported }
func (none) StopEvents() error                      { return ErrUnsupported }
func (none) HandleDebugEvent(bool) ([]Event, error) { return nil, ErrUnsupported }
func (none) BuildLibraries(modules.Source) (*libstate.Table, []string) {
	return nil, nil
}
