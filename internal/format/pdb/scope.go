package pdb

import "fmt"

// A Language is the source language of a module (CV_CFL_LANG).
type Language uint8

// Languages that determine how types are written.
const (
	LangC       Language = 0
	LangCXX     Language = 1
	LangMASM    Language = 3
	LangRust    Language = 0x15
	LangUnknown Language = 0xff
)

// A Func is a function with its variables. It is immutable.
type Func struct {
	Name    string // as the compiler wrote it: qualified, without parameters
	Linkage string // the linker's name; empty if there is none
	Range   Range
	// Body is the size in bytes of the code that sets up the frame, 0 if unknown.
	Body     uint32
	Language Language
	Scope    *Scope
	// Cost is what it cost to read it, in units of Work, and Parts is how many scopes and variables it has.
	Cost, Parts int
}

// A Scope is a function, a block, or an inlined call.
type Scope struct {
	Name    string // of a function, as in Frame
	Inlined bool
	Block   bool
	Ranges  []Range // of a block or an inlined call
	Vars    []Var   // in the order of their records
	Inner   []*Scope
}

// Limits on the variables of one function, and on the places of one variable.
const (
	maxVars   = 1 << 14
	maxPlaces = 1 << 12
)

// What a variable and a scope that are kept cost, in Work: their memory, a unit for some 16 bytes.
const (
	varCost   = 24
	scopeCost = 12
)

// A found function, before its records are read.
type found struct {
	sections *sections
	procs    *procs
	proc     proc
	start    uint32 // RVA
}

// find finds the function at an RVA; false if the PDB describes none, for example because only the linker knows a name.
func (f *File) find(rva uint32) (fn found, _ bool, err error) {
	if fn.sections, err = f.sections(); err != nil {
		return fn, false, fmt.Errorf("section headers: %w", err)
	}
	where, ok := fn.sections.place(rva)
	if !ok {
		return fn, false, nil
	}
	m, err := f.moduleAt(where)
	if m == nil || err != nil {
		return fn, false, err
	}
	if fn.procs, err = m.procs(); err != nil {
		return fn, false, err
	}
	if fn.proc, ok = fn.procs.at(where); ok {
		fn.start, ok = fn.sections.rva(fn.proc.place)
	}
	return fn, ok, nil
}

// FuncStart returns where the function at an RVA begins, as FuncAt does, and reads nothing of it.
func (f *File) FuncStart(rva uint32) (uint32, bool) {
	fn, ok, err := f.find(rva)
	return fn.start, ok && err == nil
}

// FuncAt returns the function at an RVA with all its variables, or false if the PDB describes none.
func (f *File) FuncAt(rva uint32) (*Func, bool, error) {
	at, ok, err := f.find(rva)
	if !ok || err != nil {
		return nil, false, err
	}
	x, p, fn, start := at.sections, at.procs, at.proc, at.start
	_, rec, next, ok := p.symbols.record(fn.at)
	if !ok || len(rec) < 39 {
		return nil, false, nil
	}
	out := &Func{Name: cstring(rec[39:]), Range: Range{start, start + fn.size}, Body: le.Uint32(rec[20:]), Language: p.language()}
	if pub, err := f.publics(); err == nil {
		if l, _, ok := pub.before(fn.place); ok && l.place == fn.place {
			out.Linkage = l.name()
		}
	}
	out.Scope = &Scope{Name: out.Name}
	r := scopeReader{f: f, p: p, sections: x, fn: fn, start: start, end: min(int(le.Uint32(rec[8:])), p.symbols.size)}
	before := f.Work()
	r.open(out.Scope, r.end)
	r.read(next)
	r.finish(out.Scope)
	out.Cost = int(f.Work() - before) // other look-ups at the same time may count too
	out.Parts = r.scopes + r.vars
	return out, true, nil
}

// language returns the source language of the module.
func (p *procs) language() Language {
	if _, rec := p.compiler(); len(rec) >= 8 {
		return Language(rec[4])
	}
	return LangUnknown
}

// compiler returns the record about the module's compiler, which is one of the first.
func (p *procs) compiler() (kind uint16, rec []byte) {
	at := 4
	for range 8 {
		kind, rec, next, ok := p.symbols.record(at)
		if !ok {
			break
		}
		if (kind == symCompile2 || kind == symCompile3) && len(rec) >= 8 {
			return kind, rec
		}
		at = next
	}
	return 0, nil
}

