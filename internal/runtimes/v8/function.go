package v8

import (
	"fmt"
	"slices"
	"sort"
)

// A function is what functions share that are made by one piece of source.
type function struct {
	shared uint64
	name   string
	script *script // nil for V8's own
	start  int     // position of its source; -1 if it is not known
	hidden bool    // made by the program's native code, or without a name: V8's traces have no such calls
}

// functionOf is the function that a SharedFunctionInfo describes; nil if the object is none.
func (e *engine) functionOf(shared uint64) *function {
	return e.functions.Get(shared, func() *function {
		if e.typeOf(shared) != e.types.sharedInfo {
			return nil
		}
		f := &function{shared: shared, start: -1}
		info := e.at(shared, e.sharedName)
		if e.isString(info) {
			f.name, _ = e.text(info)
		} else if e.typeOf(info) == e.types.scopeInfo {
			f.name, f.start = e.scope(info)
		}
		s := e.at(shared, e.sharedScript)
		if e.typeOf(s) == e.types.debugInfo { // of a function that a debugger knows: behind its SharedFunctionInfo
			s = e.at(s, 24)
		}
		f.script = e.scriptAt(s)
		f.hidden = f.script == nil && f.name == ""
		if data := e.at(shared, e.functionData); f.script == nil {
			if _, own := smi(data); !own { // V8's own functions have the number of their code
				f.hidden = true
			}
		}
		return f
	})
}

// Bits of the flags of a ScopeInfo.
const (
	scopeType        = 15
	scopeModule      = 3
	scopeSavedClass  = 1 << 10
	scopeFunction    = 3 << 12
	scopeInferred    = 1 << 14
	scopeInlineNames = 75 // so many locals have their names in place; more have them in a table
)

// scope reads the function's name and the position of its source from a ScopeInfo.
func (e *engine) scope(info uint64) (name string, start int) {
	start = -1
	flags := e.scopeFlags(info)
	locals, ok := smi(e.at(info, 24))
	if !ok || locals < 0 || locals > 1<<20 {
		return "", start
	}
	slot := uint64(4)
	if e.scopeGap != 0 {
		if p, ok := smi(e.at(info, 8*slot)); ok {
			start = p
		}
		slot += 2
	}
	if flags&scopeType == scopeModule {
		slot++
	}
	if locals < scopeInlineNames {
		slot += 2 * uint64(locals)
	} else {
		slot += 1 + uint64(locals)
	}
	if flags&scopeSavedClass != 0 {
		slot++
	}
	if flags&scopeFunction != 0 {
		name, _ = e.text(e.at(info, 8*slot))
		slot += 2
	}
	if flags&scopeInferred != 0 { // what it was assigned to
		if name == "" {
			name, _ = e.text(e.at(info, 8*slot))
		}
		slot++
	}
	if e.scopeGap == 0 {
		if p, ok := smi(e.at(info, 8*slot)); ok && p >= 0 {
			start = p
		}
	}
	return name, start
}

// A script is a file, or what eval was given.
type script struct {
	at     uint64
	name   string
	eval   bool
	offset int // lines before its first
	ends   []int32
	origin string // where eval was called
}

// maxLines is the most lines of a script.
const maxLines = 1 << 22

// scriptAt reads a Script; nil if the object is none.
func (e *engine) scriptAt(at uint64) *script {
	if e.typeOf(at) != e.types.script {
		return nil
	}
	return e.scripts.Get(at, func() *script {
		s := &script{at: at}
		s.name, _ = e.text(e.at(at, e.scriptName))
		s.offset, _ = smi(e.at(at, 24))
		if n, data, ok := e.array(e.at(at, e.scriptLineEnds), e.types.fixedArrays); ok && n <= maxLines && n > 0 && e.mayKeep(n) {
			b := e.Bytes(data, 8*n)
			s.ends = make([]int32, 0, len(b)/8)
			for ; len(b) >= 8; b = b[8:] {
				p, ok := smi(littleEndian.Uint64(b))
				if !ok || len(s.ends) > 0 && int32(p) < s.ends[len(s.ends)-1] {
					s.ends = nil
					break
				}
				s.ends = append(s.ends, int32(p))
			}
		}
		if len(s.ends) == 0 {
			s.ends = e.lineEnds(e.at(at, e.scriptSource))
		}
		if shared := e.at(at, e.evalShared); e.typeOf(shared) == e.types.sharedInfo {
			s.eval = true
			s.origin = e.evalOrigin(at, shared)
		}
		return s
	})
}

// maxEval is the most evals within each other.
const maxEval = 8

