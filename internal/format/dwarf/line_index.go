package dwarf

import (
	"cmp"
	"slices"
	"sort"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// The index from addresses to rows. A line program is executed once from end to end. One in
// blockRows of its rows is stored, with the state needed to continue from there. A lookup
// finds the block by binary search and executes the program from there. That needs a few
// percent of the memory of a table of all rows.

// blockRows is the number of rows in a block.
const blockRows = 128

// A lineBlock is a run of rows of one sequence with non-decreasing addresses.
type lineBlock struct {
	low, high uint64 // low is the first row's address, high the end of the last row
	seq       int    // program offset that identifies the sequence
	next      int    // offset of the opcodes after the first row
	row       lineRow
	prev      lineRow // the last row of the sequence before this block whose line is not 0
}

// index returns the blocks, sorted by address.
func (t *lineTable) index() []lineBlock {
	t.blocksOnce.Do(func() {
		if t.err == nil {
			t.blocks = t.buildBlocks()
		}
	})
	return t.blocks
}

func (t *lineTable) buildBlocks() []lineBlock {
	var blocks []lineBlock
	m := t.machine()
	first := true // the next row begins a sequence
	var (
		cur   *lineBlock
		rows  int     // in cur
		prev  lineRow // last row with a line
		seq   int     // number of blocks before this sequence
		seqAt int     // program offset of this sequence
		start uint64  // address of this sequence
	)
	for m.next() {
		if m.row.flags&flagEndSequence != 0 {
			if cur != nil {
				cur.high = max(m.row.addr, cur.high)
			}
			if !first && t.dead(start, t.enc.addrSize) {
				blocks = blocks[:seq]
			}
			first, cur = true, nil
			continue
		}
		if first {
			first, seq, seqAt, start = false, len(blocks), m.c.Off, m.row.addr
			prev = lineRow{}
		}
		if cur == nil || rows == blockRows || m.row.addr < cur.high {
			if cur != nil {
				cur.high = max(cur.high, m.row.addr)
			}
			blocks = append(blocks, lineBlock{low: m.row.addr, high: m.row.addr, seq: seqAt, next: m.c.Off, row: m.row, prev: prev})
			cur, rows = &blocks[len(blocks)-1], 0
		}
		cur.high = m.row.addr
		rows++
		if m.row.line != 0 {
			prev = m.row
		}
	}
	if !first && t.dead(start, t.enc.addrSize) {
		blocks = blocks[:seq]
	}
	blocks = slices.DeleteFunc(blocks, func(b lineBlock) bool { return b.high <= b.low })
	if !slices.IsSortedFunc(blocks, compareBlocks) {
		slices.SortFunc(blocks, compareBlocks)
	}
	return slices.Clip(blocks)
}

// compareBlocks orders blocks by address. Among sequences for the same code (identical code
// folding) the first comes last, so that it is found; the same holds for functions.
func compareBlocks(a, b lineBlock) int {
	if c := cmp.Compare(a.low, b.low); c != 0 {
		return c
	}
	if c := cmp.Compare(b.seq, a.seq); c != 0 {
		return c
	}
	return cmp.Compare(a.next, b.next)
}

// find returns the last row at or below pc in the sequence that contains pc, and the last
// such row whose line is not 0, if any.
func (t *lineTable) find(pc uint64) (row, prev lineRow, end uint64, ok bool) {
	blocks := t.index()
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].low > pc }) - 1
	// Blocks of a sequence inside another sequence may precede pc.
	for n := 0; i >= 0 && blocks[i].high <= pc && n < 16; n++ {
		i--
	}
	if i < 0 || blocks[i].high <= pc {
		return
	}
	b := &blocks[i]
	m := lineMachine{t: t, c: binbuf.New(t.data, b.next, t.big), row: b.row}
	m.constAdd = uint64(255-t.opcodeBase) / uint64(t.lineRange)
	row, prev = b.row, b.prev
	if row.line != 0 {
		prev = row
	}
	end = b.high
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
