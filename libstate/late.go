package libstate

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A lateFinder finds libraries that are too expensive to search for until an address in
// one is looked up.
type lateFinder struct {
	suspect func(arch.Address) bool
	find    func() []*Library

	done atomic.Bool
	// mu is held during the search, and while subscribers are told what was found: those locks are taken inside.
	mu sync.Mutex
}

// SetLate adds libraries that are searched for late: code that the process has compiled
// itself. find is called when LibraryAt finds no library for an address and suspect
// says that a late one may be there. It is called once, and again after Refresh and
// Replace. find and suspect must not call LibraryAt, but may call Known. If late
// libraries overlap others, the others keep the addresses.
func (t *Table) SetLate(suspect func(arch.Address) bool, find func() []*Library) {
	t.late.Store(&lateFinder{suspect: suspect, find: find})
}

// again makes the next suspect address search once more.
func (f *lateFinder) again() { f.done.Store(false) }

// run searches for late libraries if addr calls for it, and reports whether there may
// be new ones since the caller looked.
func (f *lateFinder) run(t *Table, addr arch.Address) bool {
	if f.done.Load() || !f.suspect(addr) {
		return f.done.Load()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done.Load() {
		t.addLate(f.find())
		f.done.Store(true)
	}
	return true
}

// addLate adds the libraries that the Table does not have, except the parts that
// overlap others.
func (t *Table) addLate(libs []*Library) {
	t.replacing.Lock()
	defer t.replacing.Unlock()
	before := t.view.Load()
	var came []*Library
	for _, l := range libs {
		l.Mappings = slices.DeleteFunc(l.Mappings, func(m Mapping) bool { return before.overlaps(m) })
		if len(l.Mappings) > 0 {
			came = append(came, l)
		}
	}
	if len(came) == 0 {
		return
	}
	t.view.Store(newView(append(slices.Clone(before.libs), came...), before.trap, before.dynamic))
	for _, l := range came {
		t.tell(l, Load)
	}
}

// overlaps reports whether a library contains an address of m.
func (v *view) overlaps(m Mapping) bool {
	i, _ := slices.BinarySearchFunc(v.ranges, m.Start, func(r libRange, start arch.Address) int {
		if r.end <= start {
			return -1
		}
		return 1
	})
	return i < len(v.ranges) && v.ranges[i].start < m.End
}
