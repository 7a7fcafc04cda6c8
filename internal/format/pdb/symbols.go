package pdb

// CodeView kinds of symbol records inside functions (cvinfo.h, SYM_ENUM_e), besides those
// in modules.go.
const (
	symEnd           = 0x0006
	symFrameProc     = 0x1012
	symThunk         = 0x1102
	symBlock         = 0x1103
	symWith          = 0x1104
	symRegister      = 0x1106
	symConstant      = 0x1107
	symBPRel         = 0x110b
	symLocalData     = 0x110c
	symGlobalData    = 0x110d
	symRegRel        = 0x1111
	symLocalThread   = 0x1112
	symGlobalThread  = 0x1113
	symCompile2      = 0x1116
	symManConstant   = 0x112d
	symSepCode       = 0x1132
	symCompile3      = 0x113c
	symLocal         = 0x113e
	symDefProgram    = 0x113f
	symDefSubProgram = 0x1140
	symDefRegister   = 0x1141
	symDefFrame      = 0x1142
	symDefSubReg     = 0x1143
	symDefFrameFull  = 0x1144
	symDefRegRel     = 0x1145
	symInlineEnd     = 0x114e
	symProcIDEnd     = 0x114f
	symFileStatic    = 0x1153
	symDefRegRelPtr  = 0x1177
)

// A Register is a CodeView register number (cvconst.h, CV_HREG_e); its meaning depends on
// the machine.
type Register uint16

// VFrame is the virtual frame pointer of 32-bit x86: File.VirtualFrame computes it.
const VFrame Register = 30006

// framePointers returns the meaning of S_FRAMEPROC's register codes by machine: none, the
// stack pointer, the frame pointer, a register chosen by the function.
func (f *File) framePointers() [4]Register {
	switch f.Machine {
	case 0x14c:
		return [4]Register{0, VFrame, 22, 20} // ebp, ebx
	case 0x8664:
		return [4]Register{0, 335, 334, 341} // rsp, rbp, r13
	}
	return [4]Register{} // on other machines each record names its base register
}

// A Range is a range of code: the RVAs [Low, High).
type Range struct{ Low, High uint32 }

// Contains reports whether rva is in r.
func (r Range) Contains(rva uint32) bool { return rva-r.Low < r.High-r.Low }

// A PlaceKind says where a value is.
type PlaceKind uint8

// The kinds of places.
const (
	InRegister PlaceKind = iota + 1
	AtRegister           // in memory, Off bytes from the address in Reg
	AtPointer            // Inner bytes from the address that the word at Reg + Off contains
	AtAddress            // at an address in the module
	InThread             // at an offset in the module's thread-local storage
	IsConstant           // not stored: the value is known
	ByProgram            // given by a program in a format that is not documented
)

// A Place says where a variable, or a part of it, is while in a range of code.
type Place struct {
	Kind  PlaceKind
	Reg   Register
	Off   int64
	Inner int64
	RVA   uint32 // AtAddress
	Value uint64 // IsConstant; sign-extended
	// Whole: the place is valid wherever the variable is in scope; otherwise it is valid in
	// Range, except in Gaps.
	Whole bool
	Range Range
	Gaps  []Range
	// Part: only a part of the variable is here, from its byte At on.
	Part bool
	At   uint32
}

// Holds reports whether the place is valid at an RVA.
func (p *Place) Holds(rva uint32) bool {
	if p.Whole {
		return true
	}
	if !p.Range.Contains(rva) {
		return false
	}
	for _, g := range p.Gaps {
		if g.Contains(rva) {
			return false
		}
	}
	return true
}

// A Var is a parameter, local variable or constant of a function.
type Var struct {
	Name      string
	Type      TypeID
	Param     bool
	Generated bool    // made by the compiler; has no name in the source
	Static    bool    // stored outside of frames
	Places    []Place // the first that is valid counts

	listed listedAs
	home   []Place // while the records are read
}

// Flags of S_LOCAL (CV_LVARFLAGS).
const (
	localParam     = 0x01
	localGenerated = 0x04
)

