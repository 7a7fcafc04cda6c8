package dwarfvars

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Where variables are by a PDB. The result is an op.Location, as of DWARF expressions.

// recordLocation returns the location of a variable at the frame's address.
func (a *Activation) recordLocation(v *LocalVar) (op.Location, error) {
	var parts []*pdb.Place
	for i := range v.rec.Places {
		p := &v.rec.Places[i]
		switch {
		case !p.Holds(uint32(a.e.pc)):
		case p.Part:
			parts = append(parts, p)
		case p.Whole && len(parts) > 0: // the variable's home, which the parts have left
		default:
			if p.Whole && p.Kind == pdb.AtRegister && a.e.pc < uint64(a.rec.Range.Low+a.rec.Body) {
				return op.Location{}, unknown.ErrNoFrame
			}
			if p.Kind == pdb.IsConstant {
				return a.recordConstant(p, a.r.types.Of(v.attrs.typ))
			}
			return a.place(p)
		}
	}
	return a.inParts(parts, a.r.types.Of(v.attrs.typ))
}

// recordConstant returns the location of a variable that a constant stands for. The constant of a
// struct or an array is only a part of it.
func (a *Activation) recordConstant(p *pdb.Place, t *types.Type) (op.Location, error) {
	s := t.Strip()
	switch {
	case s.Aggregate() || s.Tag == dwarf.TagArrayType:
		return op.Location{}, nil
	case t.Constant() || s.Tag == dwarf.TagUnspecifiedType:
		return a.place(p)
	case s.Floats():
		return op.Location{}, nil
	}
	return op.Location{}, &unknown.Sometimes{Value: int64(p.Value)}
}

// inParts returns the location of a variable with parts in several places. Records only say where
// a part begins.
func (a *Activation) inParts(parts []*pdb.Place, t *types.Type) (op.Location, error) {
	slices.SortStableFunc(parts, func(p, q *pdb.Place) int { return int(p.At) - int(q.At) })
	loc := op.Location{Kind: op.Composite}
	at := uint64(0)
	for i, p := range parts {
		from := uint64(p.At)
		if from < at {
			continue // of several places for one part, the first counts
		}
		if from > at {
			loc.Pieces = append(loc.Pieces, op.Piece{BitSize: 8 * (from - at)})
		}
		size := a.partSize(p, t)
		for _, q := range parts[i+1:] {
			if next := uint64(q.At); next > from {
				size = min(size, next-from)
				break
			}
		}
		in, err := a.place(p)
		switch {
		case err != nil:
			return op.Location{}, err
		case in.Kind == op.Composite: // a part of a register, or two registers
			loc.Pieces = append(loc.Pieces, in.Pieces...)
			size = 0
			for _, q := range in.Pieces {
				size += q.BitSize / 8
			}
		default:
			loc.Pieces = append(loc.Pieces, op.Piece{Loc: in, BitSize: 8 * size})
		}
		at = from + size
	}
	return loc, nil
}

// partSize returns the number of bytes of a variable's part: that of the number or pointer there,
// or of a register of 8 bytes, since compilers use the smaller registers for smaller values.
func (a *Activation) partSize(p *pdb.Place, t *types.Type) uint64 {
	leaf := a.leafSize(t, uint64(p.At), 0)
	if p.Kind == pdb.InRegister {
		if r, ok := a.r.codeview(p.Reg); ok && (r.size == 8 || uint64(r.size) < leaf) {
			return uint64(r.size)
		}
	}
	return leaf
}

// leafSize returns how many bytes the number or pointer at byte at of t has from there on; 1 if
// none is known.
func (a *Activation) leafSize(t *types.Type, at uint64, depth int) uint64 {
	s := t.Strip()
	if s.Declared {
		if full, ok := a.r.types.Complete(s); ok {
			s = full
		}
	}
	size, err := a.sizeOf(s)
	switch {
	case err != nil || at >= size || depth > types.MaxNesting:
		return 1
	case s.Aggregate():
		m := s.Members()
		for i := range m.Fields {
			f := &m.Fields[i]
			if f.Static || f.Virtual {
				continue
			}
			in := a.r.types.Of(f.Type)
			if n, _ := a.sizeOf(in); at-f.Off < n { // not before f.Off, either
				return a.leafSize(in, at-f.Off, depth+1)
			}
		}
		return 1
	case s.Tag == dwarf.TagArrayType:
		elem := s.Target()
		if n, _ := a.sizeOf(elem); n > 0 {
			return a.leafSize(elem, at%n, depth+1)
		}
		return 1
	}
	return size - at
}

