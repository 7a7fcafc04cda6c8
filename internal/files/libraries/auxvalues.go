package libraries

import "github.com/corewalk/corewalk/libstate"

// address is Auxv.Get for a pointer: 0 if there is none.
func address(a libstate.Auxv, key uint64) uint64 {
	v, _ := a.Get(key)
	return v
}

// pageSize returns ATPageSize if that is a page size that some kernel uses, otherwise
// 4096.
func pageSize(a libstate.Auxv) uint64 {
	if v, ok := a.Get(libstate.ATPageSize); ok && v >= 4096 && v <= 1<<20 && v&(v-1) == 0 {
		return v
	}
	return 4096
}
