package jitmaps

import (
	"slices"
	"sync"

	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/internal/format/spans"
	"github.com/corewalk/corewalk/unwind"
)

// kept answers what a slim core says: at the addresses that were asked for when it was made, and in functions that are there as a whole.
type kept struct {
	list   []slimnote.Made
	places map[unwind.Address]place
	whole  spans.Table
}

// A place is that of a function, and of its Places.
type place struct{ function, place int }

func newKept(list []slimnote.Made) kept {
	k := kept{list: list, places: map[unwind.Address]place{}}
	for i := range list {
		m := &list[i]
		for j := range m.Places {
			if addr := m.Places[j].Addr; m.Start+m.Size > m.Start && addr-m.Start < m.Size {
				k.places[addr] = place{i, j}
			}
		}
	}
	k.whole = spans.New(len(list), func(i int) (first, last uint64, ok bool) {
		m := &list[i]
		return m.Start, m.Start + m.Size - 1, !m.Cut
	})
	return k
}

// find returns what is known of the code at an address.
func (k *kept) find(addr unwind.Address) (answer, bool) {
	if p, ok := k.places[addr]; ok {
		m := &k.list[p.function]
		at := &m.Places[p.place]
		return answer{name: m.Name, start: m.Start, size: m.Size, cut: m.Cut, table: m.Table, file: at.File, line: int(at.Line)}, true
	}
	if i, ok := k.whole.Find(addr); ok {
		m := &k.list[i]
		return answer{name: m.Name, start: m.Start, size: m.Size, table: m.Table}, true
	}
	return answer{}, false
}

// maxAsked is for how many addresses is recorded what was answered, and maxAskedText how long all names and paths may be, in bytes.
const maxAsked, maxAskedText = 1 << 14, 4 << 20

// asked are the addresses that were asked for, with what was answered.
type asked struct {
	mu   sync.Mutex
	list map[unwind.Address]answer
	text int
}

func (a *asked) add(addr unwind.Address, what answer) {
	n := len(what.name) + len(what.file) + len(what.table)
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.list[addr]; ok || len(a.list) >= maxAsked || a.text+n > maxAskedText {
		return
	}
	if a.list == nil {
		a.list = map[unwind.Address]answer{}
	}
	a.list[addr] = what
	a.text += n
}

// Asked returns what was answered so far, for a slim core, in order of addresses; nothing unless Process.Record is set.
func (m *Maps) Asked() []slimnote.Made {
	m.asked.mu.Lock()
	defer m.asked.mu.Unlock()
	by := map[unwind.Address]*slimnote.Made{}
	addrs := make([]unwind.Address, 0, len(m.asked.list))
	for addr := range m.asked.list {
		addrs = append(addrs, addr)
	}
	slices.Sort(addrs)
	var list []*slimnote.Made
	for _, addr := range addrs {
		a := m.asked.list[addr]
		f := by[a.start]
		if f == nil || f.Name != a.name || f.Size != a.size { // another one may have begun there before
			f = &slimnote.Made{Start: a.start, Size: a.size, Cut: a.cut, Name: a.name, Table: a.table}
			by[a.start] = f
			list = append(list, f)
		}
		f.Places = append(f.Places, slimnote.MadePlace{Addr: addr, Line: uint32(a.line), File: a.file})
	}
	out := make([]slimnote.Made, len(list))
	for i, f := range list {
		out[i] = *f
	}
	return out
}
