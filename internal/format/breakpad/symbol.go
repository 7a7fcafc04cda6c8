package breakpad

import (
	"bytes"
	"iter"
	"slices"
)

// A Symbol is what a symbol file says about the code at an address.
type Symbol struct {
	Name   string
	Start  uint64
	Size   uint64 // 0 for a PUBLIC record, which has no size
	Params uint64 // bytes of parameters on the stack
	Public bool   // from a PUBLIC record: the nearest name before the address, without lines
	Shared bool   // several functions share this code; Name is one of them ("m")

	// Frames are the calls at the address, innermost first: inlined functions, then the
	// function itself. It is never empty.
	Frames []Frame
}

// A Frame is a function and a position in it. File is "" and Line 0 if unknown.
type Frame struct {
	Name, File string
	Line       int
}

// Lookup returns what is known about the code at an address. If functions overlap, it is
// the one that begins last. A PUBLIC record extends from its address to the next record,
// but not beyond a function in between. The time needed is proportional to the function's
// number of lines.
func (f *File) Lookup(addr uint64) (Symbol, bool) {
	if s, name, rest, ok := f.function(addr); ok {
		s.Name = string(name)
		f.lines(&s, rest, addr)
		return s, true
	}
	return f.public(addr)
}

// Function is Lookup without names and Frames, for which no lines are read.
func (f *File) Function(addr uint64) (Symbol, bool) {
	if s, _, _, ok := f.function(addr); ok {
		return s, true
	}
	s, ok := f.public(addr)
	s.Name, s.Frames = "", nil
	return s, ok
}

// function finds the FUNC record for an address, its name, and the data after it.
func (f *File) function(addr uint64) (s Symbol, name, rest []byte, ok bool) {
	i := before(f.funcs, addr)
	for n := 0; n < maxOverlap && i > 0; n++ {
		i--
		e := f.funcs[i]
		if s, ok := f.funcHead(e); ok && addr-s.Start >= s.Size {
			continue // its name may be long
		}
		if s, name, rest, ok := f.parseFunc(e); ok && addr-s.Start < s.Size {
			return s, name, rest, true
		}
	}
	return Symbol{}, nil, nil, false
}

// maxHead is how many bytes of a FUNC record the numbers before its name take, usually.
const maxHead = 64

// funcHead reads the numbers of a FUNC record, but not its name; false if they are not all there.
func (f *File) funcHead(e entry) (s Symbol, ok bool) {
	f.work.Add(lineCost)
	head := f.data[e.off:min(e.off+maxHead, uint64(len(f.data)))]
	if end := bytes.IndexByte(head, '\n'); end >= 0 {
		head = head[:end]
	}
	head = head[min(len("FUNC "), len(head)):]
	head, s.Shared = bytes.CutPrefix(head, []byte("m "))
	name, ok := numbers(head, 16, &s.Start, &s.Size, &s.Params)
	return s, ok && len(name) > 0
}

// parseFunc leaves the name to the caller, who may not want it.
func (f *File) parseFunc(e entry) (s Symbol, name, rest []byte, ok bool) {
	line, rest := f.line(e, "FUNC ")
	line, s.Shared = bytes.CutPrefix(line, []byte("m "))
	name, ok = numbers(line, 16, &s.Start, &s.Size, &s.Params)
	return s, name, rest, ok
}

func (f *File) public(addr uint64) (s Symbol, ok bool) {
	i := before(f.publics, addr) - 1
	if i < 0 {
		return s, false
	}
	line, _ := f.line(f.publics[i], "PUBLIC ")
	line, s.Shared = bytes.CutPrefix(line, []byte("m "))
	name, ok := numbers(line, 16, &s.Start, &s.Params)
	if j := before(f.funcs, addr) - 1; !ok || j >= 0 && f.funcs[j].key >= s.Start {
		return Symbol{}, false // the address is in a gap after a function
	}
	s.Name, s.Public = string(name), true
	s.Frames = []Frame{{Name: s.Name}}
	return s, true
}

// inlined is an inlined call that covers the requested address.
type inlined struct {
	depth, callLine, callFile, origin uint64
	old                               bool // the older format, without the file of the call
}

// What a hostile file may have of one function: a look-up reads all of its records. Of more than that, names and lines are not known. A
// stack's first frames are named whatever that costs.
const (
	maxRecords = 2 << 20 // bytes, of some hundred thousand lines
	maxInlined = 256     // calls that are inlined into one another
)

