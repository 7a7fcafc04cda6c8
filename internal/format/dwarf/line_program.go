package dwarf

import "github.com/corewalk/corewalk/internal/format/binbuf"

// The line number program (DWARF 5, 6.2.5).

// Standard opcodes (6.2.5.2).
const (
	lnsExtended         = 0
	lnsCopy             = 1
	lnsAdvancePC        = 2
	lnsAdvanceLine      = 3
	lnsSetFile          = 4
	lnsSetColumn        = 5
	lnsNegateStmt       = 6
	lnsSetBasicBlock    = 7
	lnsConstAddPC       = 8
	lnsFixedAdvancePC   = 9
	lnsSetPrologueEnd   = 10
	lnsSetEpilogueBegin = 11
	lnsSetISA           = 12
)

// Extended opcodes (6.2.5.3).
const (
	lneEndSequence      = 1
	lneSetAddress       = 2
	lneDefineFile       = 3
	lneSetDiscriminator = 4
)

// lineFlags are the boolean registers of the line machine.
type lineFlags uint8

const (
	flagStmt lineFlags = 1 << iota
	flagPrologueEnd
	flagEpilogueBegin
	flagEndSequence
)

// lineRow is one row of the matrix: those registers that are kept.
type lineRow struct {
	addr    uint64
	file    uint32
	line    uint32
	col     uint32
	discr   uint32
	flags   lineFlags
	opIndex uint8
}

// A lineMachine executes a line program row by row.
type lineMachine struct {
	t   *lineTable
	c   binbuf.Cursor
	row lineRow
	// constAdd is the operation advance of lnsConstAddPC, also used for special opcodes.
	constAdd uint64
	done     bool // the row just emitted ended its sequence
	// defined, if not nil, is called for each file that the program defines.
	defined func(lineFile)
}

func (t *lineTable) machine() lineMachine {
	m := lineMachine{t: t, c: binbuf.New(t.data, t.program, t.big)}
	m.constAdd = uint64(255-t.opcodeBase) / uint64(t.lineRange)
	m.reset()
	return m
}

func (m *lineMachine) reset() {
	m.row = lineRow{file: 1, line: 1}
	if m.t.defaultStmt {
		m.row.flags = flagStmt
	}
}

// advance increases the address by a number of operations (6.2.5.1).
func (m *lineMachine) advance(ops uint64) {
	t := m.t
	if t.maxOps == 1 {
		m.row.addr += ops * uint64(t.minInst)
		return
	}
	ops += uint64(m.row.opIndex)
	m.row.addr += ops / uint64(t.maxOps) * uint64(t.minInst)
	m.row.opIndex = uint8(ops % uint64(t.maxOps))
}

// next executes the program up to the next row, which it leaves in m.row. It returns false
// at the end of the program.
func (m *lineMachine) next() bool {
	// Registers that are reset after each row.
	m.row.discr = 0
	m.row.flags &= flagStmt
	if m.done {
		m.done = false
		m.reset()
	}
	t := m.t
	for m.c.Off < len(m.c.Data) && m.c.Error == nil {
		if t.plain {
			if m.quick() {
				return true
			}
			if m.c.Off >= len(m.c.Data) {
				return false
			}
		}
		op := m.c.Data[m.c.Off]
		m.c.Off++
		if op >= t.opcodeBase {
			m.advance(uint64(t.special[op].ops))
			m.row.line += uint32(int32(t.special[op].lines))
			return true
		}
		if m.standard(op) {
			return m.c.Error == nil
		}
	}
	return false
}

