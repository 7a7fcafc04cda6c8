package cfi

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
)

// An indexEntry is the range and position of an FDE, in 16 bytes.
type indexEntry struct {
	begin uint64
	size  uint32 // saturates at the maximum
	off   uint32
}

// buildIndex scans the section once. It skips an unreadable entry by its length; if the
// length is unusable, too, the scan ends.
func (t *Table) buildIndex() {
	t.once.Do(func() {
		var last cie
		var lastErr error
		lastOff := -1
		for off := 0; len(t.data)-off >= 4; {
			e, err := t.entryAt(off)
			if err != nil && e.end == 0 {
				t.skipped++
				break
			}
			off = e.end
			switch {
			case err != nil:
				t.skipped++
				continue
			case e.zero || e.cieOff < 0: // start-up files contribute terminators in the middle
				continue
			case e.cieOff != lastOff:
				lastOff = e.cieOff
				last, lastErr = t.cieAt(lastOff)
			}
			if lastErr != nil {
				t.skipped++
				continue
			}
			t.add(e, &last)
		}
		t.sortIndex()
	})
}

func (t *Table) add(e entry, k *cie) {
	f, err := t.parseFDE(e, k)
	if err != nil {
		t.skipped++
		return
	}
	// A linker that discards a function leaves its FDE in .debug_frame, moved to address 0
	// or, by lld, to the end of the address space, where parseFDE makes it empty.
	if f.begin == 0 || f.begin == f.end {
		return
	}
	size := min(f.end-f.begin, math.MaxUint32)
	t.entries = append(t.entries, indexEntry{f.begin, uint32(size), uint32(e.off)})
}

func (t *Table) sortIndex() {
	order := func(a, b indexEntry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.off, b.off))
	}
	if !slices.IsSortedFunc(t.entries, order) {
		slices.SortFunc(t.entries, order)
	}
	t.entries = slices.Clip(t.entries)
}

// searchIndex searches the index for pc.
func (t *Table) searchIndex(pc uint64, last *lastCIE) (fde, error) {
	t.buildIndex()
	nearest := sort.Search(len(t.entries), func(i int) bool { return t.entries[i].begin > pc }) - 1
	for i := nearest; i >= 0 && i > nearest-maxBack; i-- {
		e := t.entries[i]
		if pc-e.begin < uint64(e.size) || e.size == math.MaxUint32 {
			f, err := t.fdeAt(int(e.off), last)
			if err != nil || pc < f.end {
				return f, err
			}
		}
	}
	return fde{}, ErrNoFDE
}

// FDEs iterates over the ranges of all FDEs in ascending order of start. It builds the
// index.
func (t *Table) FDEs() iter.Seq[FDE] {
	return func(yield func(FDE) bool) {
		var last lastCIE
		t.buildIndex()
		for _, e := range t.entries {
			f, err := t.fdeAt(int(e.off), &last)
			if err == nil && !yield(f.public()) {
				return
			}
		}
	}
}
