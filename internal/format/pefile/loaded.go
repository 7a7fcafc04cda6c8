package pefile

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"sync"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Placed returns where a section's bytes are in Data, how many there are, and the section's
// size in memory, where the rest is zero.
func (f *File) Placed(s *Section) (off, bytes, size uint64) {
	size = uint64(s.VirtualSize)
	if size == 0 {
		size = uint64(s.RawSize)
	}
	if f.memory {
		return uint64(s.RVA), size, size
	}
	return uint64(s.Off), min(uint64(s.RawSize), size), size
}

const (
	discardable    = 0x02000000 // IMAGE_SCN_MEM_DISCARDABLE
	relocsStripped = 0x1        // IMAGE_FILE_RELOCS_STRIPPED
)

// maxLoadedPages limits how many relocated pages one Loaded keeps: one megabyte.
const maxLoadedPages = 256

// A Loaded is an image as the loader lays it out at one base. It is safe for concurrent
// use.
type Loaded struct {
	file  *File
	delta uint64 // what base relocations add

	mu    sync.Mutex
	pages map[uint32][]byte // with relocations applied; nil if one is of an unknown kind
}

// LoadedAt returns the image as it looks in memory at base.
func (f *File) LoadedAt(base uint64) *Loaded {
	return &Loaded{file: f, delta: base - f.ImageBase, pages: map[uint32][]byte{}}
}

// At returns the contiguous bytes of the image from rva on that a process cannot have
// changed unless it asked for that: bytes of sections that are not writable, except where
// the loader writes. Base relocations are applied. It returns nothing if it cannot tell.
func (l *Loaded) At(rva uint32) []byte {
	f := l.file
	s := f.SectionAt(rva)
	if f.memory || s == nil || s.Characteristics&(SectionWritable|discardable) != 0 {
		return nil
	}
	known := f.loaderWrites().before(rva)
	if known == 0 {
		return nil
	}
	b := f.At(rva)
	if l.delta != 0 && len(b) > 0 {
		if f.Characteristics&relocsStripped != 0 {
			return nil // it cannot have been moved
		}
		if page := rva &^ (pageSize - 1); l.relocated(page) {
			b = l.page(page)[:]
			if b = b[min(int(rva-page), len(b)):]; len(b) == 0 {
				return nil
			}
		} else {
			known = min(known, page+pageSize-rva)
		}
		known = min(known, s.RVA+s.size()-rva)
	}
	return b[:min(uint64(len(b)), uint64(known))]
}

// A relocBlock is the position of one page's base relocations in their directory.
type relocBlock struct{ page, off, size uint32 }

// maxRelocBlocks limits the number of pages with base relocations: an image of four
// gigabytes has as many.
const maxRelocBlocks = 1 << 20

// relocBlocks lists the blocks that have relocations.
func relocBlocks(b []byte) iter.Seq[relocBlock] {
	return func(yield func(relocBlock) bool) {
		off := uint64(0)
		for range maxRelocBlocks {
			c := binbuf.New(b[off:], 0, false)
			page, size := c.U32(), c.U32()
			if c.Error != nil || size < 8 || uint64(size) > uint64(len(b))-off {
				return
			}
			if size > 8 && !yield(relocBlock{page, uint32(off) + 8, size - 8}) {
				return
			}
			off += uint64(size)
		}
	}
}

// relocs returns the blocks sorted by page, and the directory that contains them.
func (f *File) relocs() ([]relocBlock, []byte) {
	f.relocOnce.Do(func() {
		f.relocData = f.directoryBytes(dirReloc)
		f.relocIndex = slices.SortedStableFunc(relocBlocks(f.relocData), func(a, b relocBlock) int { return cmp.Compare(a.page, b.page) })
	})
	return f.relocIndex, f.relocData
}

// relocsFrom returns the index of the first block that may have relocations in a page. A
// relocation may begin at the end of the page before, and blocks need not begin at page
// boundaries.
func relocsFrom(list []relocBlock, page uint32) int {
	from := page - min(page, 2*pageSize-1)
	i, _ := slices.BinarySearchFunc(list, from, func(b relocBlock, from uint32) int { return cmp.Compare(b.page, from) })
	return i
}

func (l *Loaded) relocated(page uint32) bool {
	list, _ := l.file.relocs()
	i := relocsFrom(list, page)
	return i < len(list) && uint64(list[i].page) < uint64(page)+pageSize
}

