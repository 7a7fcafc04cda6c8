package remotetest

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Stopped process has memory and modules, and frames that tests make. Its only thread, 1, has no registers.
type Stopped struct {
	unwind.ProcessState
	Memory arch.Memory
	Libs   libstate.LibraryState
	CPU    *arch.Arch
}

// NewStopped is a process of x86-64 with modules.
func NewStopped(memory arch.Memory, modules ...*libstate.Library) *Stopped {
	return &Stopped{Memory: memory, Libs: libstate.NewTable(modules, 0), CPU: arch.AMD64}
}

// ModuleSize is how many bytes a Module has.
const ModuleSize = 0x10000

// Module is a module all of which is code.
func Module(path string, at uint64) *libstate.Library {
	end := at + ModuleSize
	return &libstate.Library{Path: path, Start: at, End: end, Mappings: []libstate.Mapping{{Start: at, End: end, Perm: libstate.Read | libstate.Exec}}}
}

// These implement unwind.ProcessState.
func (s *Stopped) Arch() *arch.Arch                                   { return s.CPU }
func (s *Stopped) ProcessID() int                                     { return 1 }
func (s *Stopped) ThreadIDs() ([]unwind.ThreadID, error)              { return []unwind.ThreadID{1}, nil }
func (s *Stopped) DefaultThread() (unwind.ThreadID, error)            { return 1, nil }
func (s *Stopped) PreStackwalk(unwind.ThreadID) error                 { return nil }
func (s *Stopped) PostStackwalk(unwind.ThreadID) error                { return nil }
func (s *Stopped) IsFirstParty() bool                                 { return false }
func (s *Stopped) LibraryTracker() libstate.LibraryState              { return s.Libs }
func (s *Stopped) ExecutablePath() string                             { return "" }
func (s *Stopped) ReadMem(at arch.Address, b []byte) (int, error)     { return s.Memory.ReadMem(at, b) }
func (s *Stopped) ReadWord(at arch.Address) (uint64, error)           { return s.Memory.ReadWord(at) }
func (s *Stopped) Registers(unwind.ThreadID) (r arch.RegSet, _ error) { return r, unwind.ErrNoThread }

// Frame makes a frame of a process, with registers that are on the stack.
func Frame(tb testing.TB, p unwind.ProcessState, pc, sp uint64, regs map[arch.Reg]uint64) *unwind.Frame {
	tb.Helper()
	w, err := unwind.NewWalker(p)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { w.Close() })
	f, err := unwind.NewFrame(pc, sp, 0, w)
	if err != nil {
		tb.Fatal(err)
	}
	for reg, v := range regs {
		f.SetReg(reg, v, unwind.AtAddress(sp))
	}
	return f
}
