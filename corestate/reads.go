package corestate

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/corewalk/corewalk/unwind/arch"
)

// ReadPage is the size of the pages of Reads, in bytes.
const ReadPage = 4096

// Reads records which bytes of a process's memory are read: of the dump, or of files that stand
// for what it left out. Its zero value is ready for use, by several goroutines.
type Reads struct {
	mu    sync.Mutex
	pages map[arch.Address]*[ReadPage / 64]uint64 // by their number, a bit for each byte
	also  *Reads                                  // During
}

// Record makes Open record in r what is read of the dump.
func Record(r *Reads) Option { return func(o *options) { o.reads = r } }

// add records that n bytes from addr on were read.
func (r *Reads) add(addr arch.Address, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.also != nil {
		r.also.add(addr, n)
	}
	if r.pages == nil {
		r.pages = map[arch.Address]*[ReadPage / 64]uint64{}
	}
	for n > 0 {
		page, in := addr/ReadPage, int(addr%ReadPage)
		bits := r.pages[page]
		if bits == nil {
			bits = new([ReadPage / 64]uint64)
			r.pages[page] = bits
		}
		k := min(n, ReadPage-in)
		for i := in; i < in+k; i++ {
			bits[i/64] |= 1 << (i % 64)
		}
		addr, n = addr+arch.Address(k), n-k
	}
}

// Pages yields the addresses of the pages of which something was read, ascending.
func (r *Reads) Pages() iter.Seq[arch.Address] {
	return func(yield func(arch.Address) bool) {
		r.mu.Lock()
		list := slices.Sorted(maps.Keys(r.pages))
		r.mu.Unlock()
		for _, p := range list {
			if !yield(p * ReadPage) {
				return
			}
		}
	}
}

// Was reports whether the byte at addr was read.
func (r *Reads) Was(addr arch.Address) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	bits, in := r.pages[addr/ReadPage], addr%ReadPage
	return bits != nil && bits[in/64]&(1<<(in%64)) != 0
}

// During calls f, and returns what is read until f returns, also by other goroutines. Calls of During must not overlap.
func (r *Reads) During(f func()) *Reads {
	set := func(to *Reads) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.also = to
	}
	during := &Reads{}
	set(during)
	defer set(nil)
	f()
	return during
}

// Clone returns a copy, which later reads do not change.
func (r *Reads) Clone() *Reads {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &Reads{pages: make(map[arch.Address]*[ReadPage / 64]uint64, len(r.pages))}
	for p, bits := range r.pages {
		b := *bits
		c.pages[p] = &b
	}
	return c
}
