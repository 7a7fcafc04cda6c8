package dwarf

import (
	"cmp"
	"slices"
	"sync"
)

// From addresses to rows. A line program is executed as far as the addresses asked for need, and
// continues where it stopped. Its rows are not stored, but which addresses each run of at most
// blockRows rows covers. A look-up executes such a run again. That needs a few percent of the
// memory of a table of all rows.

// blockRows is the number of rows in a block.
const blockRows = 128

// blockBytes is the number of bytes of instructions in which the rows of a block are: a program may have megabytes of others between two rows.
const blockBytes = 4096

// bytesPerUnit is how many bytes of a program that is executed for the first time are one unit of what Work counts, if tables overlap: those of normal
// files have fewer bytes together than twice the section.
const bytesPerUnit = 4

func (t *lineTable) execute(n int) {
	if all := t.from.lines.executed.Add(int64(n)); all > 2*int64(t.from.size(SecLine)) {
		t.from.work.Add(int64(n / bytesPerUnit))
	}
}

// A lineIndex has the blocks of a program as far as it was executed. A block is a run of rows of
// one sequence with non-decreasing addresses. Among sequences for the same code (identical code
// folding) the first is found; the same holds for functions.
type lineIndex struct {
	mu     sync.Mutex
	m      lineMachine
	blocks spanSet // the id is the offset of the opcodes of the sequence, or as in lineState
	states []lineState
	done   bool

	begin uint64 // offset of the opcodes of the current sequence
	start uint64 // its first address
	dead  bool   // it is that of discarded code
	open  bool   // cur is a block
	cur   span   // its id without the flag leftover
	rows  int    // in cur
	prev  lineRow
}

// A lineState is the state at the beginning of a block that does not begin a sequence.
type lineState struct {
	next uint64  // offset of the opcodes after the first row
	row  lineRow // the first row
	prev lineRow // the last row of the sequence before the block whose line is not 0
}

// advance executes the program until a block with pc is complete.
func (x *lineIndex) advance(t *lineTable, pc uint64) {
	if x.m.t == nil {
		x.m, x.begin = t.machine(), uint64(t.program)
	}
	from := x.m.c.Off
	defer func() { t.execute(x.m.c.Off - from) }()
	for found := false; !found; {
		if !x.m.next() {
			x.done = true
			x.close(x.cur.high, pc)
			return
		}
		row := &x.m.row
		switch {
		case row.flags&flagEndSequence != 0:
			found = x.close(row.addr, pc)
			x.begin, x.start = uint64(x.m.c.Off), 0
			x.rows = 0
			continue
		case x.rows == 0:
			x.start, x.dead, x.prev = row.addr, t.dead(row.addr, t.enc.addrSize), lineRow{}
			x.cur, x.open = span{row.addr, row.addr, x.begin}, true
			if uint64(x.m.c.Off)-x.begin > blockBytes {
				x.later(row)
			}
		case x.rows == blockRows || row.addr < x.cur.high || uint64(x.m.c.Off)-x.cur.id > blockBytes:
			found = x.close(row.addr, pc)
			x.later(row)
		}
		x.cur.high = row.addr
		x.rows++
		if row.line != 0 {
			x.prev = *row
		}
	}
}

// later begins a block with the row that was just executed.
func (x *lineIndex) later(row *lineRow) {
	next := uint64(x.m.c.Off)
	x.cur, x.open, x.rows = span{row.addr, row.addr, next}, true, 0
	if !x.dead {
		x.states = append(x.states, lineState{next, *row, x.prev})
	}
}

// close ends the current block at an address and reports whether it is the one with pc.
func (x *lineIndex) close(high, pc uint64) bool {
	s := x.cur
	s.high = max(s.high, high)
	if !x.open || x.dead || s.high <= s.low {
		x.open = false
		return false
	}
	x.open = false
	s.id |= ifLeftover(x.start)
	x.blocks.add(s)
	return s.holds(pc) && !s.leftover()
}

// block returns a machine that has just executed the first row of the block with pc, the last row
// before that whose line is not 0, and where the block ends.
func (t *lineTable) block(pc uint64) (m lineMachine, prev lineRow, end uint64, ok bool) {
	x := &t.index
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.err != nil {
		return
	}
	s, ok := x.blocks.find(pc, &t.from.work)
	if !x.done && (!ok || s.leftover()) {
		x.advance(t, pc)
		s, ok = x.blocks.find(pc, &t.from.work)
	}
	if !ok {
		return
	}
	s.id &^= leftover
	m = t.machine()
	m.c.Off = int(s.id)
	m.c.Data = m.c.Data[:min(s.id+blockBytes, uint64(len(m.c.Data)))]
	i, later := slices.BinarySearchFunc(x.states, s.id, func(b lineState, id uint64) int { return cmp.Compare(b.next, id) })
	if later {
		m.row, prev = x.states[i].row, x.states[i].prev
	} else {
		m.next()
	}
	return m, prev, s.high, true
}

// find returns the last row at or below pc in the sequence that contains pc, and the last
// such row whose line is not 0, if any.
func (t *lineTable) find(pc uint64) (row, prev lineRow, end uint64, ok bool) {
	m, prev, end, ok := t.block(pc)
	if !ok {
		return
	}
	row = m.row
	if row.line != 0 {
		prev = row
	}
	for n := 1; n < blockRows && m.next(); n++ {
		if m.row.addr > pc {
			end = m.row.addr
			break
		}
		if m.row.flags&flagEndSequence != 0 || m.row.addr < row.addr {
			break
		}
		row = m.row
		if row.line != 0 {
			prev = row
		}
	}
	return row, prev, end, true
}
