package image

import (
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/files/find"
)

// servedKinds learns whether the servers have PDBs or Breakpad symbol files. Most have only
// one kind, and each file they lack costs a round trip for every form in which it could be
// stored.
type servedKinds struct {
	pdb, sym atomic.Int32 // negative: number of modules for which the servers lacked this kind, while they never had any
}

// learnt is the number of modules without a PDB after which Breakpad files are asked for
// first.
const learnt = 3

func (s *servedKinds) of(kind find.SymbolKind) *atomic.Int32 {
	if kind == find.KindPDB {
		return &s.pdb
	}
	return &s.sym
}

// had records that a server had a file of this kind.
func (s *servedKinds) had(kind find.SymbolKind) { s.of(kind).Store(1) }

// lacked records that no server had a module's file of this kind.
func (s *servedKinds) lacked(kind find.SymbolKind) {
	n := s.of(kind)
	for old := n.Load(); old <= 0; old = n.Load() {
		if n.CompareAndSwap(old, old-1) {
			return
		}
	}
}

// order is the order in which to ask: PDBs first, which have more information, unless the
// servers seem to have only Breakpad files.
func (s *servedKinds) order() []find.SymbolKind {
	if s.pdb.Load() <= -learnt && s.sym.Load() > 0 {
		return []find.SymbolKind{find.KindBreakpad, find.KindPDB}
	}
	return []find.SymbolKind{find.KindPDB, find.KindBreakpad}
}
