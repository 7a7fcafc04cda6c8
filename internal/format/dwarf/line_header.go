package dwarf

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Line tables (DWARF 5, 6.2). This file reads the header; file names are read only when
// requested.

// lineHeader is the part of the header that the line program needs.
type lineHeader struct {
	off         uint64
	enc         encoding
	minInst     uint8
	maxOps      uint8
	defaultStmt bool
	lineBase    int8
	lineRange   uint8
	opcodeBase  uint8
	lengths     []byte // operands of the standard opcodes, from opcode 1
	names       int    // offset of the directory and file tables
	program     int    // offset of the first opcode
	end         int    // offset of the end of the program
}

// readLineHeader reads the header at off in .debug_line. addrSize is the unit's address
// size; DWARF 5 tables have their own.
func readLineHeader(data []byte, off uint64, big bool, addrSize uint8) (lineHeader, error) {
	h := lineHeader{off: off}
	if off >= uint64(len(data)) {
		return h, fmt.Errorf("line table at %#x is past the %#x bytes of .debug_line: %w", off, len(data), ErrFormat)
	}
	c := binbuf.New(data, int(off), big)
	size, offSize := readLength(&c)
	if c.Error != nil {
		return h, fmt.Errorf("line table at %#x: %w", off, c.Error)
	}
	if size > uint64(c.Len()) {
		return h, fmt.Errorf("line table at %#x: length %#x exceeds .debug_line: %w", off, size, ErrFormat)
	}
	h.end = c.Off + int(size)
	c.Data = data[:h.end]
	h.enc = encoding{version: c.U16(), addrSize: addrSize, offSize: offSize}
	if c.Error == nil && (h.enc.version < 2 || h.enc.version > 5) {
		return h, fmt.Errorf("line table at %#x: version %d, want 2 to 5: %w", off, h.enc.version, ErrFormat)
	}
	if h.enc.version >= 5 {
		h.enc.addrSize = c.U8()
		c.U8() // segment selector size
	}
	headerLen := c.Uint(int(offSize))
	if c.Error == nil && headerLen > uint64(h.end-c.Off) {
		return h, fmt.Errorf("line table at %#x: header length %#x exceeds the table: %w", off, headerLen, ErrFormat)
	}
	h.program = c.Off + int(headerLen)
	h.minInst = c.U8()
	h.maxOps = 1
	if h.enc.version >= 4 {
		h.maxOps = max(1, c.U8())
	}
	h.defaultStmt = c.U8() != 0
	h.lineBase = int8(c.U8())
	h.lineRange = c.U8()
	h.opcodeBase = c.U8()
	h.lengths = c.Bytes(max(0, int(h.opcodeBase)-1))
	h.names = c.Off
	switch {
	case c.Error != nil:
		return h, fmt.Errorf("line table at %#x: %w", off, c.Error)
	case h.lineRange == 0 || h.opcodeBase == 0:
		return h, fmt.Errorf("line table at %#x: invalid line range %d or opcode base %d: %w", off, h.lineRange, h.opcodeBase, ErrFormat)
	case h.names > h.program:
		return h, fmt.Errorf("line table at %#x: header is longer than its header length: %w", off, ErrFormat)
	}
	return h, nil
}

// A lineTable is the table at one offset in .debug_line, shared by the units that refer to
// it.
type lineTable struct {
	lineHeader
	from *Data
	data []byte // .debug_line up to the end of the table
	big  bool
	dead func(low uint64, addrSize uint8) bool
	err  error // error in the header

	// special is the effect of each opcode from opcodeBase on. plain says that the standard
	// opcodes have their standard operands, and that an instruction has one operation.
	special [256]specialOp
	plain   bool

	index lineIndex

	filesOnce sync.Once
	dirs      []Value
	files     []lineFile
}

// A lineFile is an entry of the file table: its name and the index of its directory.
type lineFile struct {
	name Value
	dir  uint64
}

// lineCache holds the tables in use.
type lineCache struct {
	mu     sync.Mutex
	tables map[uint64]*lineTable
	// named counts the directories and files that were read. The tables of normal files do not overlap.
	named    atomic.Int64
	executed atomic.Int64 // bytes of programs, for the first time or for names of files
}

// lineTable returns the table at off. If its header is damaged, err of the table is set.
func (d *Data) lineTable(off uint64, addrSize uint8) *lineTable {
	d.lines.mu.Lock()
	defer d.lines.mu.Unlock()
	t := d.lines.tables[off]
	if t != nil {
		return t
	}
	t = &lineTable{from: d, big: d.big, dead: d.dead}
	data, err := d.lineBytes(off)
	if err == nil {
		t.lineHeader, err = readLineHeader(data, off, d.big, addrSize)
	}
	if t.err = err; err == nil {
		t.data = data[:t.end]
		t.setOpcodes()
	}
	if d.lines.tables == nil {
		d.lines.tables = make(map[uint64]*lineTable)
	}
	d.lines.tables[off] = t
	return t
}

// lineBytes returns .debug_line, readable up to the end of the table at off.
func (d *Data) lineBytes(off uint64) ([]byte, error) {
	const lengthField = 12
	data, err := d.part(SecLine, off, off+lengthField)
	if err != nil || off >= uint64(len(data)) {
		return data, err
	}
	c := binbuf.New(data, int(off), d.big)
	size, _ := readLength(&c)
	if c.Error != nil || size > uint64(c.Len()) {
		return data, nil // readLineHeader reports the error better
	}
	return d.part(SecLine, off, uint64(c.Off)+size)
}

// lines returns the unit's line table, or nil if it has none.
func (u *Unit) lines() *lineTable {
	u.lineOnce.Do(func() {
		if u.skeleton != nil {
			u.line = u.skeleton.lines()
			return
		}
		if u.root.hasStmtList {
			u.line = u.Data.lineTable(u.root.stmtList, u.enc.addrSize)
		}
	})
	return u.line
}
