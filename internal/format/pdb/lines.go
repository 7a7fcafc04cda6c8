package pdb

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// C13 subsections that are read. Subsections whose kind has the highest bit set are to be
// ignored.
const (
	c13Lines     = 0xf2
	c13Checksums = 0xf4
	c13Inlinees  = 0xf6
)

// Line numbers of code that a debugger should step over, or into.
const (
	lineHidden   = 0xfeefee
	lineNoStepIn = 0xf00f00
)

// A lineTable is the position of the lines of one range of code.
type lineTable struct {
	place
	size uint32
	at   view // after the header
	wide bool // column numbers follow the lines
}

// subsections lists a module's tables of lines, files and inlined functions.
func (p *procs) subsections() {
	for off := 0; off+8 <= p.c13.size; {
		head, ok := p.c13.bytes(off, 8)
		if !ok {
			return
		}
		kind, size := le.Uint32(head), int(le.Uint32(head[4:]))
		off += 8
		if size > p.c13.size-off {
			return
		}
		body := view{p.c13.s, p.c13.off + off, size}
		switch kind {
		case c13Lines:
			if b, ok := body.bytes(0, 12); ok {
				p.lines = append(p.lines, lineTable{place{le.Uint16(b[4:]), le.Uint32(b)}, le.Uint32(b[8:]),
					view{body.s, body.off + 12, size - 12}, le.Uint16(b[6:])&1 != 0})
			}
		case c13Checksums:
			p.files = body
		case c13Inlinees:
			p.inlinees = append(p.inlinees, body)
		}
		off += (size + 3) &^ 3
	}
	sort.SliceStable(p.lines, func(i, j int) bool { return p.lines[i].place.less(p.lines[j].place) })
}

// A source is a line in a file; the file is given by the offset of its checksum.
type source struct {
	file, line uint32
}

// line returns the line for a place; it is 0 if there is none.
func (p *procs) line(where place) source {
	if t, ok := p.lineTable(where); ok {
		return t.find(where.off - t.off)
	}
	return source{}
}

// lineTable returns the lines of the code that contains a place.
func (p *procs) lineTable(where place) (lineTable, bool) {
	i := sort.Search(len(p.lines), func(i int) bool { return where.less(p.lines[i].place) })
	for n := 0; n < 16 && i > 0; n++ {
		i--
		if t := p.lines[i]; t.sect == where.sect && where.off-t.off < t.size {
			return t, true
		}
	}
	return lineTable{}, false
}

// lineRows are the lines that one file contributes to a table: rows of eight bytes.
type lineRows struct {
	file uint32
	b    []byte
}

// blocks lists the table's blocks: one for each file that contributes lines.
func (t lineTable) blocks() iter.Seq[lineRows] {
	return func(yield func(lineRows) bool) {
		for at := 0; at+12 <= t.at.size; {
			h, ok := t.at.bytes(at, 12)
			if !ok {
				return
			}
			file, n, size := le.Uint32(h), int(le.Uint32(h[4:])), int(le.Uint32(h[8:]))
			if size < 12 || size > t.at.size-at || n > (size-12)/8 {
				return
			}
			rows, ok := t.at.bytes(at+12, 8*n)
			if !ok || !yield(lineRows{file, rows}) {
				return
			}
			at += size
		}
	}
}

// find searches for the last line that begins at or before an offset.
func (t lineTable) find(off uint32) (best source) {
	found, bestOff := false, uint32(0)
	for r := range t.blocks() {
		t.at.s.c.work.Add(2)
		i := sort.Search(len(r.b)/8, func(i int) bool { return le.Uint32(r.b[8*i:]) > off }) - 1
		if i >= 0 {
			if row := le.Uint32(r.b[8*i:]); !found || row >= bestOff {
				found, bestOff, best = true, row, source{r.file, le.Uint32(r.b[8*i+4:]) & 0xffffff}
			}
		}
	}
	if best.line == lineHidden || best.line == lineNoStepIn {
		return source{}
	}
	return best
}

// fileName returns the name of the file whose checksum is at an offset.
func (f *File) fileName(p *procs, checksum uint32) string {
	b, ok := p.files.bytes(int(checksum), 4)
	if !ok {
		return ""
	}
	return f.name(le.Uint32(b))
}

// An inlineeAt is where an inlined function begins.
type inlineeAt struct {
	id uint32
	source
}

// searches is how often a module's inlined functions are searched one after another, before they are put in order.
const searches = 64

// inlinee returns where an inlined function begins.
func (p *procs) inlinee(id uint32) (source, bool) {
	if p.asked.Add(1) <= searches {
		for x := range p.eachInlinee {
			if x.id == id {
				return x.source, true
			}
		}
		return source{}, false
	}
	p.once.Do(func() {
		p.inOrder = slices.Collect(p.eachInlinee)
		slices.SortStableFunc(p.inOrder, func(a, b inlineeAt) int { return cmp.Compare(a.id, b.id) })
	})
	i, ok := slices.BinarySearchFunc(p.inOrder, id, func(x inlineeAt, id uint32) int { return cmp.Compare(x.id, id) })
	if !ok {
		return source{}, false
	}
	return p.inOrder[i].source, true
}

// eachInlinee goes through the inlined functions.
func (p *procs) eachInlinee(yield func(inlineeAt) bool) {
	for _, v := range p.inlinees {
		sig, ok := v.bytes(0, 4)
		if !ok {
			continue
		}
		extended := le.Uint32(sig) == 1 // more files follow each entry
		for at := 4; ; {
			b, ok := v.bytes(at, 12)
			if !ok {
				break
			}
			v.s.c.work.Add(1)
			if !yield(inlineeAt{le.Uint32(b), source{le.Uint32(b[4:]), le.Uint32(b[8:])}}) {
				return
			}
			at += 12
			if extended {
				n, ok := v.bytes(at, 4)
				if !ok || int64(le.Uint32(n)) > int64(v.size)/4 {
					break
				}
				at += 4 + 4*int(le.Uint32(n))
			}
		}
	}
}
