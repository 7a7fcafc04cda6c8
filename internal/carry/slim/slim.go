// Package slim writes small dumps of large ones: all that says what happened, and of the memory what the
// report and debuggers read.
package slim

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// ErrUnsupported means that there is no slim form of what was opened.
var ErrUnsupported = errors.New("only cores and minidumps have a slim form")

// Options say what to write.
type Options struct {
	// Redact blanks values: see redactor.
	Redact bool
	// Walked is what was read to walk the stacks. In modules it stays as it is.
	Walked *corestate.Reads
	// Steps is what else walking needs.
	Steps *Steps
	// Found is what was read to find the modules, which stays as it is.
	Found *corestate.Reads
	// Module reports whether an address belongs to a module.
	Module func(arch.Address) bool
	// Libraries are the modules.
	Libraries []*libstate.Library
	// Kept is what is kept of the files of modules.
	Kept []slimnote.Kept
	// Made is what is kept of records of code that the process made.
	Made []slimnote.Made
}

// A Written describes a dump that was written. Sizes are in bytes.
type Written struct {
	Size, Was uint64 // of the file, and of the one it was made of
	Notes     uint64
	Kept      []Kept
	Blanked   Blanked
	Dropped   []string // streams of a minidump that were not written
	Stays     string   // what is not blanked besides, in words
}

// Kept is memory that was kept for a reason.
type Kept struct {
	Why   string
	Bytes uint64
}

// Blanked counts what a redaction did with the memory that was kept and with registers.
type Blanked struct {
	Bytes    uint64 // that were not zero and are blanked
	Pointers uint64 // words kept because they are addresses of the process
	Numbers  uint64 // words and halves of words kept because they are small numbers
}

// The reasons to keep memory, in the order in which they count.
const (
	Stacks = iota
	ReadByReport
	Headers
	ModuleData
	PointedTo
	OfFiles
	reasons
)

var whys = [reasons]string{"stacks of the threads", "read by the report", "headers of modules", "data of modules", "pointed to by registers and stacks", "read-only data of modules' files"}

// A Wanted is the memory to keep, in pages.
type Wanted struct {
	pages  map[uint64]int // by number, the reason
	sorted []uint64       // the numbers, once all pages are known
	most   uint64         // how many there may be; 0 for no limit
}

// add wants the pages of [lo, hi).
func (w *Wanted) add(lo, hi uint64, why int) {
	if w.pages == nil {
		w.pages = map[uint64]int{}
	}
	w.sorted = nil
	for p := lo / corestate.ReadPage; p <= (hi-1)/corestate.ReadPage && lo < hi; p++ {
		old, ok := w.pages[p]
		if !ok && w.most > 0 && uint64(len(w.pages)) >= w.most {
			return
		}
		if !ok || why < old {
			w.pages[p] = why
		}
	}
}

// A run is memory that is kept and that the dump has: [lo, hi).
type run struct{ lo, hi uint64 }

// runs returns the wanted memory that the core has, ascending. None crosses a boundary of c.Whole.
func (w *Wanted) runs(c *corestate.ELFCore) []run {
	var list []run
	for _, s := range c.Segments() {
		list = append(list, w.cut(s.Start, s.Start+s.InDump)...)
	}
	return list
}

// maxOfFiles is how much of files is kept, in bytes.
const maxOfFiles = 512 << 10

// ofFiles returns what the report read of the process's memory that the core does not have and that files had instead, ascending:
// read-only data of modules, and code that returns from signals' handlers; other code only shows what rules and symbols say, too.
// Headers are not among it, which have a build-id: that would prove a file which nothing of the process proves. None crosses a boundary of c.Whole.
func (w *Wanted) ofFiles(c *corestate.ELFCore, steps *Steps) []run {
	var list []run
	buf, left := make([]byte, corestate.ReadPage), maxOfFiles
	if w.sorted == nil {
		w.sort()
	}
	for _, s := range c.Whole() {
		if s.Perm&libstate.Write != 0 {
			continue
		}
		for _, r := range w.cut(max(s.Start+s.InDump, s.Start), s.End) {
			for a := r.lo; a < r.hi && left > 0; {
				b := buf[:min(r.hi, (a/corestate.ReadPage+1)*corestate.ReadPage)-a]
				wanted := w.pages[a/corestate.ReadPage] == ReadByReport && (s.Perm&libstate.Exec == 0 || steps.inPage(a))
				if !wanted {
					a += uint64(len(b))
					continue
				}
				if _, err := c.ReadMem(a, b); err == nil && !bytes.HasPrefix(b, []byte("\x7fELF")) {
					w.pages[a/corestate.ReadPage] = OfFiles
					if n := len(list); n > 0 && list[n-1].hi == a && a > s.Start+s.InDump {
						list[n-1].hi = a + uint64(len(b))
					} else {
						list = append(list, run{a, a + uint64(len(b))})
					}
					left -= len(b)
				}
				a += uint64(len(b))
			}
		}
	}
	return list
}

func (w *Wanted) sort() { w.sorted = slices.Sorted(maps.Keys(w.pages)) }

// sums returns how much is kept for each reason.
func (w *Wanted) sums(runs []run) []Kept {
	var bytes [reasons]uint64
	for _, r := range runs {
		for a := r.lo; a < r.hi; {
			next := min(r.hi, (a/corestate.ReadPage+1)*corestate.ReadPage)
			bytes[w.pages[a/corestate.ReadPage]] += next - a
			a = next
		}
	}
	var list []Kept
	for i, n := range bytes {
		if n > 0 {
			list = append(list, Kept{whys[i], n})
		}
	}
	return list
}
