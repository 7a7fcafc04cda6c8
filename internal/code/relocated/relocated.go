// Package relocated keeps the code that Dyninst relocated in the libraries of one
// process. A library's file shows whether it has any; if Dyninst used traps, the
// process's memory has their table.
package relocated

import (
	"sync"

	"github.com/corewalk/corewalk/internal/code/dyninst"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Map has the relocated code of one process. It may be used by several goroutines.
type Map struct {
	files modules.Source
	libs  sync.Map // *libstate.Library -> *entry
}

type entry struct {
	once sync.Once
	code *dyninst.Code
}

// New returns the map of a process whose files come from files.
func New(files modules.Source) *Map { return &Map{files: files} }

// Code returns the relocated code of lib, or nil if Dyninst did not rewrite its file. a
// is the process's architecture and mem its memory.
func (m *Map) Code(lib *libstate.Library, a *arch.Arch, mem arch.Memory) *dyninst.Code {
	v, ok := m.libs.Load(lib)
	if !ok {
		v, _ = m.libs.LoadOrStore(lib, &entry{})
	}
	e := v.(*entry)
	e.once.Do(func() {
		im := (*image.Image)(m.files.Image(lib))
		e.code = dyninst.Open(dyninst.Source{File: im.ELF(), Arch: a, SymbolAt: im.SymbolAt, SymbolByName: im.SymbolByName,
			Mem: mem, Bias: lib.LoadBias})
	})
	return e.code
}

// Original returns the address that the code at pc was relocated from. Both are
// addresses in lib's file. It returns false for code that was not relocated.
func (m *Map) Original(lib *libstate.Library, pc uint64, a *arch.Arch, mem arch.Memory) (uint64, bool) {
	code := m.Code(lib, a, mem)
	if !code.Contains(pc) {
		return 0, false
	}
	p, ok := code.Original(pc)
	return p.Addr, ok && !p.Tramp
}
