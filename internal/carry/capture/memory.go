package capture

import (
	"io"

	"github.com/corewalk/corewalk/corestate"
)

const page = corestate.ReadPage

// memory is what was read of a process, which stays when the process is gone.
type memory struct {
	from  io.ReaderAt // by address; nil once the process may go
	pages map[uint64][]byte
	left  int // pages that may still be read
}

// at returns the bytes from addr to the end of its page.
func (m *memory) at(addr uint64) []byte {
	b, known := m.pages[addr/page]
	if !known && m.from != nil && m.left > 0 {
		m.left--
		buf := make([]byte, page)
		if _, err := m.from.ReadAt(buf, int64(addr/page*page)); err == nil {
			b = buf
		}
		m.pages[addr/page] = b
	}
	if b == nil {
		return nil
	}
	return b[addr%page:]
}

// fetchSize is how much is read at a time, in bytes.
const fetchSize = 1 << 20

// fetch reads the pages of [lo, hi) that are not known yet, and calls missing for those that cannot be read.
func (m *memory) fetch(lo, hi uint64, missing func(addr uint64)) {
	for lo /= page; lo*page < hi; {
		n := uint64(0)
		for ; n < fetchSize/page && (lo+n)*page < hi && m.pages[lo+n] == nil; n++ {
		}
		if n == 0 {
			lo++
			continue
		}
		got := 0
		if m.left > 0 {
			n = min(n, uint64(m.left))
			buf := make([]byte, n*page)
			got, _ = m.from.ReadAt(buf, int64(lo*page))
			m.left -= int(n)
			for i := range uint64(got / page) {
				m.pages[lo+i] = buf[i*page : (i+1)*page : (i+1)*page]
			}
		}
		lo += uint64(got / page)
		if uint64(got/page) < n || m.left <= 0 {
			missing(lo * page)
			lo++
		}
	}
}
