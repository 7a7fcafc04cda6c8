package mimalloc

import "github.com/corewalk/corewalk/unwind/arch"

// A layout is where a release has what in its records, as mi_segment_t, mi_page_t and mi_heap_t of types.h say. Offsets are in bytes.
type layout struct {
	segment uint64 // size of segments
	slice   uint64 // of the slices that they are divided into
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

// Slices with 64 bits, and with 32.
const (
	slice64 = 64 << 10
	slice32 = 32 << 10
)

var (
	narrow = pageLayout{bytes: 80, used: 24, block: 28, lists: [3]uint64{16, 32, 40}, heap: 48}
	wide   = pageLayout{bytes: 96, used: 32, block: 40, at: 48, lists: [3]uint64{16, 24, 56}, heap: 64, wide: true}

	narrow32 = pageLayout{bytes: 48, used: 20, block: 24, lists: [3]uint64{16, 28, 32}, heap: 36}
	wide32   = pageLayout{bytes: 56, used: 24, block: 28, at: 32, lists: [3]uint64{16, 20, 36}, heap: 40, wide: true}
)

// layouts64 are those of all releases of mimalloc 2. Those whose segments look alike stand side by side.
var layouts64 = [...]layout{
	// 2.0.9; 2.1.0 to 2.1.2; 2.1.4 to 2.1.7
	{32 << 20, slice64, 216, 224, 232, 240, 248, 264, &narrow, 384, 2840, 2864},
	{32 << 20, slice64, 216, 224, 232, 240, 248, 264, &narrow, multiple, 2840, 2864},
	{32 << 20, slice64, 216, 224, 232, 240, 248, 264, &wide, 0, 8, 40},
	// since 2.1.8
	{32 << 20, slice64, 224, 248, 256, 264, 272, 288, &wide, 0, 8, 40},
	// 2.0.3 to 2.0.7
	{64 << 20, slice64, 320, 328, 336, 344, 360, 368, &narrow, 128, 2840, 2864},
	// 2.0.0 to 2.0.2
	{8 << 20, slice64, 80, 88, 96, 104, 120, 128, &narrow, 0, 2840, 2864},
}

// layouts32 are the same with 32 bits.
var layouts32 = [...]layout{
	// 2.0.9; 2.1.0
	{4 << 20, slice32, 80, 84, 88, 92, 96, 104, &narrow32, 384, 1420, 1432},
	{4 << 20, slice32, 80, 84, 88, 92, 96, 104, &narrow32, multiple, 1420, 1432},
	// 2.1.2; 2.1.4 to 2.1.7
	{4 << 20, slice32, 88, 92, 96, 100, 104, 112, &narrow32, multiple, 1420, 1432},
	{4 << 20, slice32, 88, 92, 96, 100, 104, 112, &wide32, 0, 4, 20},
	// The same where numbers of 64 bits begin at multiples of 8: not on x86.
	{4 << 20, slice32, 84, 88, 92, 96, 100, 108, &narrow32, 384, 1420, 1432},
	{4 << 20, slice32, 84, 88, 92, 96, 100, 108, &narrow32, multiple, 1420, 1432},
	{4 << 20, slice32, 92, 96, 100, 104, 108, 116, &narrow32, multiple, 1420, 1432},
	{4 << 20, slice32, 92, 96, 100, 104, 108, 116, &wide32, 0, 4, 20},
	// since 2.1.8
	{4 << 20, slice32, 92, 104, 108, 112, 116, 124, &wide32, 0, 4, 20},
	// 2.0.3 to 2.0.7
	{4 << 20, slice32, 68, 72, 76, 80, 88, 92, &narrow32, 128, 1420, 1432},
	// 2.0.0 to 2.0.2
	{4 << 20, slice32, 44, 48, 52, 56, 64, 68, &narrow32, 0, 1420, 1432},
}

// layoutsOf are those for words of a size.
func layoutsOf(word int) []layout {
	if word == 4 {
		return layouts32[:]
	}
	return layouts64[:]
}

const multiple = ^uint64(0)

// start is how far behind the beginning of a page its first block is, by the size of blocks.
func (l *layout) start(block, word uint64) uint64 {
	switch {
	case block < word || block > 1024:
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
func (l *layout) read(p *page, r []byte, a *arch.Arch) {
	f, order := l.page, a.ByteOrder
	p.start = p.addr
	p.used, p.block = f.counts(r, a)
	if f.at != 0 {
		if at := a.Word(r[f.at:]); at-p.addr < p.size {
			p.start = at
		}
	} else {
		p.start += l.start(p.block, uint64(a.WordSize))
	}
	if p.block >= hugeBlock || p.block > p.end()-p.start {
		p.block = p.end() - p.start
	}
	p.count, p.heap = int(order.Uint16(r[10:])), a.Word(r[f.heap:])
	f.heads(p, r, a)
}

// counts are how many blocks a page says are in use, and their size.
func (f *pageLayout) counts(r []byte, a *arch.Arch) (used int, block uint64) {
	if f.wide {
		return int(a.ByteOrder.Uint16(r[f.used:])), a.Word(r[f.block:])
	}
	return int(a.ByteOrder.Uint32(r[f.used:])), uint64(a.ByteOrder.Uint32(r[f.block:]))
}

// heads reads where a page's lists begin.
func (f *pageLayout) heads(p *page, r []byte, a *arch.Arch) {
	for k, at := range f.lists {
		p.lists[k] = a.Word(r[at:])
	}
	p.lists[2] &^= 3
}
