package dwarf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// .debug_aranges lists units in no order, so a look-up reads half of it. An index that says where to look may be kept from one
// run to the next, by whoever knows where. A change of what is in it needs a new UnitIndexVersion.

// UnitIndexVersion is the version of the index that Data.UnitIndex returns.
const UnitIndexVersion = 1

// Sizes of .debug_aranges, in bytes, of which an index is kept: a smaller one is scanned at once.
const (
	minAranges = 2 << 10
	maxAranges = 1 << 30
)

// scansToStore is how many scans in one run make an index worth keeping.
const scansToStore = 2

// WithUnitIndex sets the function that returns what UnitIndex returned for the same file and the same WithText in an earlier
// run, or nil. It is called at most once, when the index is needed.
func WithUnitIndex(kept func() []byte) Option { return func(d *Data) { d.keptUnits = kept } }

// storedAranges are the ranges of .debug_aranges by their first addresses, of which no two overlap: n addresses (u64), and for
// each the offset of its set in the section (u32). Of equal ranges, which functions have that the linker merged, the first is there.
// What they say is checked with the set.
type storedAranges struct {
	lows, sets []byte
	known      bool // an earlier run has looked, and maybe found no index to be possible
}

// noIndex is kept where there can be no index.
var noIndex = []byte{0}

// findStored reports whether there is a stored index. The caller holds the lock.
func (a *aranges) findStored(d *Data) bool {
	if !a.lookedStored {
		a.lookedStored = true
		if size := d.size(SecAranges); d.keptUnits != nil && size >= minAranges && size <= maxAranges {
			a.stored = parseStored(d.keptUnits())
		}
	}
	return len(a.stored.sets) > 0
}

func parseStored(b []byte) storedAranges {
	n := len(b) / 12
	if n == 0 || len(b) != 12*n {
		return storedAranges{known: bytes.Equal(b, noIndex)}
	}
	return storedAranges{b[:8*n], b[8*n:], true}
}

func (x *storedAranges) low(i int) uint64 { return binary.LittleEndian.Uint64(x.lows[8*i:]) }

// find returns the span that contains pc, and its set.
func (x *storedAranges) find(d *Data, pc uint64) (arangeSet, span, bool) {
	i, high := 0, len(x.sets)/4 // the first that begins after pc
	for i < high {
		if mid := (i + high) / 2; x.low(mid) <= pc {
			i = mid + 1
		} else {
			high = mid
		}
	}
	if i == 0 {
		return arangeSet{}, span{}, false
	}
	off := binary.LittleEndian.Uint32(x.sets[4*(i-1):])
	if uint64(off) >= uint64(d.size(SecAranges)) {
		return arangeSet{}, span{}, false
	}
	set, end := setAt(d, int(off))
	if end == 0 || set.addrSize == 0 {
		return arangeSet{}, span{}, false
	}
	s, ok := set.find(d, pc)
	return set, s, ok
}

// UnitIndex returns an index of the units by their addresses that is worth keeping for another run (see WithUnitIndex), or nil if
// there was one, or few addresses were looked up.
func (d *Data) UnitIndex() []byte {
	a := &d.index.aranges
	a.mu.Lock()
	scans, have := a.scans, a.stored.known
	a.mu.Unlock()
	if size := d.size(SecAranges); d.keptUnits == nil || have || scans < scansToStore || size < minAranges || size > maxAranges {
		return nil
	}
	type row struct {
		low, high uint64
		set       uint32
	}
	rows := make([]row, 0, d.size(SecAranges)/20)
	for set := range arangeSets(d) {
		for s := range set.all(d) {
			rows = append(rows, row{s.low, s.high, uint32(set.at)})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.high, b.high), cmp.Compare(a.set, b.set))
	})
	rows = slices.CompactFunc(rows, func(a, b row) bool { return a.low == b.low && a.high == b.high })
	for i := 1; i < len(rows); i++ {
		if rows[i].low < rows[i-1].high {
			return noIndex
		}
	}
	if len(rows) == 0 || len(rows) > math.MaxInt32/12 {
		return noIndex
	}
	b := make([]byte, 0, 12*len(rows))
	for i := range rows {
		b = binary.LittleEndian.AppendUint64(b, rows[i].low)
	}
	for i := range rows {
		b = binary.LittleEndian.AppendUint32(b, rows[i].set)
	}
	return b
}
