package livestate

import (
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/unwind"
)

// BehindTrap reports whether the thread is about to die at a breakpoint instruction and
// its pc is after that instruction.
func (p *Process) BehindTrap(tid unwind.ThreadID) bool {
	f := p.fatal.Load()
	if f == nil || tid != f.tid {
		return false
	}
	regs, err := p.Registers(tid)
	return err == nil && corestate.BehindBreakpoint(p.Arch(), f.info, regs, p)
}

// BehindTrap reports whether the thread was about to die at a breakpoint instruction
// and its pc was after that instruction.
func (s *Snapshot) BehindTrap(tid unwind.ThreadID) bool {
	if s.signal.Signo == 0 || tid != s.threads[0].id {
		return false
	}
	regs, err := s.Registers(tid)
	return err == nil && corestate.BehindBreakpoint(s.arch, s.signal, regs, s)
}

var (
	_ unwind.TrapState = (*Process)(nil)
	_ unwind.TrapState = (*Snapshot)(nil)
)