// lines reads the line and INLINE records after a function's record.
func (f *File) lines(s *Symbol, rest []byte, addr uint64) {
	cut := len(rest) > maxRecords
	rest = rest[:min(len(rest), maxRecords)]
	var calls []inlined
	var seen [maxInlined + 1]bool // the first of a depth counts; that there is a deeper one than are kept is known
	var place Frame
	found := false
	for len(rest) > 0 {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		if cut && !whole {
			break // the end of this line was cut off
		}
		line, rest = bytes.TrimRight(line, "\r"), after
		if record, ok := bytes.CutPrefix(line, []byte("INLINE ")); ok {
			f.parsed(line)
			if c, ok := inlineAt(record, addr); ok && c.depth <= maxInlined && !seen[c.depth] {
				seen[c.depth] = true
				f.work.Add(inlinedCost)
				calls = append(calls, c)
			}
			continue
		}
		if len(line) > 0 && digits[line[0]] > 15 || bytes.HasPrefix(line, []byte("FUNC ")) || bytes.HasPrefix(line, []byte("FILE ")) {
			break
		}
		if found {
			f.found(line)
		} else {
			f.parsed(line)
			place, found = f.lineAt(line, addr)
		}
	}
	f.chain(s, calls, place)
}

func (f *File) lineAt(line []byte, addr uint64) (Frame, bool) {
	var start, size, n, file uint64
	line, ok := numbers(line, 16, &start, &size)
	if !ok || addr-start >= size {
		return Frame{}, false
	}
	if _, ok = numbers(line, 10, &n, &file); !ok || n > 1<<31-1 {
		return Frame{}, false
	}
	if n == 0 {
		return Frame{}, true // the code belongs to no line
	}
	return Frame{File: f.fileName(file), Line: int(n)}, true
}

// inlineAt parses an INLINE record and reports whether it covers the address. In older
// files the record has no number for the file of the call; the number of fields is then
// even, because ranges come in pairs.
func inlineAt(record []byte, addr uint64) (c inlined, ok bool) {
	c.old = bytes.Count(bytes.TrimRight(record, " "), space)%2 == 0
	if c.old {
		record, ok = numbers(record, 10, &c.depth, &c.callLine, &c.origin)
	} else {
		record, ok = numbers(record, 10, &c.depth, &c.callLine, &c.callFile, &c.origin)
	}
	for ok && len(record) > 0 {
		var start, size uint64
		if record, ok = numbers(record, 16, &start, &size); ok && addr-start < size {
			return c, c.callLine <= 1<<31-1
		}
	}
	return c, false
}

// chain links the calls: the line record is the innermost function's position, and each
// outer function is at the place of the call that it inlined.
func (f *File) chain(s *Symbol, calls []inlined, place Frame) {
	slices.SortStableFunc(calls, func(a, b inlined) int { return int(min(a.depth, 1<<30)) - int(min(b.depth, 1<<30)) })
	for i, c := range calls {
		if c.depth != uint64(i) {
			calls = calls[:i] // a caller is missing: the position of its callees is unknown
			break
		}
	}
	if len(calls) > maxInlined {
		calls, place = calls[:maxInlined], Frame{} // it is the position of the innermost one
	}
	s.Frames = make([]Frame, 0, len(calls)+1)
	for i := len(calls) - 1; i >= 0; i-- {
		place.Name = f.originName(calls[i])
		s.Frames = append(s.Frames, place)
		place = Frame{Line: int(calls[i].callLine)}
		if !calls[i].old && place.Line != 0 {
			place.File = f.fileName(calls[i].callFile)
		}
	}
	place.Name = s.Name
	s.Frames = append(s.Frames, place)
}

// originName returns an inlined function's name. In older files a file number precedes it.
func (f *File) originName(c inlined) string {
	name, _ := f.named(f.origins, "INLINE_ORIGIN ", c.origin)
	if c.old {
		if _, rest, ok := number([]byte(name), 10); ok {
			return string(rest)
		}
	}
	return name
}

// Functions iterates over the FUNC and PUBLIC records, in the order of their addresses, without Frames. Malformed ones are left out.
func (f *File) Functions() iter.Seq[Symbol] {
	return func(yield func(Symbol) bool) {
		for _, e := range f.funcs {
			if s, name, _, ok := f.parseFunc(e); ok {
				if s.Name = string(name); !yield(s) {
					return
				}
			}
		}
		for _, e := range f.publics {
			if s, ok := f.public(e.key); ok && s.Start == e.key && !yield(s) {
				return
			}
		}
	}
}
