package pefile

import (
	"iter"

	"github.com/corewalk/corewalk/internal/binbuf"
)

const (
	dirReloc Directory = 5
	dirIAT   Directory = 12
)

// Placed tells where a section's bytes are in Data, how many of them there are, and how
// many it has in memory, where the rest is zero.
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

// maxRelocBlocks bounds the pages with base relocations that are looked at: those of
// an image of four gigabytes.
const maxRelocBlocks = 1 << 20

// LoaderWrites lists what the loader may write to when it loads the image, whatever
// the sections' headers say: pages with base relocations, unless the image lies
// where it is linked for, and the table of imported addresses.
func (f *File) LoaderWrites() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		if r := f.Directory(dirIAT); r.Size != 0 && !yield(r) {
			return
		}
		dir := f.Directory(dirReloc)
		b := f.At(dir.RVA)
		b = b[:min(uint64(len(b)), uint64(dir.Size))]
		for range maxRelocBlocks {
			c := binbuf.New(b, 0, false)
			page, size := c.U32(), c.U32()
			if c.Error != nil || size < 8 || uint64(size) > uint64(len(b)) {
				return
			}
			// A word that begins in the page may end in the next.
			if size > 8 && !yield(Range{page, pageSize}) {
				return
			}
			b = b[size:]
		}
	}
}
