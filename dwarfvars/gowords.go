package dwarfvars

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Go's compiler takes variables apart: a string is two words, a slice three, a structure its fields. Its location lists
// have a piece for each part that some instruction still uses, in the order of their offsets, and nothing for the
// others: constants, and what nobody reads. A single part has no DW_OP_piece at all. So the pieces' sizes do not say
// where they begin (cmd/compile/internal/ssa, debug.go). Older compilers have a part twice, if the source looks at it as
// two types.
//
// A part's place in the variable is taken as known if only one arrangement of parts fits.

// A goPart is a part of a variable that the compiler may have apart from the rest.
type goPart struct {
	off, size uint64 // bytes
	pointer   bool
	whole     bool // it consists of parts
}

// maxGoParts is more than a variable has that is taken apart: it has four words at most.
const maxGoParts = 64

// goParts returns the parts of a type, outermost first. More than maxGoParts are not all of them.
func (a *Activation) goParts(t *types.Type) []goPart {
	return a.appendGoParts(nil, t, 0, 0)
}

func (a *Activation) appendGoParts(out []goPart, t *types.Type, off uint64, depth int) []goPart {
	s := t.Strip()
	size, word := s.Size(), uint64(a.r.arch.WordSize)
	if size == 0 || depth > maxGoParts || len(out) > maxGoParts {
		return out
	}
	n := len(out)
	out = append(out, goPart{off: off, size: size, pointer: s.Tag == dwarf.TagPointerType || s.Tag == dwarf.TagSubroutineType})
	switch {
	case s.Aggregate():
		fields := s.Members().Fields
		for i := range fields {
			out = a.appendGoParts(out, s.MemberType(&fields[i]), off+fields[i].Off, depth+1)
		}
	case s.Tag == dwarf.TagArrayType:
		if elem := s.Target(); elem.Size() == size {
			out = a.appendGoParts(out, elem, off, depth+1)
		}
	case s.Encoding == types.EncComplexFloat, word == 4 && size == 8 && s.Tag == dwarf.TagBaseType && !s.Floats():
		out = append(out, goPart{off: off, size: size / 2}, goPart{off: off + size/2, size: size / 2})
	}
	if len(out) > n+2 || len(out) == n+2 && out[n+1].size != size {
		out[n].whole = true
	}
	if len(out) == n+2 && out[n+1].size == size { // a structure with one field is as the field
		out = slices.Delete(out, n, n+1)
	}
	return out
}

// goWords puts a variable of Go together that has a place of which the compiler does not say what part of the variable it is for.
func (a *Activation) goWords(at *varAttrs, loc op.Location) op.Location {
	u := at.locIn
	if u.Language != dwarf.LangGo || at.loc.Form.Class() == dwarf.ClassExprloc || at.loc.Form.Class() == dwarf.ClassBlock {
		return loc
	}
	switch loc.Kind {
	case op.Memory, op.Register, op.Composite:
	default:
		return loc
	}
	pieces := slices.Clone(loc.Pieces) // looking for sizes may use the Machine, which owns them
	t := a.r.types.Of(at.typ)
	parts := a.goParts(t)
	if len(parts) < 2 {
		return loc
	}
	loc.Pieces = pieces
	part := op.Location{Why: unknown.ErrPart}
	switch {
	case unoptimised(u), loc.Kind == op.Memory && a.goInMemory(at): // it is whole
		return loc
	case len(parts) > maxGoParts, len(pieces) > maxGoParts:
		return part
	}
	fit := arrange(parts, pieces)
	if fit == nil {
		return part
	}
	return a.assembled(t, parts, pieces, fit)
}

// unoptimised reports whether Go's compiler did not optimise a unit. It takes arguments apart for their registers only, and says where all of them is.
func unoptimised(u *dwarf.Unit) bool { return producedWith(u, "-N") }

// producedWith reports whether the compiler that made a unit names a word among its flags.
func producedWith(u *dwarf.Unit, word string) bool {
	v := u.Value(u.Root(), dwarf.AttrProducer)
	by, _ := u.Bytes(&v)
	return slices.ContainsFunc(bytes.Fields(by), func(w []byte) bool { return string(w) == word })
}

// goInMemory reports whether the variable of a location list that has no pieces lies in memory as a whole. It does if that is its one place:
// a part is computed in a register before it is stored. Arguments that are passed on the stack are taken apart there.
func (a *Activation) goInMemory(at *varAttrs) bool {
	u := at.locIn
	all, err := u.Locations(&at.loc, a.e.frame())
	if err != nil || len(all) == 0 {
		return false
	}
	for _, expr := range all {
		if !bytes.Equal(expr, all[0]) {
			return false
		}
	}
	// The frame's own part lies below the CFA.
	return len(all[0]) > 1 && all[0][0] == byte(op.Fbreg) && all[0][len(all[0])-1]&0x40 != 0
}

