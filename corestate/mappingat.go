package corestate

import (
	"slices"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// MappingAt returns the mapping that holds addr, whether the dump has its bytes
// or not; false when the process had nothing there.
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
	return c.maps[i], true
}
