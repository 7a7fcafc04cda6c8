package analysis

import (
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A program is what the program's own file says of a process, for an allocator that is linked into it.
type program struct {
	in     *Engine
	unread error // why the heap of one that is there cannot be read
}

// SymbolNamed implements gtcmalloc.Program.
func (p *program) SymbolNamed(name string) (addr, size uint64, ok bool) {
	libs := p.in.Proc.LibraryTracker()
	if libs == nil || p.in.Walker == nil {
		return 0, 0, false
	}
	reader := p.in.Walker.SymbolReader()
	if list, _ := libs.Libraries(false); reader != nil && len(list) > 0 {
		if s, ok := reader.SymbolByName(list[0], name); ok {
			return uint64(s.Addr), s.Size, true
		}
	}
	return 0, 0, false
}

// TypeOfUnit implements gtcmalloc.Program.
func (p *program) TypeOfUnit(code uint64, name string) (*types.Type, bool) {
	if p.in.Variables == nil {
		return nil, false
	}
	return where.ProcessOf(p.in.Variables).TypeOfUnit(arch.Address(code), name)
}

func (p *program) noteUnread(err error) { p.unread = err }

// A wholeProcess is a process of which all may be read.
type wholeProcess struct {
	heap.Process
	*program
}

// ViewMem has bytes that the process has at hand.
func (p wholeProcess) ViewMem(addr arch.Address, n int) []byte {
	if v, ok := p.Process.(interface {
		ViewMem(addr arch.Address, n int) []byte
	}); ok {
		return v.ViewMem(addr, n)
	}
	return nil
}
