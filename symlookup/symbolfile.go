package symlookup

import (
	"math"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/unwind"
)

// fromSymbolFile names the code at an offset from a module's base by the module's
// PDB, or its Breakpad symbol file.
func (l *Lookup) fromSymbolFile(im *image.Image, rva uint64, base unwind.Address) []unwind.Call {
	if p := im.PDB(); p != nil && rva <= math.MaxUint32 {
		before := p.Work()
		s, ok, err := p.Lookup(uint32(rva))
		l.work.Add(p.Work() - before) // other look-ups at the same time may count too
		if err != nil {
			im.DamagedSymbols(err)
		}
		if ok {
			return fromPDB(s, base)
		}
	}
	if f := im.Breakpad(); f != nil {
		before := f.Work()
		s, ok := f.Lookup(rva)
		l.work.Add(f.Work() - before)
		if ok {
			return fromBreakpad(s, base)
		}
	}
	return nil
}

// fromPDB makes calls from a PDB's entry. Compilers write qualified names without
// parameters; the linker's name, if known, has the parameters.
func fromPDB(s pdb.Symbol, base unwind.Address) []unwind.Call {
	calls := make([]unwind.Call, len(s.Frames))
	for i, f := range s.Frames {
		calls[i] = unwind.Call{Name: demangle.Name(f.Name), File: f.File, Line: f.Line, Inlined: i < len(s.Frames)-1}
	}
	last := &calls[len(calls)-1]
	last.Entry = base + uint64(s.Start)
	last.Name, last.LinkageName = display(demangle.Name(s.Name), s.Linkage)
	return calls
}

// fromBreakpad makes calls from an entry of a Breakpad symbol file. Its names are
// usually demangled already.
func fromBreakpad(s breakpad.Symbol, base unwind.Address) []unwind.Call {
	calls := make([]unwind.Call, len(s.Frames))
	for i, f := range s.Frames {
		calls[i] = unwind.Call{File: f.File, Line: f.Line, Inlined: i < len(s.Frames)-1}
		calls[i].Name, calls[i].LinkageName = display("", f.Name)
	}
	calls[len(calls)-1].Entry = base + s.Start
	return calls
}
