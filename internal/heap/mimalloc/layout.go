package mimalloc

import "encoding/binary"

// A layout is where a release has what in its records, as mi_segment_t, mi_page_t and mi_heap_t of types.h say. Offsets are in bytes.
type layout struct {
	segment uint64 // size of segments
	// Of a segment's record.
	cookie, total, info, kind, entries, slices uint64
	page                                       *pageLayout
	// line is how far behind the beginning of a page its first block is, if blocks are of up to 1024 bytes; multiple where small ones begin where some of
	// them would have ended.
	line uint64
	// Of a thread's heap: the list of blocks that other threads gave back, and a number that is not 0.
	delayed, key uint64
}

type pageLayout struct {
	bytes uint64
	used  uint64
	block uint64
	at    uint64    // of its first block's address; 0 if there is none
	lists [3]uint64 // free, freed by its thread, freed by others
	heap  uint64
	wide  bool // used has 16 bits, and block a word: both have 32 where not
}

var (
	narrow = pageLayout{bytes: 80, used: 24, block: 28, lists: [3]uint64{16, 32, 40}, heap: 48}
	wide   = pageLayout{bytes: 96, used: 32, block: 40, at: 48, lists: [3]uint64{16, 24, 56}, heap: 64, wide: true}
)

// layouts are those of all releases of mimalloc 2. Those whose segments look alike stand side by side.
var layouts = [...]layout{
	// 2.0.9; 2.1.0 to 2.1.2; 2.1.4 to 2.1.7
	{32 << 20, 216, 224, 232, 240, 248, 264, &narrow, 384, 2840, 2864},
	{32 << 20, 216, 224, 232, 240, 248, 264, &narrow, multiple, 2840, 2864},
	{32 << 20, 216, 224, 232, 240, 248, 264, &wide, 0, 8, 40},
	// since 2.1.8
	{32 << 20, 224, 248, 256, 264, 272, 288, &wide, 0, 8, 40},
	// 2.0.3 to 2.0.7
	{64 << 20, 320, 328, 336, 344, 360, 368, &narrow, 128, 2840, 2864},
	// 2.0.0 to 2.0.2
	{8 << 20, 80, 88, 96, 104, 120, 128, &narrow, 0, 2840, 2864},
}

const multiple = ^uint64(0)

// start is how far behind the beginning of a page its first block is, by the size of blocks.
func (l *layout) start(block uint64) uint64 {
	switch {
	case block < 8 || block > 1024:
	case l.line != multiple:
		return l.line
	case block <= 64:
		return 3 * block
	case block <= 512:
		return block
	}
	return 0
}

// read reads the record r of a page.
func (l *layout) read(p *page, r []byte, order binary.ByteOrder) {
	f := l.page
	p.start = p.addr
	if f.wide {
		p.used, p.block = int(order.Uint16(r[f.used:])), order.Uint64(r[f.block:])
	} else {
		p.used, p.block = int(order.Uint32(r[f.used:])), uint64(order.Uint32(r[f.block:]))
	}
	if f.at != 0 {
		if at := order.Uint64(r[f.at:]); at-p.addr < p.size {
			p.start = at
		}
	} else {
		p.start += l.start(p.block)
	}
	if p.block >= hugeBlock || p.block > p.end()-p.start {
		p.block = p.end() - p.start
	}
	p.count, p.heap = int(order.Uint16(r[10:])), order.Uint64(r[f.heap:])
	for k, at := range f.lists {
		p.lists[k] = order.Uint64(r[at:])
	}
	p.lists[2] &^= 3
}
