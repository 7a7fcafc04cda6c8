package oldmalloc_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/oldmalloc"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

const (
	page    = 4096
	data    = 0x70000000 // of a library: two pages
	brk     = 0x50000000
	mapped  = 0x60000000
	foreign = 0x62000000
)

// made is a process whose memory is written by hand: bins across two pages of a library, the rest of the second page, a heap, blocks with mappings of their own.
type made struct {
	arch  *arch.Arch
	w     uint64
	pages map[uint64][]byte
	maps  []libstate.Mapping
	libs  *libstate.Table
	bins  uint64
}

func (m *made) Arch() *arch.Arch                      { return m.arch }
func (m *made) LibraryTracker() libstate.LibraryState { return m.libs }
func (m *made) Mappings() []libstate.Mapping          { return m.maps }

func (m *made) ReadMem(at arch.Address, b []byte) (n int, err error) {
	for n < len(b) {
		p := m.pages[(at+uint64(n))&^(page-1)]
		if p == nil {
			return n, arch.ErrUnreadable
		}
		n += copy(b[n:], p[(at+uint64(n))%page:])
	}
	return n, nil
}

func (m *made) ReadWord(at arch.Address) (uint64, error) {
	var b [8]byte
	if _, err := m.ReadMem(at, b[:m.w]); err != nil {
		return 0, err
	}
	return m.arch.Word(b[:m.w]), nil
}

func (m *made) put(at, v uint64) {
	b := m.pages[at&^(page-1)][at%page:]
	if m.w == 8 {
		m.arch.ByteOrder.PutUint64(b, v)
	} else {
		m.arch.ByteOrder.PutUint32(b, uint32(v))
	}
}

// chunk writes a chunk's record and what repeats its size behind it. Sizes are in units.
func (m *made) chunk(c, units, bit uint64) (next uint64) {
	size := units * 4 * m.w
	m.put(c+m.w, size|bit)
	m.put(c+size, size|bit)
	return c + size
}

func (m *made) head(i int) uint64 { return m.bins + uint64(i)*(8+2*m.w) + 8 - 2*m.w }

// ring has a bin lead to chunks, one after the other and back.
func (m *made) ring(i int, chunks ...uint64) {
	all := append([]uint64{m.head(i)}, chunks...)
	for k, c := range all {
		next := all[(k+1)%len(all)]
		m.put(c+2*m.w, next)
		m.put(next+3*m.w, c)
	}
	if len(chunks) > 0 {
		at := m.bins - 8
		b := m.pages[at&^(page-1)][at%page:]
		m.arch.ByteOrder.PutUint64(b, m.arch.ByteOrder.Uint64(b)|1<<i)
	}
}

// make builds the process, and says which blocks it has.
func build(a *arch.Arch) (m *made, want []heap.Block) {
	m = &made{arch: a, w: uint64(a.WordSize), pages: map[uint64][]byte{}}
	add := func(start, n uint64, path string) libstate.Mapping {
		for at := start; at < start+n; at += page {
			m.pages[at] = make([]byte, page)
		}
		x := libstate.Mapping{Start: arch.Address(start), End: arch.Address(start + n), Perm: libstate.Read | libstate.Write, Path: path}
		m.maps = append(m.maps, x)
		return x
	}
	w := m.w
	block := func(c, units uint64, list string) {
		want = append(want, heap.Block{Start: c + 2*w, Size: units*4*w - 2*w, Free: list != "", List: list})
	}
	// The heap: the first chunk is at the third word.
	add(brk, 3*page, "")
	c := brk + 2*w
	m.put(c, 1)
	var free []uint64
	for i, units := range []uint64{2, 3, 5, 4, 6, 2, 9} {
		bit, list := uint64(1), ""
		if i%3 == 1 {
			bit, list = 0, "bin"
			free = append(free, c)
		}
		block(c, units, list)
		c = m.chunk(c, units, bit)
	}
	rest := (brk + 3*page - 2*w - c) / (4 * w)
	block(c, rest, "")
	m.put(m.chunk(c, rest, 1)+w, 1)
	// Two blocks with mappings of their own, of which the second is aligned to a page; what else is there is nobody's.
	add(mapped, 9*page, "")
	m.put(mapped+2*w, 2*w)
	m.put(mapped+3*w, 3*page-2*w)
	want = append(want, heap.Block{Start: mapped + 4*w, Size: 3*page - 4*w, Mapped: true})
	second := uint64(mapped + 3*page)
	m.put(second+2*w, 2*w)
	m.put(second+3*w, 4*page-2*w)
	m.put(second+page-2*w, page-2*w)
	m.put(second+page-w, 3*page+2*w)
	want = append(want, heap.Block{Start: second + page, Size: 3 * page, Mapped: true})
	add(foreign, 4*page, "")
	m.put(foreign+2*w, 1) // begins as a heap, and is none
	m.put(foreign+3*w, 8*w+1)
	// The library: bins across its pages, and the rest of the second.
	lib := add(data, 2*page, "/lib/ld-musl.so")
	m.bins = data + page - 8 - 3*(8+2*w)
	c = data + page + 0x800 + 2*w
	m.put(c, 1)
	block(c, 1, "")
	c = m.chunk(c, 1, 1)
	block(c, 3, "")
	c = m.chunk(c, 3, 1)
	units := (data + 2*page - 2*w - c) / (4 * w)
	block(c, units, "bin")
	last := c
	m.put(m.chunk(c, units, 0)+w, 1)
	for i := range 64 {
		if i%2 == 0 {
			m.ring(i)
		}
	}
	m.ring(2, free[0])
	m.ring(5, free[1])
	m.ring(40, last)
	slices.SortFunc(m.maps, func(a, b libstate.Mapping) int { return int(int64(a.Start - b.Start)) })
	slices.SortFunc(want, func(a, b heap.Block) int { return int(int64(a.Start - b.Start)) })
	l := &libstate.Library{Path: "/lib/ld-musl.so"}
	l.SetMappings([]libstate.Mapping{lib})
	m.libs = libstate.NewTable([]*libstate.Library{l}, 0)
	return m, want
}