// place returns the location of one place.
func (a *Activation) place(p *pdb.Place) (op.Location, error) {
	switch p.Kind {
	case pdb.InRegister:
		return a.inRecordRegister(p.Reg)
	case pdb.AtRegister, pdb.AtPointer:
		base, err := a.recordRegister(p.Reg)
		if err != nil {
			return op.Location{}, err
		}
		addr := a.r.arch.Truncate(base + uint64(p.Off))
		if p.Kind == pdb.AtPointer {
			to, err := a.r.proc.ReadWord(addr)
			if err != nil {
				return op.Location{}, unknown.Reason(err)
			}
			addr = a.r.arch.Truncate(to + uint64(p.Inner))
		}
		return op.Location{Kind: op.Memory, Addr: addr}, nil
	case pdb.AtAddress:
		return op.Location{Kind: op.Memory, Addr: a.bias + uint64(p.RVA)}, nil
	case pdb.IsConstant:
		return op.Location{Kind: op.StackValue, Value: op.Value{Bits: p.Value}}, nil
	case pdb.InThread:
		return op.Location{}, &unknown.TLS{Why: "storage of Windows threads is not supported"}
	}
	return op.Location{}, &unknown.Operator{Op: "a program of Microsoft's debuggers"}
}

// A registerPart is a register of CodeView: size bytes, from byte off, of a register by its DWARF
// number.
type registerPart struct {
	reg       uint64
	off, size uint8
	zero      bool // reads as zero
}

// codeview finds a register by its number in CodeView.
func (r *Reader) codeview(reg pdb.Register) (registerPart, bool) {
	if r.machine.codeview == nil {
		return registerPart{}, false
	}
	return r.machine.codeview(reg)
}

func (a *Activation) inRecordRegister(reg pdb.Register) (op.Location, error) {
	if hi, lo, ok := registerPair(reg); ok && a.r.arch.WordSize == 4 {
		return op.Location{Kind: op.Composite, Pieces: []op.Piece{
			{Loc: op.Location{Kind: op.Register, Reg: lo}, BitSize: 32},
			{Loc: op.Location{Kind: op.Register, Reg: hi}, BitSize: 32},
		}}, nil
	}
	r, ok := a.r.codeview(reg)
	switch {
	case !ok:
		return op.Location{}, unknownRegister(reg)
	case r.zero:
		return op.Location{Kind: op.StackValue}, nil
	case r.off != 0:
		in := op.Location{Kind: op.Register, Reg: r.reg}
		return op.Location{Kind: op.Composite, Pieces: []op.Piece{{Loc: in, BitSize: 8 * uint64(r.size), BitOffset: 8 * uint64(r.off)}}}, nil
	}
	return op.Location{Kind: op.Register, Reg: r.reg}, nil
}

func unknownRegister(reg pdb.Register) error {
	return &unknown.Operator{Op: fmt.Sprintf("CodeView's register %d", reg)}
}

// recordRegister returns the value of a register that places count from.
func (a *Activation) recordRegister(reg pdb.Register) (uint64, error) {
	if reg == pdb.VFrame {
		return a.virtualFrame()
	}
	r, ok := a.r.codeview(reg)
	if !ok || r.off != 0 {
		return 0, unknownRegister(reg)
	}
	return a.e.DWARFReg(r.reg)
}

// virtualFrame returns the virtual frame pointer of 32-bit x86. The return address is below the
// CFA.
func (a *Activation) virtualFrame() (uint64, error) {
	if a.r.arch.WordSize != 4 {
		return 0, unknownRegister(pdb.VFrame)
	}
	cfa, err := a.e.cfa()
	if err != nil {
		return 0, err
	}
	v, err := a.db.File.VirtualFrame(uint32(a.e.pc), uint32(cfa)-4, func(name string) (uint32, bool) {
		reg, ok := a.r.arch.RegByName(strings.TrimPrefix(name, "$"))
		if !ok {
			return 0, false
		}
		v, loc, ok := a.Frame().Reg(reg)
		a.e.uses(ok && loc.Doubtful)
		return uint32(v), ok
	}, a.r.proc.ReadWord)
	if err != nil {
		return 0, &unknown.Corrupt{Err: err}
	}
	return uint64(v), nil
}

// recordText returns a variable's places in the PDB as text: "[rsp+24]".
func (a *Activation) recordText(v *LocalVar) string {
	var words []string
	for i := range v.rec.Places {
		p := &v.rec.Places[i]
		if !p.Holds(uint32(a.e.pc)) {
			continue
		}
		w := a.placeText(p)
		if p.Part {
			w = fmt.Sprintf("byte %d: %s", p.At, w)
		}
		words = append(words, w)
	}
	return strings.Join(words, "; ")
}

func (a *Activation) placeText(p *pdb.Place) string {
	name := fmt.Sprintf("CodeView register %d", p.Reg)
	if r, ok := a.r.codeview(p.Reg); ok {
		name = a.r.regName(r.reg)
	} else if p.Reg == pdb.VFrame {
		name = "vframe"
	}
	switch p.Kind {
	case pdb.InRegister:
		return name
	case pdb.AtRegister:
		return fmt.Sprintf("[%s%+d]", name, p.Off)
	case pdb.AtPointer:
		return fmt.Sprintf("[[%s%+d]%+d]", name, p.Off, p.Inner)
	case pdb.AtAddress:
		return fmt.Sprintf("rva %#x", p.RVA)
	case pdb.InThread:
		return fmt.Sprintf("tls%+d", p.Off)
	case pdb.IsConstant:
		return "constant"
	}
	return "program"
}
