package dwarf

import (
	"encoding/binary"
	"iter"
	"slices"
	"sync"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// maxArangeScans is the number of addresses that are looked up by scanning .debug_aranges
// before an index is built. A stack needs only a few units, and a unit that is already
// known is searched directly. Building the index for a large C++ program takes as long as
// about this many scans, and as much memory as the section.
const maxArangeScans = 24

// setsPerScan is how many sets count as one more scan: a section that has millions, all of them empty, is gone through once.
const setsPerScan = 1 << 16

// aranges finds units with .debug_aranges (DWARF 5, 6.1.2). A damaged set ends it; units
// not covered are found by their own ranges.
type aranges struct {
	mu    sync.Mutex
	scans int
	// stored is what an earlier run made of the section; see arangestored.go.
	stored       storedAranges
	lookedStored bool
	// hot are the sets in which addresses have been found.
	hot []arangeSet

	coveredOnce sync.Once
	covered     map[uint64]struct{}

	indexOnce sync.Once
	index     spanIndex
}

// An arangeSet is the part of .debug_aranges for one unit.
type arangeSet struct {
	at       int    // offset of the set
	unit     uint64 // offset of the unit's header
	tuples   []byte // complete tuples, including the terminator
	addrSize int
}

// find returns the span that contains pc after skipping *skip others; it decreases *skip
// for each.
func (a *aranges) find(d *Data, pc uint64, skip *int) (span, bool) {
	if d.size(SecAranges) == 0 {
		return span{}, false
	}
	a.mu.Lock()
	if *skip == 0 {
		for i := range a.hot {
			if s, ok := a.hot[i].find(d, pc); ok {
				a.mu.Unlock()
				return s, true
			}
		}
	}
	if *skip == 0 && a.findStored(d) {
		a.mu.Unlock()
		set, s, ok := a.stored.find(d, pc)
		if ok {
			a.mu.Lock()
			a.hot = append(a.hot, set)
			a.mu.Unlock()
		}
		return s, ok
	}
	if a.scans < maxArangeScans {
		defer a.mu.Unlock()
		a.scans++
		return a.scan(d, pc, skip)
	}
	a.mu.Unlock()
	a.indexOnce.Do(func() { a.index = indexAranges(d) })
	return a.index.find(pc, skip, &d.work)
}

// scan searches the sets for pc and stops at the first hit unless hits are to be skipped.
// The caller holds the lock.
func (a *aranges) scan(d *Data, pc uint64, skip *int) (span, bool) {
	var found []span
	sets := 0
	defer func() { a.scans += sets / setsPerScan }()
	for set := range arangeSets(d) {
		sets++
		s, ok := set.find(d, pc)
		if !ok {
			continue
		}
		if found = append(found, s); *skip == 0 {
			a.hot = append(a.hot, set)
			return s, true
		}
	}
	slices.SortFunc(found, byLow)
	n := len(found) - 1 - *skip
	if n < 0 {
		*skip -= len(found)
		return span{}, false
	}
	return found[n], true
}

// find returns the last span of live code that contains pc in one set.
func (s *arangeSet) find(d *Data, pc uint64) (hit span, ok bool) {
	defer countSearch(&d.work, len(s.tuples)/(2*s.addrSize))
	if s.addrSize == 8 && !d.big {
		for t := s.tuples; len(t) >= 16; t = t[16:] {
			low, n := binary.LittleEndian.Uint64(t), binary.LittleEndian.Uint64(t[8:])
			if pc-low < n && low+n > low && !d.dead(low, 8) {
				hit, ok = span{low, low + n, s.unit}, true
			}
		}
		return hit, ok
	}
	for r := range s.all(d) {
		if pc >= r.low && pc < r.high {
			hit, ok = r, true
		}
	}
	return hit, ok
}

// all iterates over a set's spans of live code.
func (s *arangeSet) all(d *Data) iter.Seq[span] {
	return func(yield func(span) bool) {
		c := binbuf.New(s.tuples, 0, d.big)
		for c.Len() >= 2*s.addrSize {
			low, n := c.Uint(s.addrSize), c.Uint(s.addrSize)
			if n > 0 && low+n > low && !d.dead(low, uint8(s.addrSize)) && !yield(span{low, low + n, s.unit}) {
				return
			}
		}
	}
}

// arangeSets iterates over the sets of the section, and reads the section only as far as
// needed.
func arangeSets(d *Data) iter.Seq[arangeSet] {
	return func(yield func(arangeSet) bool) {
		for off := 0; off < d.size(SecAranges); {
			set, end := setAt(d, off)
			if end == 0 || set.addrSize != 0 && !yield(set) {
				return
			}
			off = end
		}
	}
}

// setAt returns the set at off, and where it ends: 0 if it is damaged. Of a set that is not understood the size of addresses is 0.
func setAt(d *Data, off int) (set arangeSet, end int) {
	const lengthField = 12
	if !d.big && d.load(SecAranges).need == nil {
		if set, end := plainSet(d.sections[SecAranges].data, off); end > 0 {
			return set, end
		}
	}
	data, err := d.part(SecAranges, uint64(off), uint64(off)+lengthField)
	if err != nil {
		return set, 0
	}
	c := binbuf.New(data, off, d.big)
	size, offSize := readLength(&c)
	start := c.Off
	if c.Error != nil || size > uint64(len(data)-start) {
		return set, 0
	}
	end = start + int(size)
	if _, err := d.part(SecAranges, uint64(off), uint64(end)); err != nil {
		return set, 0
	}
	c.Data = data[:end]
	version := c.U16()
	unit := c.Uint(int(offSize))
	addrSize, segSize := c.U8(), c.U8()
	if c.Error != nil { // no set is so short
		return set, 0
	}
	if version == 2 && segSize == 0 && (addrSize == 2 || addrSize == 4 || addrSize == 8) {
		// Tuples are aligned to their size, counted from the set's start.
		tuple := 2 * int(addrSize)
		first := min(off+(c.Off-off+tuple-1)/tuple*tuple, end)
		set = arangeSet{at: off, unit: unit, tuples: data[first:end], addrSize: int(addrSize)}
	}
	return set, end
}

// plainSet returns the set at off and where it ends, if it is as nearly all are: little-endian,
// in the 32-bit format, with addresses of eight bytes. Otherwise end is 0.
func plainSet(data []byte, off int) (set arangeSet, end int) {
	const header, first = 12, 16 // tuples are aligned to their size
	b := data[off:]
	if len(b) < first {
		return set, 0
	}
	n := uint64(binary.LittleEndian.Uint32(b)) + 4
	if n < first || n > uint64(len(b)) || n >= 0xfffffff0 || binary.LittleEndian.Uint16(b[4:]) != 2 || b[header-2] != 8 || b[header-1] != 0 {
		return set, 0
	}
	return arangeSet{at: off, unit: uint64(binary.LittleEndian.Uint32(b[6:])), tuples: b[first:n], addrSize: 8}, off + int(n)
}

// coveredUnits returns the units that have a set with live ranges. A set without any proves
// nothing: some tools write empty sets for units that they cannot handle.
func (a *aranges) coveredUnits(d *Data) map[uint64]struct{} {
	a.coveredOnce.Do(func() {
		a.covered = make(map[uint64]struct{})
		for set := range arangeSets(d) {
			for range set.all(d) {
				a.covered[set.unit] = struct{}{}
				break
			}
		}
	})
	return a.covered
}

func indexAranges(d *Data) spanIndex {
	spans := make([]span, 0, d.size(SecAranges)/16)
	for set := range arangeSets(d) {
		spans = slices.AppendSeq(spans, set.all(d))
	}
	return newSpanIndex(spans)
}