var archs = []*arch.Arch{arch.AMD64, arch.X86, arch.PPC, arch.S390X}

// TestMade: of memory that is written by hand all blocks are found, wherever they are.
func TestMade(t *testing.T) {
	for _, a := range archs {
		m, want := build(a)
		h, got := all(t, m)
		slices.SortFunc(got, func(a, b heap.Block) int { return int(int64(a.Start - b.Start)) })
		if !slices.Equal(got, want) {
			t.Errorf("%s: blocks\n%+v, want\n%+v", a.Name, got, want)
		}
		if d := h.Damages(); len(d) != 0 {
			t.Errorf("%s: %+v", a.Name, d)
		}
		// Asked for one by one, in any order, they are the same; nothing is beside them.
		h = oldmalloc.Find(m, oldmalloc.Options{})
		for i := len(want) - 1; i >= 0; i-- {
			for _, at := range []uint64{want[i].Start, want[i].End() - 1} {
				if b, ok := h.BlockAt(at); !ok || b != want[i] {
					t.Errorf("%s: at %#x: %+v, %v", a.Name, at, b, ok)
				}
			}
		}
		for _, at := range []uint64{brk - 1, brk, brk + 3*page - 1, brk + 3*page, mapped + 8*page, foreign + 4*m.w, data + 8, m.bins + 16, data + page + 0x800} {
			if b, ok := h.BlockAt(at); ok {
				t.Errorf("%s: at %#x is %+v", a.Name, at, b)
			}
		}
		if r := h.Records(); len(r) != 1 || r[0] != [2]uint64{m.bins - 8, m.bins + 64*(8+2*m.w)} {
			t.Errorf("%s: records %#x", a.Name, r)
		}
	}
}

// TestNone: what is not quite such a heap is none; some bins may be damaged.
func TestNone(t *testing.T) {
	for _, a := range archs {
		for what, c := range map[string]struct {
			change func(m *made)
			found  bool
		}{
			"a lock that is held":      {func(m *made) { m.lock(7, 1, 3) }, true},
			"no lock":                  {func(m *made) { m.locks(func(i int) (uint32, uint32) { return 2, 0 }) }, false},
			"too many that wait":       {func(m *made) { m.locks(func(i int) (uint32, uint32) { return 1, 1 << 20 }) }, false},
			"a few bins":               {func(m *made) { m.wreck(8, 11) }, true},
			"all bins":                 {func(m *made) { m.wreck(0, 63) }, false},
			"the first bins, and bits": {func(m *made) { m.wreck(0, 7); m.put(m.bins-8, 0xffff) }, true},
			"nothing is free":          {func(m *made) { m.ring(2); m.ring(5); m.ring(40); m.bits(0) }, false},
			"free ones are in use":     {func(m *made) { m.inUse(2); m.inUse(5); m.inUse(40) }, false},
			"one is in use":            {func(m *made) { m.inUse(2) }, true},
			"the GNU C library":        {func(m *made) { m.uses("/lib/libc.so.6") }, false},
			"an old one":               {func(m *made) { m.uses("/lib/libc-2.31.so") }, false},
			"one like it":              {func(m *made) { m.uses("/lib/libc.so.6.d/other.so") }, true},
			"they do not lead back":    {func(m *made) { m.astray(2); m.astray(5); m.astray(40) }, false},
		} {
			t.Run(fmt.Sprintf("%s/%s", a.Name, what), func(t *testing.T) {
				m, _ := build(a)
				c.change(m)
				if h := oldmalloc.Find(m, oldmalloc.Options{}); (h != nil) != c.found {
					t.Errorf("found: %v", h != nil)
				}
			})
		}
	}
}

