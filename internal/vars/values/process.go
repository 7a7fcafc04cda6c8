package values

import (
	"errors"

	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Process has what values need of the process. Several goroutines may use it.
type Process struct {
	Arch    *arch.Arch
	Memory  arch.Memory
	Types   *types.Set
	Symbols Symbols

	LongDouble FloatFormat // of a long double of 16 bytes
	MaxAlign   uint64      // the largest alignment of a scalar in a struct, in bytes
	// VirtualInAdjust says that the adjustment in a pointer to a member function tells whether
	// the function is virtual, since addresses of code may be odd (Itanium C++ ABI, 2.3).
	VirtualInAdjust bool

	names symbolNames
}

// Symbols finds the symbol around an address of the process.
type Symbols interface {
	SymbolAt(addr arch.Address) (Symbol, bool)
}

// Int reads an integer of size bytes, at most 8, from the process's memory.
func (p *Process) Int(addr arch.Address, size int, signed bool) (uint64, error) {
	b := make([]byte, min(max(size, 0), 8))
	if err := p.Read(addr, b); err != nil {
		return 0, err
	}
	return types.Resize(types.Uint(b, p.Arch.Big()), size, signed), nil
}

// Read fills b from the process's memory. The error is an *unknown.Memory.
func (p *Process) Read(addr arch.Address, b []byte) error {
	_, err := p.Memory.ReadMem(addr, b)
	if err == nil {
		return nil
	}
	var mem *arch.MemError
	if errors.As(err, &mem) {
		return &unknown.Memory{Addr: mem.Addr, Err: mem.Err}
	}
	return &unknown.Memory{Addr: addr, Err: err}
}
