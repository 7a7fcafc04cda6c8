// Package capture takes of a process that is being dumped what a slim core has, while the kernel waits: the notes from the
// pipe, and memory from the process itself. How long that takes depends on the number of threads and on how much is
// wanted, not on how much memory the process has.
package capture

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/carry/slim"
	"github.com/corewalk/corewalk/libstate"
)

// Limits say how much is taken. Sizes are in bytes; 0 is the default.
type Limits struct {
	// Memory is how much is taken in all, but the stack of the thread that died. All memory that was written to is taken of a process that has no
	// more.
	Memory uint64
	Stack  uint64 // of each thread
	Reach  uint64 // of what registers and stacks point to, directly or through other memory
	// Time is when the search for memory ends; what was found until then is taken.
	Time time.Duration
}

// The defaults.
const (
	DefaultMemory = 16 << 20
	DefaultStack  = 256 << 10
	DefaultReach  = 8 << 20
	DefaultTime   = 40 * time.Millisecond
)

func (l Limits) orDefaults() Limits {
	def := func(v *uint64, d uint64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&l.Memory, DefaultMemory)
	def(&l.Stack, DefaultStack)
	def(&l.Reach, DefaultReach)
	if l.Time == 0 {
		l.Time = DefaultTime
	}
	return l
}

// A Process is one that the kernel is dumping.
type Process struct {
	// Memory reads by address: /proc/PID/mem.
	Memory io.ReaderAt
	// Pagemap reads /proc/PID/pagemap; nil if there is none.
	Pagemap io.ReaderAt
	// Resident is how much private memory it wrote to, in bytes (RssAnon and VmSwap); 0 for not known.
	Resident uint64
}

// A Capture is what was taken of a process. It is for one goroutine.
type Capture struct {
	Core  *corestate.ELFCore // its memory is what was taken
	Head  []byte             // what was read of the pipe
	Whole bool               // all memory that was written to is there
	Pages int                // of memory, that are taken
	// Unreadable is how many bytes were wanted and could not be read.
	Unreadable uint64

	mem  memory
	want *slim.Wanted
}

// spare is how many pages may be read besides those of Limits.Memory: headers of modules, lists, and stacks that are
// searched for pointers.
const spare = 64 << 20 / page

// Take takes a capture from the beginning of the pipe and from the process, which may go afterwards.
func Take(pipe io.Reader, p Process, l Limits) (*Capture, error) {
	l = l.orDefaults()
	c := &Capture{mem: memory{from: p.Memory, pages: map[uint64][]byte{}, left: int(l.Memory/page) + spare}}
	defer func() { c.mem.from = nil }()
	var err error
	if c.Head, err = readHead(pipe); err != nil && len(c.Head) < 64 {
		return c, err
	}
	end := time.Now().Add(l.Time)
	over := func() bool { return time.Now().After(end) }
	reads := new(corestate.Reads)
	core, coreErr := corestate.OpenHead(c.Head, c.mem.at, corestate.Record(reads))
	if core == nil || coreErr != nil {
		return c, fmt.Errorf("the notes of the core: %w", coreErr)
	}
	c.Core = core
	core.BuildLibraries(nil)
	choice := slim.Choice{Reach: l.Reach, Stack: l.Stack, Data: l.Memory / 16, Follow: 4, Most: l.Memory / page * page, Over: over}
	if p.Resident > 0 && p.Resident <= l.Memory && p.Pagemap != nil {
		c.Whole = true
		choice.Follow, choice.Reach = 0, 0
	}
	c.want = slim.Collect(core, reads, choice)
	for _, s := range core.Segments() { // what was relocated
		if s.Perm&libstate.Write == 0 && s.InDump > page && s.InDump <= choice.Data {
			c.want.Add(s.Start, s.Start+s.InDump)
		}
	}
	if c.Whole {
		c.written(p.Pagemap, int(l.Memory/page))
	}
	c.want.Runs(core, func(lo, hi uint64) {
		c.mem.fetch(lo, hi, func(addr uint64) {
			c.want.Drop(addr)
			if m, ok := core.MappingAt(addr); ok && m.Perm&libstate.Write != 0 { // else of the kernel, which hides it
				c.Unreadable += page
			}
		})
	})
	for _, b := range c.mem.pages {
		if b != nil {
			c.Pages++
		}
	}
	return c, err
}

// maxLooked limits how many entries of the page map are read: those of 4 GiB of memory.
const maxLooked = 1 << 20

// written wants the pages that the process wrote to, at most so many.
func (c *Capture) written(pagemap io.ReaderAt, most int) {
	looked := 0
	buf := make([]byte, 32<<10)
	for _, s := range c.Core.Segments() {
		if s.Perm&libstate.Write == 0 || s.InDump == 0 {
			continue
		}
		first, end := s.Start/page, (s.Start+s.InDump+page-1)/page
		for at := first; at < end; {
			n := min(end-at, uint64(len(buf)/8))
			if looked += int(n); looked > maxLooked {
				c.Whole = false
				return
			}
			if got, err := pagemap.ReadAt(buf[:n*8], int64(at*8)); err != nil || got < int(n*8) {
				c.Whole = false
				return
			}
			for i := range n {
				if present(buf[i*8:]) {
					if most--; most < 0 {
						c.Whole = false
						return
					}
					c.want.Add((at+i)*page, (at+i+1)*page)
				}
			}
			at += n
		}
	}
}

// present reports whether an entry of the page map is of a page in memory or swapped out: bits 63 and 62.
func present(entry []byte) bool { return binary.NativeEndian.Uint64(entry)>>62 != 0 }

// Write writes the slim core.
func (c *Capture) Write(w io.Writer) (*slim.Written, error) {
	return slim.ELF(w, c.Core, c.want, slim.Options{})
}
