package elffile

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
)

// An index finds the symbol that covers an address by binary search: from starts[i] up to
// the next start, syms[i] is the best symbol that may cover it, or 0 for none. At a gap
// between symbols, the index keeps the previous symbol, and Lookup checks that it does not
// reach the address. That halves the index, which takes 12 bytes per function.
//
// Both lists are as they are kept on disk: numbers of 8 and 4 bytes, little-endian.
type index struct {
	starts, syms []byte
}

func (x *index) find(addr uint64) (int, bool) {
	i := sort.Search(len(x.starts)/8, func(i int) bool { return binary.LittleEndian.Uint64(x.starts[8*i:]) > addr }) - 1
	if i < 0 {
		return 0, false
	}
	sym := binary.LittleEndian.Uint32(x.syms[4*i:])
	return int(sym), sym != 0
}

// An extent is the range in which one symbol may be found, while the index is being built.
type extent struct {
	lo, hi  uint64
	sym     uint32
	sized   bool
	cut     bool // the symbol ends after hi, outside its section
	clipped bool // hi is less than what span returns
}

// buildIndex sorts the symbols by address and sweeps over them.
func (t *SymTab) buildIndex() index {
	list := t.extents()
	x := index{starts: make([]byte, 0, 8*len(list)), syms: make([]byte, 0, 4*len(list))}
	h := symHeap{tab: t, list: list}
	for next := 0; next < len(list); {
		if n := t.alone(list[next:]); n > 0 {
			e := t.bestOf(list[next : next+n])
			x.add(e.lo, e.sym)
			if next += n; e.clipped && (next == len(list) || list[next].lo > e.hi) {
				x.add(e.hi, 0)
			}
			continue
		}
		next = h.sweep(&x, next)
	}
	t.passed(true)
	return x
}

// alone returns how many extents at the front of list are the same range, which no other
// extent touches; 0 if there is another. Nearly all symbols are of that kind.
func (t *SymTab) alone(list []extent) int {
	lo, hi := list[0].lo, list[0].hi
	for n := 1; n < len(list); n++ {
		if e := &list[n]; e.lo >= hi {
			return n
		} else if e.lo != lo || e.hi != hi {
			return 0
		}
	}
	return len(list)
}

// bestOf returns the extent of the best symbol.
func (t *SymTab) bestOf(list []extent) extent {
	best := list[0]
	if len(list) > 1 {
		name := t.sym(int(best.sym))
		for _, e := range list[1:] {
			if s := t.sym(int(e.sym)); s.better(&name) {
				best, name = e, s
			}
		}
	}
	return best
}

// sweep adds the extents from next on up to the first place that none of them covers, and
// returns the number of the first extent after it. A heap keeps those that cover the
// current address, with the best on top.
func (h *symHeap) sweep(x *index, next int) int {
	list := h.list
	for {
		pos := h.end()
		if next < len(list) && list[next].lo <= pos {
			pos = list[next].lo
		}
		for next < len(list) && list[next].lo == pos {
			h.push(next)
			next++
		}
		clipped := h.expire(pos)
		switch {
		case len(h.heap) > 0:
			x.add(pos, list[h.heap[0]].sym)
		case clipped:
			x.add(pos, 0)
		}
		if len(h.heap) == 0 {
			return next
		}
	}
}

func (x *index) add(pos uint64, sym uint32) {
	le := binary.LittleEndian
	if n := len(x.syms); n > 0 && le.Uint32(x.syms[n-4:]) == sym {
		return
	}
	x.starts, x.syms = le.AppendUint64(x.starts, pos), le.AppendUint32(x.syms, sym)
}

// extents lists the extents of all symbols that can be found, by start.
func (t *SymTab) extents() []extent {
	list := make([]extent, 0, t.Len())
	labels := false
	for i, n := 1, t.Len(); i < n; i++ {
		e := t.entry(i)
		if !e.usable() {
			continue
		}
		x := extent{lo: e.value, hi: e.value, sym: uint32(i), sized: e.size != 0}
		if !x.sized {
			if s := t.sym(i); t.toolLabel(&s) {
				continue
			}
			labels = true
		}
		if e.shndx == SHN_XINDEX { // entry does not resolve it
			s := t.sym(i)
			e.shndx = s.Shndx
		}
		if _, hi, ok := t.spanOf(e.value, e.size, e.shndx); ok {
			x.hi = hi
		}
		x.cut = x.hi < e.end()
		list = append(list, x)
	}
	list = sortExtents(list)
	if labels {
		t.cutLabels(list)
	}
	return slices.DeleteFunc(list, func(x extent) bool { return x.lo >= x.hi })
}

