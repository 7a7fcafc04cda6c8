package modules

import (
	"sync"

	"github.com/corewalk/corewalk/internal/code/dyninst"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

type relocated struct {
	once sync.Once
	code *dyninst.Code
}

// Rewritten returns the relocated code of lib, of a process of architecture a; nil
// when Dyninst did not rewrite its file. It fetches as Image does.
func (s *Set) Rewritten(a *arch.Arch, lib *libstate.Library) *dyninst.Code {
	v, ok := s.relocated.Load(lib)
	if !ok {
		v, _ = s.relocated.LoadOrStore(lib, &relocated{})
	}
	r := v.(*relocated)
	r.once.Do(func() {
		im := s.Image(lib)
		r.code = dyninst.Open(dyninst.Source{File: im.ELF(), Arch: a, SymbolAt: im.SymbolAt, SymbolByName: im.SymbolByName,
			Mem: s.mem, Bias: lib.LoadBias})
	})
	return r.code
}
