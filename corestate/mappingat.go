package corestate

import (
	"slices"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// MappingAt returns the mapping that holds addr, whether the dump has its bytes
// or not; false when the process had nothing there. Permissions that the dump
// does not tell are those that the library's headers give, once the libraries
// have been built; else the mapping may be code.
func (c *ELFCore) MappingAt(addr arch.Address) (libstate.Mapping, bool) {
	i, _ := slices.BinarySearchFunc(c.maps, addr, func(m libstate.Mapping, a arch.Address) int {
		if m.End <= a {
			return -1
		}
		return 1
	})
	if i >= len(c.maps) || c.maps[i].Start > addr {
		return libstate.Mapping{}, false
	}
	m := c.maps[i]
	if m.Perm&libstate.Unknown != 0 {
		m.Perm |= libstate.Read | libstate.Exec
		if lib, ok := c.libraryAt(addr); ok {
			if of := mappingOver(lib, addr); of != nil {
				m.Perm = of.Perm
			}
		}
	}
	return m, true
}
