package mmapfile

import "sync/atomic"

const (
	// maxScattered is the size in bytes of the largest range that is read page by page.
	maxScattered = 4 << 10
	// around is how many bytes the kernel maps with a page that is read, as a rule: a block of this size and alignment.
	around = 64 << 10
)

// Scattered prepares a part of Data for reads of a few bytes here and there. It returns a function that is called before
// a range of that part is read, counted from off. Without it each such read brings in 64 KB: where a mapped page is read, the
// kernel maps those around it. Where a private page is written to, it maps that page alone; so the function writes, and
// changes nothing. It does so for one page of each 64 KB: where another is needed, all are worth it.
//
// Scattered returns nil where that does not work. The function is safe for concurrent use, and what it was not called
// for can be read as well.
func (f *File) Scattered(off, size uint64) func(from, end uint64) {
	page := pageSize()
	total := uint64(len(f.data))
	if page >= around || off >= total || size > total-off || &f.mapping[0] != &f.data[0] {
		return nil
	}
	// The pages at the ends belong to what is around, too, which is read as before.
	first, last := (off+page-1)&^(page-1), (off+size)&^(page-1)
	if first >= last || mayWrite(f.data[first:last]) != nil {
		return nil
	}
	blocks := make([]atomic.Bool, (last-1)/around-first/around+1) // of which a page was read
	return func(from, end uint64) {
		if end < from || end-from > maxScattered {
			return
		}
		from, end = max(from+off, first), min(end+off, last)
		for at := from &^ (page - 1); at < end; at += page {
			if b := &blocks[at/around-first/around]; !b.Load() {
				copyPage(f.data[at : at+page])
				b.Store(true) // not before: another goroutine would read the page as it is
			}
		}
	}
}
