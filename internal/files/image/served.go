package image

import (
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/files/find"
)

// servedKinds learns which kind of symbol file the servers have, of PDBs and Breakpad's:
// most have one of them only, and each question that is answered with no costs a round
// trip for every form that a file may have there.
type servedKinds struct {
	pdb, sym atomic.Int32 // below 0: how often the servers lacked one and never had any
}

// learnt is how many modules without a PDB it takes to ask for the other first.
const learnt = 3

func (s *servedKinds) of(kind find.SymbolKind) *atomic.Int32 {
	if kind == find.KindPDB {
		return &s.pdb
	}
	return &s.sym
}

// had tells that a server had a file of the kind.
func (s *servedKinds) had(kind find.SymbolKind) { s.of(kind).Store(1) }

// lacked tells that none had one of a module.
func (s *servedKinds) lacked(kind find.SymbolKind) {
	n := s.of(kind)
	for old := n.Load(); old <= 0; old = n.Load() {
		if n.CompareAndSwap(old, old-1) {
			return
		}
	}
}

// order is in which order to ask: for PDBs first, which tell more, unless the servers
// are of those that have Breakpad's files alone.
func (s *servedKinds) order() []find.SymbolKind {
	if s.pdb.Load() <= -learnt && s.sym.Load() > 0 {
		return []find.SymbolKind{find.KindBreakpad, find.KindPDB}
	}
	return []find.SymbolKind{find.KindPDB, find.KindBreakpad}
}