// A scopeReader reads the records of a function. They are nested: each record that opens a
// scope refers to its end record.
type scopeReader struct {
	f        *File
	p        *procs
	sections *sections
	fn       proc
	start    uint32 // RVA
	end      int

	stack        []openScope
	vars, scopes int
	last         *Var // the variable to which records with places belong
	byName       map[varName]int
	names        map[string]int // how many variables have a name
	homes        []varAt        // the variables that have a home besides other places
	framed       bool
	frame        uint32 // size of the frame in bytes
	local, param Register
	key          []byte // for unique
}

type openScope struct {
	*Scope
	end int // offset of its end record
}

func (r *scopeReader) open(s *Scope, end int) { r.stack = append(r.stack, openScope{s, end}) }

// read reads the records from offset at on.
func (r *scopeReader) read(at int) {
	for n := 0; n < maxSites && at < r.end; n++ {
		kind, rec, next, ok := r.p.symbols.record(at)
		if !ok {
			return
		}
		r.p.symbols.s.c.work.Add(siteCost + int64(len(rec)/noteBytes))
		for len(r.stack) > 1 && at >= r.stack[len(r.stack)-1].end {
			r.stack = r.stack[:len(r.stack)-1]
		}
		in := r.stack[len(r.stack)-1].Scope
		if r.define(r.last, kind, rec) {
			at = next
			continue
		}
		r.last = nil
		switch kind {
		case symBlock, symInlineSite, symInlineSite2, symThunk, symWith, symSepCode:
			if len(rec) < 12 || len(r.stack) > maxInline {
				return
			}
			r.scope(in, kind, rec)
		case symFrameProc:
			r.frameProc(rec)
		default:
			if v, ok := r.variable(kind, rec); ok && r.vars < maxVars {
				r.vars++
				r.p.symbols.s.c.work.Add(varCost)
				r.add(in, v, recordOf(kind))
			}
		}
		at = next
	}
}

// scope opens a block or an inlined call. Other records that open a scope have no named
// variables and count as part of the enclosing scope.
func (r *scopeReader) scope(in *Scope, kind uint16, rec []byte) {
	s, end := &Scope{}, int(le.Uint32(rec[8:]))
	switch {
	case kind == symBlock && len(rec) >= 22:
		s.Block = true
		if low, ok := r.sections.rva(place{le.Uint16(rec[20:]), le.Uint32(rec[16:])}); ok {
			s.Ranges = []Range{{low, low + le.Uint32(rec[12:])}}
		}
	case kind == symInlineSite && len(rec) >= 16, kind == symInlineSite2 && len(rec) >= 20:
		s.Inlined, s.Name = true, r.f.funcName(le.Uint32(rec[12:]))
		s.Ranges = r.inlined(kind, rec)
	default:
		s = in
	}
	if s != in {
		r.scopes++
		r.p.symbols.s.c.work.Add(scopeCost)
		in.Inner = append(in.Inner, s)
	}
	r.open(s, end)
}

// inlined lists the code of an inlined call; adjacent ranges are merged.
func (r *scopeReader) inlined(kind uint16, rec []byte) (list []Range) {
	add := func(from, to uint32) {
		from, to = r.start+from, r.start+to
		if n := len(list); n > 0 && list[n-1].High == from {
			list[n-1].High = to
		} else if from < to && n < maxPlaces {
			list = append(list, Range{from, to})
		}
	}
	a := siteAnnotations(kind, rec)
	for a.next() {
		if a.have {
			add(a.rowStart, a.rowEnd)
		}
	}
	if a.open && a.code < r.fn.size { // the last row extends to the function's end
		add(a.code, r.fn.size)
	}
	return list
}

// frameProc decodes S_FRAMEPROC: the frame's size, and the base registers of variables on
// the stack.
func (r *scopeReader) frameProc(rec []byte) {
	fp, ok := decodeFrameProc(rec)
	if !ok {
		return
	}
	p := r.f.framePointers()
	r.framed, r.frame = true, fp.size
	r.local, r.param = p[fp.local], p[fp.param]
}