// evalOrigin says where eval was called, as V8 does.
func (e *engine) evalOrigin(at, shared uint64) string {
	for depth, s := 0, shared; depth < maxEval; depth++ { // a circle of scripts is damage
		t := e.at(e.at(s, e.sharedScript), e.evalShared)
		if e.typeOf(t) != e.types.sharedInfo {
			break
		}
		if s = t; depth == maxEval-1 {
			return ""
		}
	}
	f := e.functionOf(shared)
	pos, ok := smi(e.at(at, e.evalPosition))
	if f == nil || f.script == nil || !ok {
		return ""
	}
	if pos < 0 { // where in the bytecode
		table := e.byteArray(e.at(e.bytecodeOf(shared), e.bytecodePositions))
		pos, _, ok = lookUp(table, -pos)
		if !ok {
			pos = -1
		}
	}
	name := f.name
	if name == "" {
		name = "eval"
	}
	file := f.script.name
	if file == "" {
		file = f.script.origin
	}
	line, column := f.script.place(pos)
	return fmt.Sprintf("eval at %s (%s:%d:%d)", name, file, line, column)
}

// maxSource is the most characters of a source that are searched for ends of lines.
const maxSource = 1 << 24

// mayKeep reports whether the ends of so many more lines may be kept. Scripts may share one list, or one source.
func (e *engine) mayKeep(n int) bool { return e.lines.Add(int64(n)) <= maxKeptLines }

// maxKeptLines is the most ends of lines of all scripts that are kept.
const maxKeptLines = 1 << 24

// charsPerLine is how many characters of a source, while they are searched, count as the end of a line.
const charsPerLine = 16

// lineEnds finds the ends of the lines of a source.
func (e *engine) lineEnds(source uint64) []int32 {
	data, n, one, ok := e.flat(source)
	if !ok || n > maxSource || e.p.Spend(n/8) != nil || !e.mayKeep(n/charsPerLine) {
		return nil
	}
	width := 1
	if !one {
		width = 2
	}
	b := e.Bytes(data, n*width)
	if b == nil {
		return nil
	}
	char := func(i int) uint16 {
		switch {
		case i >= n:
			return 0
		case one:
			return uint16(b[i])
		}
		return littleEndian.Uint16(b[2*i:])
	}
	var out []int32
	for i := range n {
		switch c := char(i); {
		case c == '\n', c == '\r' && char(i+1) != '\n', c == 0x2028, c == 0x2029:
			if len(out) == cap(out) && !e.mayKeep(max(len(out), 64)) {
				return nil
			}
			out = append(out, int32(i))
		}
	}
	return append(out, int32(n))
}

// place is the line and the column of a position, from 1; 0 if they are not known.
func (s *script) place(pos int) (line, column int) {
	if pos < 0 || len(s.ends) == 0 {
		return 0, 0
	}
	i := sort.Search(len(s.ends), func(i int) bool { return int(s.ends[i]) >= pos })
	if i == len(s.ends) {
		return 0, 0
	}
	column = pos + 1
	if i > 0 {
		column = pos - int(s.ends[i-1])
	}
	return i + 1 + s.offset, column
}

// bytecodeOf is the BytecodeArray of a function, which may be behind its code; 0 if it has none.
func (e *engine) bytecodeOf(shared uint64) uint64 {
	data := e.at(shared, e.functionData)
	for range 3 {
		if e.typeOf(data) == e.types.bytecode {
			return data
		}
		if e.typeOf(data) != e.types.code {
			return 0
		}
		data = e.at(data, e.codeDeopt)
	}
	return 0
}

// lookUp finds the source position of an offset in a table of positions: the last that is not behind it.
func lookUp(table []byte, offset int) (pos, inlined int, ok bool) {
	code, value := -1, 0
	for len(table) > 0 {
		d, rest := varint(table)
		v, rest := varint(rest)
		if rest == nil {
			break
		}
		table = rest
		if d < 0 {
			d = -(d + 1)
		}
		if code += d; code > offset {
			break
		}
		value += v
		if value&1 != 0 { // code that no source has
			continue
		}
		pos, inlined, ok = value>>1&(1<<30-1)-1, value>>31&0xffff-1, true
	}
	return pos, inlined, ok
}

// varint reads a signed number of seven bits a byte, the lowest first, of which the lowest is the sign; nil follows damage.
func varint(b []byte) (int, []byte) {
	u, rest := uvarint(b)
	return int(u>>1) ^ -int(u&1), rest
}

func uvarint(b []byte) (uint64, []byte) {
	var u uint64
	for i, c := range b[:min(len(b), 10)] {
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return u, slices.Clip(b[i+1 : len(b) : len(b)])
		}
	}
	return 0, nil
}
