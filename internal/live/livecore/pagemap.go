package livecore

import (
	"encoding/binary"
	"fmt"
	"os"
)

// presence says which pages of a mapping have contents: one bit for each.
type presence []uint64

// maxPages is how many pages of one mapping are looked up: a terabyte's. Their bits take 32 MB.
const maxPages = 1 << 28

// presence finds the pages of a private anonymous mapping that were ever written; the others are zeros. It
// returns nil for other mappings, and if the kernel does not say.
func (w *writer) presence(s *segment) (presence, error) {
	pages := (s.size + pageSize - 1) / pageSize
	if s.shared() || s.file() || s.name == "[vdso]" || s.name == "[vsyscall]" || pages <= 16 {
		return nil, nil
	}
	if pages > maxPages {
		return nil, fmt.Errorf("the mapping at %#x has %d pages, more than %d: set MADV_DONTDUMP for it", s.start, pages, maxPages)
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", w.pid))
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	used := make(presence, (pages+63)/64)
	buf := make([]byte, 64<<10)
	for page := uint64(0); page < pages; {
		n := min(uint64(len(buf)), 8*(pages-page))
		if _, err := f.ReadAt(buf[:n], int64(8*(s.start/pageSize+page))); err != nil {
			return nil, nil
		}
		for i := uint64(0); i < n; i += 8 {
			// Bit 63: in memory; bit 62: swapped out.
			if binary.NativeEndian.Uint64(buf[i:])>>62 != 0 {
				used[page/64] |= 1 << (page % 64)
			}
			page++
		}
	}
	return used, nil
}

// next returns the first page with contents from at on, and how many such pages follow in a row; end if there
// is none before end.
func (p presence) next(at, end uint64) (page, run uint64) {
	has := func(i uint64) bool { return p[i/64]>>(i%64)&1 != 0 }
	for at < end && !has(at) {
		if p[at/64]>>(at%64) == 0 {
			at = (at/64 + 1) * 64
		} else {
			at++
		}
	}
	if at >= end {
		return end, 0
	}
	for page = at; at < end && has(at); at++ {
	}
	return page, at - page
}
