package python

// A code is what is read of a code object.
type code struct {
	at                    uint64
	function, name, file  string
	first                 int
	table                 []byte
	args, kwonly, nlocals int
	flags                 uint32
	names                 []string // of the variables in localsplus
	kinds                 []byte   // of the variables, from 3.11 on
	namesRead             bool
	cells, free           []string // 3.10 and before
	last                  int      // the offset whose line was computed last
	lastLine, lastColumn  int
	haveLast              bool
}

// maxName limits names of functions and of files.
const maxName = 4096

// codeAt reads the code object at an address; nil if there is none. The caller has no lock.
func (r *runtime) codeAt(at uint64) *code {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.codeIn(at)
}

// codeIn is codeAt where the caller has the lock.
func (r *runtime) codeIn(at uint64) *code {
	if c, ok := r.codes[at]; ok {
		return c
	}
	c := r.readCode(at)
	r.codes[at] = c
	return c
}

func (r *runtime) readCode(at uint64) *code {
	b := r.bytes(at, min(r.at("code.size"), 1<<12))
	if b == nil {
		return nil
	}
	o := r.p.State.Arch().ByteOrder
	word := func(name string) uint64 { return o.Uint64(b[r.at(name):]) }
	number := func(name string) int { return int(int32(o.Uint32(b[r.at(name):]))) }
	kind := word("object.type")
	if r.codeT == 0 {
		if t := r.typeAt(kind); t == nil || t.name != "code" {
			return nil
		}
		r.codeT = kind
	}
	if kind != r.codeT {
		return nil
	}
	c := &code{at: at, first: number("code.firstlineno"), args: number("code.argcount"), kwonly: number("code.kwonly"),
		nlocals: number("code.nlocals"), flags: o.Uint32(b[r.at("code.flags"):])}
	ok, ok2 := false, false
	c.name, ok = r.str(word("code.name"), maxName)
	c.file, ok2 = r.str(word("code.filename"), maxName)
	if !ok || !ok2 || c.args < 0 || c.kwonly < 0 || c.nlocals < 0 {
		return nil
	}
	c.function = c.name
	if r.has("code.qualname") {
		if q, ok := r.str(word("code.qualname"), maxName); ok {
			c.function = q
		}
	}
	c.table = r.bytesObject(word("code.linetable"))
	return c
}

// bytesObject reads a bytes object; nil if it is none or empty.
func (r *runtime) bytesObject(at uint64) []byte {
	n := r.field(at, "var.size")
	if t := r.typeAt(r.field(at, "object.type")); t == nil || t.flags&flagBytes == 0 || n > maxRead {
		return nil
	}
	return r.bytes(at+r.at("bytes.data"), n)
}

// place returns the line and the column of an instruction; zeros if they are not known.
func (r *runtime) place(c *code, offset int) (line, column int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.placeIn(c, offset)
}

// placeIn is place where the caller has the lock.
func (r *runtime) placeIn(c *code, offset int) (line, column int) {
	if !c.haveLast || c.last != offset {
		switch {
		case r.minor >= 11:
			c.lastLine, c.lastColumn = locations(c.table, c.first, offset/2)
		case r.minor == 10:
			c.lastLine = lineTable(c.table, c.first, offset)
		default:
			c.lastLine = lnotab(c.table, c.first, offset)
		}
		c.last, c.haveLast = offset, true
		_ = r.p.Spend(1 + len(c.table)/8)
	}
	return c.lastLine, c.lastColumn
}
