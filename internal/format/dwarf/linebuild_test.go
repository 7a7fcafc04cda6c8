package dwarf

// A lineSpec is a line table to be written. Names and opcodes are given as they
// are to lie in the file.
type lineSpec struct {
	version  int
	addrSize int
	dwarf64  bool
	minInst  uint8
	maxOps   uint8
	opBase   uint8
	dirs     []string
	files    []fileSpec // DWARF 5: with file 0
	program  func(p *program)
}

type fileSpec struct {
	name string
	dir  uint64
}

// program writes opcodes.
type program struct {
	out
	addrSize int
}

func (p *program) setAddress(a uint64) {
	p.u8(0)
	p.uleb(uint64(1 + p.addrSize))
	p.u8(lneSetAddress)
	p.uint(p.addrSize, a)
}

func (p *program) end()             { p.u8(0, 1, lneEndSequence) }
func (p *program) advance(n uint64) { p.u8(lnsAdvancePC); p.uleb(n) }

// row moves by n operations and d lines, and emits a row.
func (p *program) row(n uint64, d int64) {
	p.advance(n)
	p.u8(lnsAdvanceLine)
	p.sleb(d)
	p.u8(lnsCopy)
}

// lines writes a table to .debug_line and returns its offset.
func (f *dwarfFile) lines(l lineSpec) uint64 {
	o := f.section(SecLine)
	off := o.len()
	if l.addrSize == 0 {
		l.addrSize = 8
	}
	if l.minInst == 0 {
		l.minInst = 1
	}
	if l.maxOps == 0 {
		l.maxOps = 1
	}
	if l.opBase == 0 {
		l.opBase = 13
	}
	start := beginLength(o, l.dwarf64)
	o.u16(uint16(l.version))
	if l.version >= 5 {
		o.u8(uint8(l.addrSize), 0)
	}
	size := 4
	if l.dwarf64 {
		size = 8
	}
	at := len(o.b)
	o.uint(size, 0)
	o.u8(l.minInst)
	if l.version >= 4 {
		o.u8(l.maxOps)
	}
	o.u8(1, 0xfb, 14, l.opBase) // line base -5, line range 14
	for i := uint8(1); i < l.opBase; i++ {
		n := uint8(2) // of opcodes that no standard knows
		if int(i) <= len(standardLengths) {
			n = standardLengths[i-1]
		}
		o.u8(n)
	}
	if l.version >= 5 {
		l.names5(f, o, size)
	} else {
		l.names4(o)
	}
	o.patch(at, size, uint64(len(o.b)-at-size))
	p := &program{out: out{order: f.order}, addrSize: l.addrSize}
	l.program(p)
	o.bytes(p.b)
	endLength(o, start, l.dwarf64)
	return off
}

func (l *lineSpec) names4(o *out) {
	for _, d := range l.dirs {
		o.str(d)
	}
	o.u8(0)
	for _, fl := range l.files {
		o.str(fl.name)
		o.uleb(fl.dir)
		o.u8(0, 0)
	}
	o.u8(0)
}

func (l *lineSpec) names5(f *dwarfFile, o *out, size int) {
	o.u8(1)
	o.uleb(lnctPath)
	o.uleb(uint64(FormString))
	o.uleb(uint64(len(l.dirs)))
	for _, d := range l.dirs {
		o.str(d)
	}
	o.u8(3) // path, directory, MD5
	o.uleb(lnctPath)
	o.uleb(uint64(FormLineStrp))
	o.uleb(lnctDirectoryIndex)
	o.uleb(uint64(FormUdata))
	o.uleb(5)
	o.uleb(uint64(FormData16))
	o.uleb(uint64(len(l.files)))
	for _, fl := range l.files {
		o.uint(size, f.addString(SecLineStr, fl.name))
		o.uleb(fl.dir)
		o.bytes(make([]byte, 16))
	}
}