// page returns a relocated copy of a page, or nil if a relocation is of a kind that the
// machine does not have.
func (l *Loaded) page(page uint32) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.pages[page]
	if !ok {
		if len(l.pages) >= maxLoadedPages {
			clear(l.pages) // slices returned earlier remain valid
		}
		p = l.relocate(page)
		l.pages[page] = p
	}
	return p
}

// relocate copies the existing part of a page, from the start of its first section.
func (l *Loaded) relocate(page uint32) []byte {
	out := make([]byte, pageSize)
	n := 0 // end of the sections' bytes in the page
	for rva := uint64(page); rva < uint64(page)+pageSize; {
		b := l.file.At(uint32(rva))
		if len(b) == 0 {
			rva++
			continue
		}
		k := copy(out[rva-uint64(page):], b)
		rva += uint64(k)
		n = int(rva - uint64(page))
	}
	list, data := l.file.relocs()
	for i := relocsFrom(list, page); i < len(list) && uint64(list[i].page) < uint64(page)+pageSize; i++ {
		b := list[i]
		for entries := data[b.off : b.off+b.size]; len(entries) >= 2; entries = entries[2:] {
			e := binary.LittleEndian.Uint16(entries)
			at := b.page + uint32(e&0xfff)
			if !l.apply(out, page, at, e>>12) {
				return nil
			}
		}
	}
	return out[:n]
}

// Kinds of base relocations (IMAGE_REL_BASED_...).
const (
	relAbsolute   = 0
	relHighLow    = 3
	relARMMov32   = 5
	relThumbMov32 = 7
	relDir64      = 10
)

// apply relocates the place at an RVA, as far as it is in the page. It reports whether it
// knows the kind of relocation.
func (l *Loaded) apply(out []byte, page, at uint32, kind uint16) bool {
	arm := l.file.Machine == MachineARM || l.file.Machine == MachineARMNT
	size := 8
	if kind == relHighLow {
		size = 4
	}
	if kind == relAbsolute || uint64(at)+uint64(size) <= uint64(page) || uint64(at) >= uint64(page)+pageSize {
		return true // padding, or outside the page
	}
	switch {
	case kind == relHighLow, kind == relDir64, arm && (kind == relARMMov32 || kind == relThumbMov32):
	default:
		return false
	}
	src := l.file.At(at)
	if len(src) < size {
		return false
	}
	var word [8]byte
	copy(word[:size], src)
	le := binary.LittleEndian
	switch kind {
	case relHighLow:
		le.PutUint32(word[:], le.Uint32(word[:])+uint32(l.delta))
	case relDir64:
		le.PutUint64(word[:], le.Uint64(word[:])+l.delta)
	case relARMMov32:
		v := armMov(le.Uint32(word[:])) | armMov(le.Uint32(word[4:]))<<16
		v += uint32(l.delta)
		le.PutUint32(word[:], setARMMov(le.Uint32(word[:]), v&0xffff))
		le.PutUint32(word[4:], setARMMov(le.Uint32(word[4:]), v>>16))
	case relThumbMov32:
		v := thumbMov(word[:]) | thumbMov(word[4:])<<16
		v += uint32(l.delta)
		setThumbMov(word[:], v&0xffff)
		setThumbMov(word[4:], v>>16)
	}
	for i := range size {
		if to := uint64(at) + uint64(i) - uint64(page); to < pageSize { // wraps around below the page
			out[to] = word[i]
		}
	}
	return true
}

// armMov returns the 16-bit immediate of MOVW and MOVT (A2).
func armMov(inst uint32) uint32 { return inst>>4&0xf000 | inst&0xfff }

func setARMMov(inst, v uint32) uint32 { return inst&^0xf0fff | v&0xf000<<4 | v&0xfff }

// thumbMov returns the 16-bit immediate of MOVW and MOVT (T3): imm4:i:imm3:imm8.
func thumbMov(b []byte) uint32 {
	hi, lo := uint32(binary.LittleEndian.Uint16(b)), uint32(binary.LittleEndian.Uint16(b[2:]))
	return hi&0xf<<12 | hi>>10&1<<11 | lo>>12&7<<8 | lo&0xff
}

func setThumbMov(b []byte, v uint32) {
	le := binary.LittleEndian
	hi, lo := uint32(le.Uint16(b)), uint32(le.Uint16(b[2:]))
	hi = hi&^0x40f | v>>12&0xf | v>>11&1<<10
	lo = lo&^0x70ff | v>>8&7<<12 | v&0xff
	le.PutUint16(b, uint16(hi))
	le.PutUint16(b[2:], uint16(lo))
}
