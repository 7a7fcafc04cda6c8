package pdb

import "fmt"

// A Symbol is what a PDB says about the code at an address.
type Symbol struct {
	// Name is the function's name as the compiler wrote it, qualified and without
	// parameters, or the linker's name if the compiler wrote none.
	Name    string
	Linkage string // the linker's (mangled) name; empty if there is none
	Start   uint32 // RVA
	Size    uint32 // in bytes; for a Public, the distance to the next name, or 0 if there is none
	Public  bool   // known only to the linker: the nearest name before the address, without lines

	// Frames are the calls at the address, innermost first: inlined functions, then the
	// function itself. It is never empty.
	Frames []Frame
}

// A Frame is a function and a position in it. File is "" and Line 0 if unknown, and for
// code that the compiler marks as belonging to no line.
type Frame struct {
	Name, File string
	Line       int
}

// Lookup returns what is known about the code at an RVA. It returns false and no error if
// the PDB has no function there. If a part of the file cannot be read, it returns an error
// together with what the other parts say.
func (f *File) Lookup(rva uint32) (Symbol, bool, error) {
	x, err := f.sections()
	if err != nil {
		return Symbol{}, false, fmt.Errorf("section headers: %w", err)
	}
	where, ok := x.place(rva)
	if !ok {
		return Symbol{}, false, nil
	}
	s, ok, err := f.lookupProc(x, where)
	if ok {
		return s, true, err
	}
	s, ok, err2 := f.lookupPublic(x, where)
	if err == nil {
		err = err2
	}
	return s, ok, err
}

func (f *File) lookupProc(x *sections, where place) (s Symbol, ok bool, err error) {
	m, err := f.moduleAt(where)
	if m == nil || err != nil {
		return s, false, err
	}
	p, err := m.procs()
	if err != nil {
		return s, false, err
	}
	fn, ok := p.at(where)
	if !ok {
		return s, false, nil
	}
	_, rec, _, ok := p.symbols.record(fn.at)
	start, ok2 := x.rva(fn.place)
	if !ok || !ok2 || len(rec) < 39 {
		return s, false, nil
	}
	s = Symbol{Name: cstring(rec[39:]), Start: start, Size: fn.size}
	if pub, err2 := f.publics(); err2 != nil {
		err = err2
	} else if l, _, ok := pub.before(fn.place); ok && l.place == fn.place {
		s.Linkage = l.name()
	}
	f.chain(&s, p, fn, where)
	return s, true, err
}

// chain links the calls. The line table has the function's own line at each address, which
// is the outermost call's if calls are inlined.
func (f *File) chain(s *Symbol, p *procs, fn proc, where place) {
	sites := p.sites(fn, where.off-fn.off)
	s.Frames = make([]Frame, 0, len(sites)+1)
	for i := len(sites) - 1; i >= 0; i-- {
		s.Frames = append(s.Frames, f.frame(p, f.funcName(sites[i].inlinee), sites[i].source))
	}
	s.Frames = append(s.Frames, f.frame(p, s.Name, p.line(where)))
}

func (f *File) frame(p *procs, name string, at source) Frame {
	if at.line == 0 {
		return Frame{Name: name}
	}
	return Frame{Name: name, File: f.fileName(p, at.file), Line: int(at.line)}
}

func (f *File) lookupPublic(x *sections, where place) (s Symbol, ok bool, err error) {
	pub, err := f.publics()
	if err != nil {
		return s, false, err
	}
	l, next, ok := pub.before(where)
	if !ok || f.hasEnd(l.place) {
		return s, false, nil
	}
	if s.Start, ok = x.rva(l.place); !ok {
		return s, false, nil
	}
	if next > l.off {
		s.Size = next - l.off
	}
	name := l.name()
	s.Name, s.Linkage, s.Public = name, name, true
	s.Frames = []Frame{{Name: name}}
	return s, true, nil
}

// hasEnd reports whether the compiler described the function at a place, so that its end is
// known: code after that does not belong to it.
func (f *File) hasEnd(where place) bool {
	m, err := f.moduleAt(where)
	if m == nil || err != nil {
		return false
	}
	p, err := m.procs()
	if err != nil {
		return false
	}
	fn, ok := p.at(where)
	return ok && fn.place == where
}