// variable decodes the records that describe a variable; ok is false for others.
func (r *scopeReader) variable(kind uint16, rec []byte) (v Var, ok bool) {
	need := func(n int) bool { return len(rec) > n }
	typ := func(at int) TypeID { return TypeID(le.Uint32(rec[at:])) }
	i32 := func(at int) int64 { return int64(int32(le.Uint32(rec[at:]))) }
	switch kind {
	case symLocal:
		if !need(10) {
			return v, false
		}
		flags := le.Uint16(rec[8:])
		v = Var{Name: cstring(rec[10:]), Type: typ(4), Param: flags&localParam != 0, Generated: flags&localGenerated != 0}
	case symRegRel:
		if !need(14) {
			return v, false
		}
		p := Place{Kind: AtRegister, Reg: Register(le.Uint16(rec[12:])), Off: i32(4), Whole: true}
		v = Var{Name: cstring(rec[14:]), Type: typ(8), Param: r.passed(p.Reg, p.Off), Places: []Place{p}}
	case symBPRel:
		if !need(12) {
			return v, false
		}
		p := Place{Kind: AtRegister, Reg: r.f.framePointers()[2], Off: i32(4), Whole: true}
		v = Var{Name: cstring(rec[12:]), Type: typ(8), Param: p.Off > 0, Places: []Place{p}}
	case symRegister:
		if !need(10) {
			return v, false
		}
		v = Var{Name: cstring(rec[10:]), Type: typ(4), Places: []Place{{Kind: InRegister, Reg: Register(le.Uint16(rec[8:])), Whole: true}}}
	case symConstant, symManConstant:
		if !need(8) {
			return v, false
		}
		n, name, next := numericName(rec, 8)
		if next == 0 {
			return v, false
		}
		v = Var{Name: name, Type: typ(4), Static: true, Places: []Place{{Kind: IsConstant, Value: n, Whole: true}}}
	case symLocalData, symGlobalData, symLocalThread, symGlobalThread:
		if !need(14) {
			return v, false
		}
		v = Var{Name: cstring(rec[14:]), Type: typ(4), Static: true, Places: r.static(kind, le.Uint16(rec[12:]), le.Uint32(rec[8:]))}
	default:
		return v, false
	}
	return v, v.Name != ""
}

// passed reports whether a variable on the stack is a parameter: parameters are above the
// return address. Only S_LOCAL records say so directly.
func (r *scopeReader) passed(reg Register, off int64) bool {
	switch p := r.f.framePointers(); {
	case r.f.Machine == 0x14c && reg == p[2]:
		return off > 0
	case r.f.Machine == 0x8664 && reg == p[1]:
		return r.framed && off > int64(r.frame)
	}
	return false
}

func (r *scopeReader) static(kind uint16, sect uint16, off uint32) []Place {
	if kind == symLocalThread || kind == symGlobalThread {
		return []Place{{Kind: InThread, Off: int64(off), Whole: true}}
	}
	rva, ok := r.sections.rva(place{sect, off})
	if !ok {
		return nil
	}
	return []Place{{Kind: AtAddress, RVA: rva, Whole: true}}
}

// define decodes a record that says where variable v is; it returns false for other
// records.
func (r *scopeReader) define(v *Var, kind uint16, rec []byte) bool {
	var p Place
	at := 0 // offset of the range
	i32 := func(at int) int64 { return int64(int32(le.Uint32(rec[at:]))) }
	switch kind {
	case symDefRegister:
		at = 8
	case symDefFrame, symDefFrameFull, symDefProgram:
		at = 8
	case symDefSubReg, symDefRegRel, symDefSubProgram:
		at = 12
	case symDefRegRelPtr:
		at = 16
	default:
		return false
	}
	if v == nil || len(rec) < at || len(v.Places) >= maxPlaces {
		return true
	}
	switch kind {
	case symDefRegister:
		p = Place{Kind: InRegister, Reg: Register(le.Uint16(rec[4:]))}
	case symDefSubReg:
		p = Place{Kind: InRegister, Reg: Register(le.Uint16(rec[4:])), Part: true, At: le.Uint32(rec[8:]) & 0xfff}
	case symDefFrame, symDefFrameFull:
		p = Place{Kind: AtRegister, Reg: r.local, Off: i32(4), Whole: kind == symDefFrameFull}
		if v.Param {
			p.Reg = r.param
		}
	case symDefRegRel, symDefRegRelPtr:
		flags := le.Uint16(rec[6:])
		p = Place{Kind: AtRegister, Reg: Register(le.Uint16(rec[4:])), Off: i32(8), Part: flags&1 != 0, At: uint32(flags >> 4)}
		if kind == symDefRegRelPtr {
			p.Kind, p.Inner = AtPointer, i32(12)
		}
	case symDefProgram:
		p.Kind = ByProgram
	case symDefSubProgram:
		p = Place{Kind: ByProgram, Part: true, At: le.Uint32(rec[8:]) & 0xfff}
	}
	if p.Whole || r.ranges(&p, rec[at:]) {
		v.Places = append(v.Places, p)
	}
	return true
}

// ranges decodes where a place is valid: a range of code, and gaps in it.
func (r *scopeReader) ranges(p *Place, b []byte) bool {
	if len(b) < 8 {
		return false
	}
	low, ok := r.sections.rva(place{le.Uint16(b[4:]), le.Uint32(b)})
	if !ok {
		return false
	}
	p.Range = Range{low, low + uint32(le.Uint16(b[6:]))}
	for b = b[8:]; len(b) >= 4; b = b[4:] {
		from := low + uint32(le.Uint16(b))
		p.Gaps = append(p.Gaps, Range{from, from + uint32(le.Uint16(b[2:]))})
	}
	return p.Range.Low <= p.Range.High
}