// cutLabels ends every extent of a symbol without a size where the next symbol with a size
// begins, and empties those that begin inside one.
func (t *SymTab) cutLabels(list []extent) {
	var reach uint64
	for i := 0; i < len(list); {
		j := i
		for ; j < len(list) && list[j].lo == list[i].lo; j++ {
			if x := &list[j]; x.cut && x.sized {
				e := t.entry(int(x.sym))
				reach = max(reach, e.end())
			} else if x.sized {
				reach = max(reach, x.hi)
			}
		}
		for ; i < j; i++ {
			if x := &list[i]; !x.sized && reach > x.lo {
				x.hi = x.lo
			}
		}
	}
	next := uint64(1<<64 - 1) // start of the next symbol with a size
	for i := len(list) - 1; i >= 0; i-- {
		switch x := &list[i]; {
		case x.sized:
			next = x.lo
		case next < x.hi:
			x.hi, x.clipped = next, true
		}
	}
}

// sortExtents sorts by start, stably. It is a radix sort, because comparison sorts take
// several times as long for the hundreds of thousands of symbols of large libraries. The
// result may be in other memory than its argument.
func sortExtents(list []extent) []extent {
	const bits = 11
	var low, high uint64 = 1<<64 - 1, 0
	for i := range list {
		low, high = min(low, list[i].lo), max(high, list[i].lo)
	}
	if len(list) < 256 || (high-low)>>44 != 0 {
		slices.SortStableFunc(list, func(a, b extent) int { return cmp.Compare(a.lo, b.lo) })
		return list
	}
	other := make([]extent, len(list))
	for shift := 0; (high-low)>>shift != 0; shift += bits {
		var next [1 << bits]int
		for i := range list {
			next[(list[i].lo-low)>>shift&(1<<bits-1)]++
		}
		sum := 0
		for i, n := range next {
			next[i], sum = sum, sum+n
		}
		for i := range list {
			d := (list[i].lo - low) >> shift & (1<<bits - 1)
			other[next[d]] = list[i]
			next[d]++
		}
		list, other = other, list
	}
	return list
}

// symHeap is a binary heap of positions in list, with the best symbol on top. It does not
// use container/heap, which costs an interface call for every comparison.
type symHeap struct {
	tab  *SymTab
	list []extent
	heap []int32
}

func (h *symHeap) less(a, b int32) bool {
	sa, sb := h.tab.sym(int(h.list[a].sym)), h.tab.sym(int(h.list[b].sym))
	return sa.better(&sb)
}

// end returns where the best symbol ends.
func (h *symHeap) end() uint64 {
	if len(h.heap) == 0 {
		return 1<<64 - 1
	}
	return h.list[h.heap[0]].hi
}

// expire removes from the top symbols that end at or before pos, and reports whether the
// first of them, the best until now, was clipped.
func (h *symHeap) expire(pos uint64) (clipped bool) {
	for first := true; len(h.heap) > 0 && h.list[h.heap[0]].hi <= pos; first = false {
		clipped = clipped || first && h.list[h.heap[0]].clipped
		h.pop()
	}
	return clipped
}

func (h *symHeap) push(i int) {
	h.heap = append(h.heap, int32(i))
	for c := len(h.heap) - 1; c > 0; {
		p := (c - 1) / 2
		if !h.less(h.heap[c], h.heap[p]) {
			return
		}
		h.heap[c], h.heap[p] = h.heap[p], h.heap[c]
		c = p
	}
}

func (h *symHeap) pop() {
	n := len(h.heap) - 1
	h.heap[0] = h.heap[n]
	h.heap = h.heap[:n]
	for p := 0; ; {
		c := 2*p + 1
		if c >= n {
			return
		}
		if c+1 < n && h.less(h.heap[c+1], h.heap[c]) {
			c++
		}
		if !h.less(h.heap[c], h.heap[p]) {
			return
		}
		h.heap[p], h.heap[c] = h.heap[c], h.heap[p]
		p = c
	}
}