func (m *made) lock(i int, held, waiters uint32) {
	at := m.bins + uint64(i)*(8+2*m.w)
	m.arch.ByteOrder.PutUint32(m.pages[at&^(page-1)][at%page:], held)
	m.arch.ByteOrder.PutUint32(m.pages[(at+4)&^(page-1)][(at+4)%page:], waiters)
}

func (m *made) locks(of func(i int) (uint32, uint32)) {
	for i := range 64 {
		held, waiters := of(i)
		m.lock(i, held, waiters)
	}
}

func (m *made) wreck(from, to int) {
	for i := from; i <= to; i++ {
		m.put(m.head(i)+2*m.w, 0x1234567)
	}
}

func (m *made) bits(v uint64) {
	at := m.bins - 8
	m.arch.ByteOrder.PutUint64(m.pages[at&^(page-1)][at%page:], v)
}

func (m *made) first(i int) uint64 { c, _ := m.ReadWord(m.head(i) + 2*m.w); return c }

func (m *made) inUse(i int) {
	c := m.first(i)
	size, _ := m.ReadWord(c + m.w)
	m.put(c+m.w, size|1)
	m.put(c+size, size|1)
}

func (m *made) astray(i int) { m.put(m.first(i)+3*m.w, 0x7654321) }

// TestMadeDamages: the first block of an area, wherever that begins, is named when its neighbour's record was written to; marks of areas that are damaged, and
// memory that the dump lacks, lose blocks and are no damage of blocks.
func TestMadeDamages(t *testing.T) {
	for _, a := range archs {
		_, blocks := build(a)
		w := uint64(a.WordSize)
		of := func(at uint64) *heap.Block {
			return &blocks[slices.IndexFunc(blocks, func(b heap.Block) bool { return b.Start >= at })]
		}
		for what, c := range map[string]struct {
			change func(m *made)
			before *heap.Block // of the only damage; nil for none
		}{
			"first of the heap":    {func(m *made) { m.put(of(brk).End(), 0x41414141) }, of(brk)},
			"all of its neighbour": {func(m *made) { m.put(of(brk).End(), 0x41414141); m.put(of(brk).End()+w, 0x42424242) }, of(brk)},
			"first of a library":   {func(m *made) { m.put(of(data).End(), 0x41414141); m.put(of(data).End()+w, 0x42424242) }, of(data)},
			"a page is missing":    {func(m *made) { delete(m.pages, brk+page) }, nil},
			"the end is missing":   {func(m *made) { delete(m.pages, brk+2*page) }, nil},
		} {
			t.Run(fmt.Sprintf("%s/%s", a.Name, what), func(t *testing.T) {
				m, _ := build(a)
				c.change(m)
				h, got := all(t, m)
				d := h.Damages()
				if c.before == nil {
					if len(d) != 0 {
						t.Errorf("%+v", d)
					}
				} else if len(d) != 1 || d[0].Before != *c.before || d[0].At != c.before.End() {
					t.Errorf("%+v, want one behind %+v", d, c.before)
				}
				for _, b := range got { // none is invented
					if !slices.Contains(blocks, b) {
						t.Errorf("there is no %+v", b)
					}
				}
				if c.before != nil && len(got) < len(blocks)-1 {
					t.Errorf("%d blocks of %d", len(got), len(blocks))
				}
			})
		}
	}
}

// TestBudget: of a heap only so many chunks are looked at.
func TestBudget(t *testing.T) {
	m, blocks := build(arch.AMD64)
	for n := 1; n < 60; n++ {
		h := oldmalloc.Find(m, oldmalloc.Options{Blocks: n})
		if h == nil {
			continue
		}
		got := 0
		h.Blocks(func(b heap.Block) bool { got++; return true })
		if got > n || got > len(blocks) || len(h.Damages()) > 0 {
			t.Errorf("%d blocks for %d, damages %+v", got, n, h.Damages())
		}
		h.BlockAt(brk + 64)
	}
	// The walk ends when the caller has enough.
	n := 0
	oldmalloc.Find(m, oldmalloc.Options{}).Blocks(func(heap.Block) bool { n++; return n < 3 })
	if n != 3 {
		t.Errorf("%d blocks were told", n)
	}
}

// uses adds a library.
func (m *made) uses(path string) {
	list, _ := m.libs.Libraries(false)
	m.libs = libstate.NewTable(append(slices.Clone(list), &libstate.Library{Path: path}), 0)
}