// quick executes opcodes of plain programs up to the next row, and reports whether it came that
// far. It stops before opcodes that are rare, or whose operand takes several bytes.
func (m *lineMachine) quick() bool {
	t, data, off := m.t, m.c.Data, m.c.Off
	addr, line := m.row.addr, m.row.line
	step := uint64(t.minInst)
	row := false
loop:
	for off < len(data) {
		op := data[off]
		if op >= t.opcodeBase {
			sp := &t.special[op]
			addr += uint64(sp.ops) * step
			line += uint32(int32(sp.lines))
			off++
			row = true
			break
		}
		switch op {
		case lnsCopy:
			off++
			row = true
			break loop
		case lnsNegateStmt:
			m.row.flags ^= flagStmt
			off++
			continue
		case lnsConstAddPC:
			addr += m.constAdd * step
			off++
			continue
		case lnsSetPrologueEnd:
			m.row.flags |= flagPrologueEnd
			off++
			continue
		}
		if off+1 >= len(data) || data[off+1] >= 0x80 {
			break
		}
		b := data[off+1]
		switch op {
		case lnsAdvancePC:
			addr += uint64(b) * step
		case lnsAdvanceLine:
			line += uint32(int32(b) << 25 >> 25)
		case lnsSetFile:
			m.row.file = uint32(b)
		case lnsSetColumn:
			m.row.col = uint32(b)
		default:
			break loop
		}
		off += 2
	}
	m.c.Off, m.row.addr, m.row.line = off, addr, line
	return row
}

// A specialOp is what a special opcode adds to the address and to the line.
type specialOp struct {
	ops   uint8
	lines int16
}

// setOpcodes computes the tables that depend only on the header.
func (t *lineTable) setOpcodes() {
	for op := int(t.opcodeBase); op < 256; op++ {
		adj := op - int(t.opcodeBase)
		t.special[op] = specialOp{
			ops:   uint8(adj / int(t.lineRange)),
			lines: int16(int(t.lineBase) + adj%int(t.lineRange)),
		}
	}
	n := min(len(t.lengths), len(standardLengths))
	t.plain = t.maxOps == 1 && string(t.lengths[:n]) == string(standardLengths[:n])
}

// standard executes an opcode that is not special, and reports whether it emitted a row.
func (m *lineMachine) standard(op uint8) bool {
	c, t := &m.c, m.t
	if op != lnsExtended && int(op) <= len(standardLengths) && t.lengths[op-1] != standardLengths[op-1] {
		m.skipOperands(op) // the producer gives this opcode another meaning
		return false
	}
	switch op {
	case lnsExtended:
		return m.extended()
	case lnsCopy:
		return true
	case lnsAdvancePC:
		m.advance(c.ULEB())
	case lnsAdvanceLine:
		m.row.line += uint32(c.SLEB())
	case lnsSetFile:
		m.row.file = uint32(min(c.ULEB(), 1<<32-1))
	case lnsSetColumn:
		m.row.col = uint32(min(c.ULEB(), 1<<32-1))
	case lnsNegateStmt:
		m.row.flags ^= flagStmt
	case lnsSetBasicBlock:
	case lnsConstAddPC:
		m.advance(m.constAdd)
	case lnsFixedAdvancePC:
		m.row.addr += uint64(c.U16())
		m.row.opIndex = 0
	case lnsSetPrologueEnd:
		m.row.flags |= flagPrologueEnd
	case lnsSetEpilogueBegin:
		m.row.flags |= flagEpilogueBegin
	case lnsSetISA:
		c.ULEB()
	default:
		m.skipOperands(op)
	}
	return false
}

// standardLengths are the operand counts of the standard opcodes.
var standardLengths = [...]uint8{0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}

// skipOperands skips the operands of an unknown opcode, using the header's table.
func (m *lineMachine) skipOperands(op uint8) {
	for range m.t.lengths[op-1] {
		skipLEB(&m.c)
	}
}

func (m *lineMachine) extended() bool {
	c, t := &m.c, m.t
	size := c.ULEB()
	if c.Error != nil || size == 0 {
		return false
	}
	start := c.Off
	if size > uint64(c.Len()) {
		c.Skip64(size) // fails
		return false
	}
	end := start + int(size)
	emitted := false
	switch c.U8() {
	case lneEndSequence:
		m.row.flags |= flagEndSequence
		m.done = true
		emitted = true
	case lneSetAddress:
		n := int(size) - 1 // use the actual size, not the header's
		if n != 2 && n != 4 && n != 8 {
			n = min(int(t.enc.addrSize), n)
		}
		m.row.addr = c.Uint(n)
		m.row.opIndex = 0
	case lneDefineFile:
		if m.defined != nil {
			if f, ok := readFileV4(c); ok {
				m.defined(f)
			}
		}
	case lneSetDiscriminator:
		m.row.discr = uint32(min(c.ULEB(), 1<<32-1))
	}
	c.Seek(end) // skips vendor opcodes and the rest of others
	return emitted
}
