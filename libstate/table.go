package libstate

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A Table is the LibraryState of a process whose libraries are known: of a dump, where
// they never change, or of a live process that calls Replace when they do.
//
// All methods may be called by several goroutines. Look-ups take no lock and allocate
// nothing; they see the libraries from before or after a Replace.
type Table struct {
	view atomic.Pointer[view]
	late atomic.Pointer[lateFinder]

	replacing sync.Mutex // held during Replace, so that notifications come in order; mu is taken inside
	mu        sync.Mutex // guards subs and nextSub; no other lock is taken inside
	subs      map[int]func(*Library, Change)
	nextSub   int
}

// A view is one immutable state of a Table.
type view struct {
	libs      []*Library // by ascending Start
	ranges    []libRange // ascending, disjoint
	aout      *Library
	libc      *Library
	libthread *Library
	trap      arch.Address
	dynamic   bool // the program has a dynamic linker
}

type libRange struct {
	start, end arch.Address
	lib        *Library
}

// NewTable makes a Table of libs, in any order. trap is the result of LibTrapAddress.
func NewTable(libs []*Library, trap arch.Address) *Table {
	t := &Table{}
	t.view.Store(newView(libs, trap, false))
	return t
}

// SetDynamic says that a dynamic linker started the program. Otherwise a program that
// is the only library counts as its own C library and thread library. Call it before
// using the Table.
func (t *Table) SetDynamic() {
	v := t.view.Load()
	t.view.Store(newView(v.libs, v.trap, true))
}

func newView(libs []*Library, trap arch.Address, dynamic bool) *view {
	v := &view{libs: slices.Clone(libs), trap: trap, dynamic: dynamic}
	slices.SortStableFunc(v.libs, func(a, b *Library) int { return cmp.Compare(a.Start, b.Start) })
	v.ranges = disjoint(v.libs)
	v.findRoles()
	return v
}

// disjoint collects the mappings of libs. If two overlap, which only happens in damaged
// dumps, the one that starts lower keeps the bytes.
func disjoint(libs []*Library) []libRange {
	var all []libRange
	for _, l := range libs {
		for _, m := range l.Mappings {
			if m.End > m.Start {
				all = append(all, libRange{m.Start, m.End, l})
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].start < all[j].start })
	out := all[:0]
	var end arch.Address
	for _, r := range all {
		r.start = max(r.start, end)
		if r.start >= r.end {
			continue
		}
		end = r.end
		out = append(out, r)
	}
	return out
}

// findRoles finds out which libraries are the program, the C library and the thread
// library.
func (v *view) findRoles() {
	var files int // libraries that have a file
	var only *Library
	for _, l := range v.libs {
		if l.Kind == VDSO || l.Kind == JIT {
			continue
		}
		files++
		only = l
		if l.Kind == Executable && v.aout == nil {
			v.aout = l
		}
		if v.libc == nil && isLibc(l.Path) {
			v.libc = l
		}
		if v.libthread == nil && isLibthread(l.Path) {
			v.libthread = l
		}
	}
	if files == 1 && !v.dynamic { // a static program is its own C and thread library
		v.libc, v.libthread = only, only
	}
}

// at finds the range that contains addr.
func (v *view) at(addr arch.Address) *Library {
	lo, hi := 0, len(v.ranges)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if v.ranges[mid].end <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(v.ranges) && v.ranges[lo].start <= addr {
		return v.ranges[lo].lib
	}
	return nil
}

// LibraryAt returns the library that has a mapping with addr. If there is none, it
// searches for late libraries (SetLate).
func (t *Table) LibraryAt(addr arch.Address) (*Library, bool) {
	l := t.view.Load().at(addr)
	if f := t.late.Load(); l == nil && f != nil && f.run(t, addr) {
		l = t.view.Load().at(addr)
	}
	return l, l != nil
}

// Known is LibraryAt without the search for late libraries (SetLate).
func (t *Table) Known(addr arch.Address) (*Library, bool) { return known(t.view.Load().at(addr)) }

// Libraries lists all libraries by ascending address. refresh has no effect on a Table.
func (t *Table) Libraries(refresh bool) ([]*Library, error) {
	return slices.Clone(t.view.Load().libs), nil
}

// AOut returns the main program.
func (t *Table) AOut() (*Library, bool) { return known(t.view.Load().aout) }

// Libc returns the C library; for a static program, the program itself, even if the
// kernel mapped its vDSO too.
func (t *Table) Libc() (*Library, bool) { return known(t.view.Load().libc) }

// Libthread returns libpthread or libthr. C libraries that contain the thread functions
// (musl, glibc since 2.34) have none, unless an old program needs it. A static program
// is its own.
func (t *Table) Libthread() (*Library, bool) { return known(t.view.Load().libthread) }

func known(l *Library) (*Library, bool) { return l, l != nil }

// Refresh makes the Table search for late libraries again. Otherwise only Replace
// changes it.
func (t *Table) Refresh() error {
	if f := t.late.Load(); f != nil {
		f.again()
	}
	return nil
}

// LibTrapAddress returns r_debug.r_brk, or 0.
func (t *Table) LibTrapAddress() arch.Address { return t.view.Load().trap }

// Subscribe calls f for every library that a later Replace adds or removes.
func (t *Table) Subscribe(f func(*Library, Change)) (cancel func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.subs == nil {
		t.subs = make(map[int]func(*Library, Change))
	}
	id := t.nextSub
	t.nextSub++
	t.subs[id] = f
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.subs, id)
	}
}

// Replace makes libs the process's libraries, and tells the subscribers first which
// ones were unloaded, then which ones were loaded. Two libraries are the same if their
// paths and load biases are equal. If the mappings and the build-id are also equal, the
// *Library stays the same, so what others remember about it stays valid.
func (t *Table) Replace(libs []*Library, trap arch.Address) {
	t.replacing.Lock()
	defer t.replacing.Unlock()
	type key struct {
		path string
		bias arch.Address
	}
	before := t.view.Load()
	gone := make(map[key]*Library, len(before.libs))
	for _, l := range before.libs {
		gone[key{l.Path, l.LoadBias}] = l
	}
	var came []*Library
	now := make([]*Library, 0, len(libs))
	for _, l := range libs {
		k := key{l.Path, l.LoadBias}
		old, same := gone[k]
		delete(gone, k)
		if same && unchanged(old, l) {
			l = old
		} else if !same {
			came = append(came, l)
		}
		now = append(now, l)
	}
	if f := t.late.Load(); f != nil {
		f.again()
	}
	after := newView(now, trap, before.dynamic)
	t.view.Store(after)
	for _, l := range before.libs {
		if gone[key{l.Path, l.LoadBias}] == l {
			t.tell(l, Unload)
		}
	}
	for _, l := range came {
		t.tell(l, Load)
	}
}

func unchanged(a, b *Library) bool {
	return a.Kind == b.Kind && a.Deleted == b.Deleted && a.HeaderAddr == b.HeaderAddr &&
		a.BiasGuessed == b.BiasGuessed && bytes.Equal(a.BuildID, b.BuildID) && slices.Equal(a.Mappings, b.Mappings)
}

// tell calls the subscribers in the order they came, without a lock: they may subscribe
// and cancel.
func (t *Table) tell(l *Library, c Change) {
	t.mu.Lock()
	ids := make([]int, 0, len(t.subs))
	for id := range t.subs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	funcs := make([]func(*Library, Change), len(ids))
	for i, id := range ids {
		funcs[i] = t.subs[id]
	}
	t.mu.Unlock()
	for _, f := range funcs {
		f(l, c)
	}
}

var _ LibraryState = (*Table)(nil)