// arrange returns for each piece the parts that it may be, of those arrangements in which the parts' offsets do not decrease; nil if there is none.
// First each part is taken to be there once.
func arrange(parts []goPart, pieces []op.Piece) [][]int {
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(parts[i].off, parts[j].off) })
	for _, twice := range []bool{false, true} {
		// after reports whether part c may be that of piece i if that of the piece before is b.
		after := func(i, b, c int) bool {
			if b == c {
				return twice && alike(&pieces[i-1].Loc, &pieces[i].Loc)
			}
			// One word is not both a pointer and a number: the part is there twice.
			return parts[b].off <= parts[c].off && (parts[b].pointer == parts[c].pointer || parts[b].whole || parts[c].whole || !same(&pieces[i-1].Loc, &pieces[i].Loc))
		}
		fit := make([][]int, len(pieces))
		for i := range pieces {
			for _, c := range order {
				if 8*parts[c].size == pieces[i].BitSize && (i == 0 || slices.ContainsFunc(fit[i-1], func(b int) bool { return after(i, b, c) })) {
					fit[i] = append(fit[i], c)
				}
			}
		}
		for i := len(pieces) - 2; i >= 0; i-- {
			fit[i] = slices.DeleteFunc(fit[i], func(b int) bool {
				return !slices.ContainsFunc(fit[i+1], func(c int) bool { return after(i+1, b, c) })
			})
		}
		if len(pieces) == 0 || len(fit[len(fit)-1]) == 0 {
			continue
		}
		return fit
	}
	return nil
}

// alike reports whether two places may be of one part: they are the same, or one of them is nowhere.
func alike(a, b *op.Location) bool {
	return a.Kind == op.Empty || b.Kind == op.Empty || same(a, b)
}

// same reports whether two objects are at one place.
func same(a, b *op.Location) bool {
	return a.Kind != op.Empty && a.Kind == b.Kind && a.Addr == b.Addr && a.Reg == b.Reg
}

// assembled returns the place of a variable whose pieces may be the parts of fit.
func (a *Activation) assembled(t *types.Type, parts []goPart, pieces []op.Piece, fit [][]int) op.Location {
	size := t.Size()
	places := make(map[uint64]op.Piece) // by offset
	unsure := false
	for _, wholes := range []bool{false, true} { // of which the parts have no place of their own
		for i := range pieces {
			p, part := pieces[i], parts[fit[i][0]]
			switch {
			case p.Loc.Kind == op.Empty || part.whole != wholes:
			case slices.ContainsFunc(fit[i], func(c int) bool { return parts[c].off != part.off }):
				unsure = true
			case wholes && (p.Loc.Kind == op.Register || within(places, part)): // no register has more than one part
			default:
				places[part.off] = p
			}
		}
	}
	nowhere := op.Location{}
	if unsure {
		if loc, ok := a.sliceOf(t, pieces); ok {
			return loc
		}
		nowhere.Why = unknown.ErrPart
	}
	if len(places) == 0 {
		return nowhere
	}
	out := op.Location{Kind: op.Composite}
	at := uint64(0)
	for _, off := range slices.Sorted(maps.Keys(places)) {
		if off > at {
			out.Pieces = append(out.Pieces, op.Piece{Loc: nowhere, BitSize: 8 * (off - at)})
			at = off
		}
		out.Pieces = append(out.Pieces, places[off])
		at += places[off].BitSize / 8
	}
	if at < size {
		out.Pieces = append(out.Pieces, op.Piece{Loc: nowhere, BitSize: 8 * (size - at)})
	}
	return out
}

// within reports whether one of the places is in a part.
func within(places map[uint64]op.Piece, part goPart) bool {
	for off := range places {
		if off >= part.off && off < part.off+part.size {
			return true
		}
	}
	return false
}

// sliceOf arranges a slice of which two words are left. As no length is more than the capacity, a first word that is more than the second is the
// pointer, and the second the length or the capacity. A first word of 0 is the length, even if it is the pointer, too.
func (a *Activation) sliceOf(t *types.Type, pieces []op.Piece) (op.Location, bool) {
	s := t.Strip()
	word := uint64(a.r.arch.WordSize)
	pieces = slices.CompactFunc(slices.Clone(pieces), func(p, q op.Piece) bool { return same(&p.Loc, &q.Loc) })
	if s.GoKind != types.GoSlice || len(pieces) != 2 {
		return op.Location{}, false
	}
	var have [2]uint64
	for i := range pieces {
		b := make([]byte, word)
		if pieces[i].Loc.Kind == op.Empty || a.fill(b, 0, 8*word, &pieces[i].Loc, 0, false) != nil {
			return op.Location{}, false
		}
		have[i] = types.Uint(b, a.r.arch.Big())
	}
	capacity := op.Piece{Loc: op.Location{Why: unknown.ErrCapacity}, BitSize: 8 * word}
	switch {
	case have[0] > have[1]:
		return op.Location{Kind: op.Composite, Pieces: []op.Piece{pieces[0], pieces[1], capacity}}, true
	case have[0] == 0:
		return op.Location{Kind: op.Composite, Pieces: []op.Piece{{BitSize: 8 * word}, pieces[0], pieces[1]}}, true
	}
	return op.Location{}, false
}
