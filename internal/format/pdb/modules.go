package pdb

import (
	"bytes"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
)

// CodeView kinds of symbol records that are read.
const (
	symPublic      = 0x110e
	symLocalProc   = 0x110f
	symGlobalProc  = 0x1110
	symLocalProcID = 0x1146
	symGlobProcID  = 0x1147
	symInlineSite  = 0x114d
	symInlineSite2 = 0x115d
)

// A module is the contribution of one object file.
type module struct {
	stream, symbols, c11, c13 int // stream number, and sizes of its parts
	procs                     func() (*procs, error)
}

// procs has a module's functions and lines.
type procs struct {
	symbols, c13 view
	list         []proc      // sorted by place
	lines        []lineTable // sorted by place
	files        view        // checksums, each with the file's name
	inlinees     []view      // lines at which inlined functions begin

	asked   atomic.Int32 // how often inlinees were searched
	once    sync.Once
	inOrder []inlineeAt // of inlinees, once they were searched often
}

// A proc is a function's record.
type proc struct {
	place
	size uint32
	at   int // offset of the record among the symbols
}

// readModules reads the list of modules, whose entries vary in length.
func (f *File) readModules() ([]*module, error) {
	v := f.dbi.modules
	var list []*module
	seen := make(map[int]bool) // a stream belongs to one module
	for off := 0; off+64 <= v.size; {
		h, ok := v.bytes(off, 64)
		if !ok {
			break
		}
		m := &module{stream: number(h[34:]), symbols: int(le.Uint32(h[36:])), c11: int(le.Uint32(h[40:])), c13: int(le.Uint32(h[44:]))}
		m.procs = sync.OnceValues(func() (*procs, error) { return f.readProcs(m) })
		if seen[m.stream] {
			m.stream = -1
		}
		seen[m.stream] = true
		list = append(list, m)
		end := off + 64
		for range 2 { // the names of the module and of its archive
			n := v.s.textLen(v.off+end, v.size-end)
			if n < 0 {
				return list, nil
			}
			end += n + 1
		}
		off = (end + 3) &^ 3
	}
	return list, nil
}

// textLen returns the length of a string that ends within limit bytes, or -1 if none does.
func (s *stream) textLen(off, limit int) int {
	bs := s.c.blockSize
	for n := 0; n < limit; {
		b, ok := s.bytes(off+n, min(limit-n, bs-(off+n)%bs)) // the part in one block
		if !ok {
			return -1
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return n + i
		}
		n += len(b)
	}
	return -1
}

// moduleAt finds the module whose contribution contains a place.
func (f *File) moduleAt(p place) (*module, error) {
	d := &f.dbi
	var bad bool
	entry := func(i int) []byte {
		b, ok := d.contribs.bytes(d.contribOff+i*d.contribSize, 28)
		if !ok {
			bad = true
			return make([]byte, 28)
		}
		return b
	}
	i := sort.Search(d.contribN, func(i int) bool {
		b := entry(i)
		return p.less(place{le.Uint16(b), le.Uint32(b[4:])})
	}) - 1
	if i < 0 || bad {
		return nil, nil
	}
	b := entry(i)
	if le.Uint16(b) != p.sect || p.off-le.Uint32(b[4:]) >= le.Uint32(b[8:]) {
		return nil, nil
	}
	list, err := f.modules()
	n := int(le.Uint16(b[16:]))
	if err != nil || n >= len(list) {
		return nil, err
	}
	return list[n], nil
}

// readProcs lists the functions of a module. A function's record refers to its end record,
// so that what is between is skipped.
func (f *File) readProcs(m *module) (*procs, error) {
	s, err := f.c.stream(m.stream)
	if err != nil || s.size == 0 {
		return &procs{}, err
	}
	if err := s.claim(); err != nil {
		return nil, fmt.Errorf("stream %d: %w", m.stream, err)
	}
	p := new(procs)
	var ok, ok2 bool
	p.symbols, ok = s.view(0, m.symbols)
	p.c13, ok2 = s.view(m.symbols+m.c11, m.c13)
	if !ok || !ok2 {
		return nil, fmt.Errorf("parts of stream %d exceed its %#x bytes: %w", m.stream, s.size, ErrFormat)
	}
	for off := 4; off+4 <= p.symbols.size; {
		f.c.work.Add(1)
		head, _ := p.symbols.bytes(off, 4)
		next := off + 2 + int(le.Uint16(head))
		if next < off+4 {
			break
		}
		if isProc(le.Uint16(head[2:])) {
			if rec, ok := p.symbols.bytes(off, 39); ok && next >= off+39 {
				p.list = append(p.list, proc{place{le.Uint16(rec[36:]), le.Uint32(rec[32:])}, le.Uint32(rec[16:]), off})
				next = max(next, int(le.Uint32(rec[8:])))
			}
		}
		off = next
	}
	sort.SliceStable(p.list, func(i, j int) bool { return p.list[i].place.less(p.list[j].place) })
	p.subsections()
	return p, nil
}

func isProc(kind uint16) bool {
	switch kind {
	case symLocalProc, symGlobalProc, symLocalProcID, symGlobProcID:
		return true
	}
	return false
}

// at finds the function that contains a place; if there are several, the one that begins
// last.
func (p *procs) at(where place) (proc, bool) {
	i := sort.Search(len(p.list), func(i int) bool { return where.less(p.list[i].place) })
	for n := 0; n < 16 && i > 0; n++ {
		i--
		if x := p.list[i]; x.sect == where.sect && where.off-x.off < x.size {
			return x, true
		}
	}
	return proc{}, false
}
