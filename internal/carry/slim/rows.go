package slim

import (
	"cmp"
	"maps"
	"slices"

	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxRows is how many unwind rules are kept.
const maxRows = 1 << 14

// Rows are the unwind rules that were used for the frames of stacks, for readers without the files that have them. Only rules of
// call frame information are kept, of which the others say how to go on.
type Rows struct {
	Arch *arch.Arch
	by   map[*libstate.Library]map[arch.Address]*row
	n    int
}

type row struct {
	sp, fp     int64 // the CFA's offsets from both
	noSP, noFP bool  // it is not always that
	bad        bool
	rules      []slimnote.KeptRule
}

// Add adds the frames of a stack.
func (r *Rows) Add(frames []*unwind.Frame) {
	for i, f := range frames {
		libs := f.Walker().ProcessState().LibraryTracker()
		copied := steppers.ResumesCopy(f)
		if r.Arch.Big() || libs == nil || i+1 >= len(frames) || !copied && (f.IsTrampoline() || frames[i+1].Trust() != unwind.TrustCFI) {
			continue
		}
		lib, ok := libs.LibraryAt(f.LookupAddr())
		cfa, known := f.CFA()
		if !ok || !known || cfa < f.SP() || lib.Kind != libstate.SharedLibrary && lib.Kind != libstate.Executable && lib.Kind != libstate.Interpreter {
			continue
		}
		w, at := r.rowOf(f, frames[i+1], cfa), f.LookupAddr()
		if copied { // the caller's registers are those of the copy; the frame itself has made a call
			w.bad, w.rules = false, []slimnote.KeptRule{{Reg: uint32(r.raColumn()), Offset: -int64(r.Arch.RegSize)}}
			if at == f.RA() && !f.IsTopFrame() && !f.NonCall() {
				at--
			}
		}
		r.add(lib, at, w)
	}
}

// raColumn is the DWARF number of the return address; negative if there is none.
func (r *Rows) raColumn() int {
	if r.Arch.RA != arch.NoReg {
		return r.Arch.DWARF(r.Arch.RA)
	}
	return r.Arch.DWARF(r.Arch.PC)
}

// below is how far below its stack pointer a frame may have saved registers, in bytes.
const below = 128

func (r *Rows) rowOf(f, caller *unwind.Frame, cfa arch.Address) *row {
	w := &row{sp: int64(cfa - f.SP()), fp: int64(cfa - f.FP())}
	offset := func(l unwind.Location) (int64, bool) {
		ok := l.Kind == unwind.LocAddress && l.Addr+below >= f.SP() && l.Addr < cfa
		return int64(l.Addr - cfa), ok
	}
	ra := r.raColumn()
	if off, ok := offset(caller.RALocation()); ok && ra >= 0 {
		w.rules = append(w.rules, slimnote.KeptRule{Reg: uint32(ra), Offset: off})
	} else if r.Arch.RA == arch.NoReg {
		w.bad = true
	}
	for reg := arch.Reg(0); int(reg) < r.Arch.NumRegs(); reg++ {
		n := r.Arch.DWARF(reg)
		if n < 0 || n == ra || reg == r.Arch.PC || reg == r.Arch.SP {
			continue
		}
		_, l, ok := caller.Reg(reg)
		if off, in := offset(l); ok && in {
			w.rules = append(w.rules, slimnote.KeptRule{Reg: uint32(n), Offset: off})
		}
	}
	return w
}

func (r *Rows) add(lib *libstate.Library, pc arch.Address, w *row) {
	if r.by == nil {
		r.by = map[*libstate.Library]map[arch.Address]*row{}
	}
	if r.by[lib] == nil {
		r.by[lib] = map[arch.Address]*row{}
	}
	old := r.by[lib][pc]
	if old == nil {
		if r.n++; r.n <= maxRows {
			r.by[lib][pc] = w
		}
		return
	}
	old.noSP = old.noSP || old.sp != w.sp
	old.noFP = old.noFP || old.fp != w.fp
	old.bad = old.bad || w.bad || !slices.Equal(old.rules, w.rules)
}

// Kept returns what is kept of a library.
func (r *Rows) Kept(lib *libstate.Library, symbols []unwind.Symbol) slimnote.Kept {
	k := slimnote.Kept{Start: lib.Start, RA: uint32(max(r.raColumn(), 0))}
	for _, s := range symbols {
		in := slices.ContainsFunc(lib.Mappings, func(m libstate.Mapping) bool { return m.Perm&libstate.Exec != 0 && m.Start <= s.Addr && s.Addr < m.End })
		k.Symbols = append(k.Symbols, slimnote.KeptSymbol{Addr: s.Addr, Size: max(s.Size, 1), Func: in, Name: s.Name})
	}
	rows := r.by[lib]
	for _, pc := range slices.SortedFunc(maps.Keys(rows), cmp.Compare) {
		w := rows[pc]
		out := slimnote.KeptRow{PC: pc, Rules: w.rules}
		switch {
		case w.bad || w.noSP && w.noFP:
			continue
		case !w.noSP:
			out.Reg, out.Offset = uint32(r.Arch.DWARF(r.Arch.SP)), w.sp
		default:
			out.Reg, out.Offset = uint32(r.Arch.DWARF(r.Arch.FP)), w.fp
		}
		k.Rows = append(k.Rows, out)
	}
	return k
}
