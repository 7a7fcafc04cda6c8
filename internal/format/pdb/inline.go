package pdb

// maxInline limits the nesting of inlined calls, maxSites the inlined calls of one function
// that are examined.
const (
	maxInline = 256
	maxSites  = 1 << 18
)

// What looking at a record costs, in Work, and how many bytes of the program of an inlined call do.
const (
	siteCost  = 2
	noteBytes = 4
)

// A site is an inlined call that contains an address.
type site struct {
	inlinee uint32 // record in the IPI stream
	source
}

// sites lists the inlined calls at an offset in a function, outermost first. Records of
// calls inside calls are nested; a record that does not contain the address is skipped with
// all its contents.
func (p *procs) sites(fn proc, off uint32) []site {
	head, ok := p.symbols.bytes(fn.at, 12)
	if !ok {
		return nil
	}
	end := min(int(le.Uint32(head[8:])), p.symbols.size)
	at := fn.at + 2 + int(le.Uint16(head))
	var out []site
	work := &p.symbols.s.c.work
	for n := 0; n < maxSites && at < end && len(out) < maxInline; n++ {
		work.Add(siteCost)
		kind, rec, next, ok := p.symbols.record(at)
		if !ok {
			break
		}
		if kind == symInlineSite || kind == symInlineSite2 {
			work.Add(int64(len(rec) / noteBytes))
			s, inside, inner := p.site(kind, rec, fn.size, off)
			switch {
			case !inner:
			case inside:
				out = append(out, s)
				end = min(end, int(le.Uint32(rec[8:]))) // the siblings do not contain it either
			default:
				next = max(next, int(le.Uint32(rec[8:])))
			}
		}
		at = next
	}
	return out
}

// site decodes one inlined call. ok is false for a malformed record.
func (p *procs) site(kind uint16, rec []byte, size, off uint32) (s site, inside, ok bool) {
	if len(rec) < 20 && kind == symInlineSite2 || len(rec) < 16 {
		return s, false, false
	}
	s.inlinee = le.Uint32(rec[12:])
	a := siteAnnotations(kind, rec)
	for a.next() {
		if a.have && off >= a.rowStart && off < a.rowEnd {
			inside = true
			break
		}
	}
	if !inside && a.open && off >= a.code && off < size { // the last row extends to the function's end
		inside, a.row = true, a.state
	}
	if inside {
		s.source = p.lineOf(s.inlinee, a.row)
	}
	return s, inside, true
}

// siteAnnotations returns the annotation program in the record of an inlined call; rec is
// long enough.
func siteAnnotations(kind uint16, rec []byte) annotations {
	notes := 16
	if kind == symInlineSite2 {
		notes = 20 // an invocation count
	}
	return annotations{b: rec[notes:], file: sameFile}
}

// sameFile means the file in which the inlined function begins.
const sameFile = 0xffffffff

func (p *procs) lineOf(inlinee uint32, row lineState) source {
	at, ok := p.inlinee(inlinee)
	line := int64(at.line) + int64(row.line)
	if !ok || line <= 0 || line >= 1<<31 {
		return source{}
	}
	if row.file != sameFile {
		at.file = row.file
	}
	return source{at.file, uint32(line)}
}

// Operations of the program that describes the code and the lines of an inlined call.
const (
	opEnd = iota
	opCodeOffset
	opCodeOffsetBase
	opAddCodeOffset
	opCodeLength
	opFile
	opLineOffset
	opLineEndDelta
	opRangeKind
	opColumnStart
	opColumnEndDelta
	opAddCodeAndLineOffset
	opCodeLengthAndOffset
	opColumnEnd
)

type lineState struct {
	file uint32
	line int32 // relative to the inlined function's first line
}

// annotations executes the program. Each change of the code offset begins a row, which ends
// where the next begins or after the given length.
type annotations struct {
	b    []byte
	file uint32

	base, code uint32
	line       int32
	open       bool      // a row has begun at code
	state      lineState // of the current row
	until      uint32    // end of that row, if known and not reported yet

	have             bool // next has completed a row
	rowStart, rowEnd uint32
	row              lineState
}

// next executes the program up to the next complete row, or returns false at its end. After
// true, have says whether there is a row.
func (a *annotations) next() bool {
	a.have = false
	if a.until != 0 {
		a.end(a.until)
		a.until = 0
		return true
	}
	op, ok := a.number()
	if !ok || op == opEnd || op > opColumnEnd {
		return false
	}
	v, ok := a.number()
	if !ok {
		return false
	}
	switch op {
	case opCodeOffset:
		a.begin(a.base + v)
	case opCodeOffsetBase:
		a.base = v
	case opAddCodeOffset:
		a.begin(a.code + v)
	case opCodeLength:
		a.end(a.code + v)
		a.code += v // the next delta is relative to the end
	case opFile:
		a.file = v
	case opLineOffset:
		a.line += signed(v)
	case opAddCodeAndLineOffset:
		a.line += signed(v >> 4)
		a.begin(a.code + v&15)
	case opCodeLengthAndOffset:
		delta, ok := a.number()
		if !ok {
			return false
		}
		a.begin(a.code + delta)
		a.until = a.code + v
	}
	return true
}

func (a *annotations) begin(code uint32) {
	if a.open {
		a.end(code)
	}
	a.code, a.open, a.state = code, true, lineState{a.file, a.line}
}

func (a *annotations) end(code uint32) {
	if a.open && code > a.code {
		a.have, a.rowStart, a.rowEnd, a.row = true, a.code, code, a.state
	}
	a.open = false
}

// number decodes a compressed number of one, two or four bytes; the highest bits of the
// first byte give its length.
func (a *annotations) number() (uint32, bool) {
	b := a.b
	switch {
	case len(b) >= 1 && b[0]&0x80 == 0:
		a.b = b[1:]
		return uint32(b[0]), true
	case len(b) >= 2 && b[0]&0xc0 == 0x80:
		a.b = b[2:]
		return uint32(b[0]&0x3f)<<8 | uint32(b[1]), true
	case len(b) >= 4 && b[0]&0xe0 == 0xc0:
		a.b = b[4:]
		return uint32(b[0]&0x1f)<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]), true
	}
	return 0, false
}

// signed decodes a signed number: the sign is in the lowest bit.
func signed(v uint32) int32 {
	if v&1 != 0 {
		return -int32(v >> 1)
	}
	return int32(v >> 1)
}
