package dwarf

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Address ranges: .debug_ranges of DWARF 3 and 4 (2.17.3), .debug_rnglists of DWARF 5
// (2.17.3, 7.25).

// A Range is the addresses [Low, High).
type Range struct{ Low, High uint64 }

// Contains reports whether pc is in the range.
func (r Range) Contains(pc uint64) bool { return r.Low <= pc && pc < r.High }

// Entries of a range list (DWARF 5, 7.25).
const (
	rleEndOfList    = 0x00
	rleBaseAddressx = 0x01
	rleStartxEndx   = 0x02
	rleStartxLength = 0x03
	rleOffsetPair   = 0x04
	rleBaseAddress  = 0x05
	rleStartEnd     = 0x06
	rleStartLength  = 0x07
)

// pcAttrs are the attributes that say where an entry's code is.
type pcAttrs struct{ low, high, ranges Value }

func (p *pcAttrs) take(v *Value) {
	switch v.Attr {
	case AttrLowPC:
		p.low = *v
	case AttrHighPC:
		p.high = *v
	case AttrRanges:
		p.ranges = *v
	}
}

// A rangeIter yields the ranges of an entry, except empty ranges and those of discarded
// code.
type rangeIter struct {
	u     *Unit
	from  *Data // the file with the list
	sec   Section
	whole bool // c extends to the section's end
	c     binbuf.Cursor
	base  uint64
	kind  uint8
	one   Range
	dead  bool // the current base address is that of discarded code
	left  int  // what the list may cost
}

const (
	rangesNone = iota
	rangesOne
	rangesV4
	rangesV5
)

// rangesOf returns an iterator over the ranges that the attributes describe. Each entry that it reads takes one from its left, also those
// that it leaves out, and it ends when nothing is left: entries of the file may all have one long list, of discarded code.
func (u *Unit) rangesOf(p *pcAttrs, left int) (it rangeIter) {
	it.u, it.left = u, left
	if p.ranges.Present() {
		it.list(&p.ranges)
		return
	}
	low, ok := u.Address(&p.low)
	if !ok || !p.high.Present() {
		return
	}
	it.one.Low = low
	if high, ok := u.Address(&p.high); ok {
		it.one.High = high
	} else if it.one.High = low + p.high.U; it.one.High < low {
		it.one.High = ^uint64(0)
	}
	it.kind = rangesOne
	return
}

// list positions the iterator at the list to which v refers.
func (it *rangeIter) list(v *Value) {
	u := it.u
	owner, off := u, v.U
	it.base = u.baseAddress()
	sec := SecRanges
	if u.Version >= 5 {
		it.kind, sec = rangesV5, SecRnglists
		if v.Form == FormRnglistx {
			rel, ok := u.tableWord(SecRnglists, u.root.rngBase, v.U, int(u.enc.offSize))
			if !ok {
				it.kind = rangesNone
				return
			}
			off = u.root.rngBase + rel
		}
	} else {
		it.kind = rangesV4
		if u.skeleton != nil { // in split DWARF 4, the lists are in the skeleton's file
			owner = u.skeleton
			off += owner.root.gnuRangesBase
		}
	}
	it.from, it.sec = owner.Data, sec
	if off > uint64(owner.Data.size(sec)) {
		it.kind = rangesNone
		return
	}
	it.c = binbuf.Cursor{Off: int(off), Big: owner.Data.big}
}

// Number of bytes of a list requested at a time, and maximum size of an entry.
const (
	rangeStep     = 4 << 10
	maxRangeEntry = 32
)

// extend makes the next entry of the list readable.
func (it *rangeIter) extend() {
	if it.whole || it.c.Len() >= maxRangeEntry {
		return
	}
	end := uint64(it.c.Off) + rangeStep
	data, err := it.from.part(it.sec, uint64(it.c.Off), end)
	if err != nil {
		it.c.Fail(err)
		return
	}
	it.c.Data = data[:min(end, uint64(len(data)))]
	it.whole = end >= uint64(len(data))
}

// baseAddress returns the base of the offsets in the unit's lists.
func (u *Unit) baseAddress() uint64 {
	if low, ok := u.Address(&u.root.low); ok {
		return low
	}
	if u.skeleton != nil {
		return u.skeleton.baseAddress()
	}
	return 0
}

// charge takes one from what the list may cost, and reports whether that was left.
func (it *rangeIter) charge() bool {
	it.left--
	return it.left >= 0
}

// next returns the next range, or false at the end.
func (it *rangeIter) next() (Range, bool) {
	for {
		var r Range
		var ok bool
		switch it.kind {
		case rangesOne:
			it.kind = rangesNone
			r, ok = it.one, it.charge()
		case rangesV4:
			r, ok = it.nextV4()
		case rangesV5:
			r, ok = it.nextV5()
		}
		if !ok || it.c.Error != nil {
			it.kind = rangesNone
			return Range{}, false
		}
		if r.Low < r.High && !it.u.linked().dead(r.Low, it.u.enc.addrSize) {
			return r, true
		}
	}
}

func (it *rangeIter) nextV4() (Range, bool) {
	size := it.u.AddrSize
	for it.charge() {
		it.extend()
		a, b := it.c.Uint(size), it.c.Uint(size)
		switch {
		case it.c.Error != nil || a == 0 && b == 0:
			return Range{}, false
		case a == maxAddr(it.u.enc.addrSize):
			it.base = b
			continue
		}
		return Range{a + it.base, b + it.base}, true
	}
	return Range{}, false
}

func (it *rangeIter) nextV5() (Range, bool) {
	c, u := &it.c, it.u
	for it.charge() {
		it.extend()
		kind := c.U8()
		if c.Error != nil {
			return Range{}, false
		}
		switch kind {
		case rleEndOfList:
			return Range{}, false
		case rleBaseAddressx:
			var ok bool
			it.base, ok = u.AddressAt(c.ULEB())
			it.dead = !ok
		case rleBaseAddress:
			it.base, it.dead = c.Uint(u.AddrSize), false
		case rleStartxEndx:
			low, ok1 := u.AddressAt(c.ULEB())
			high, ok2 := u.AddressAt(c.ULEB())
			if ok1 && ok2 {
				return Range{low, high}, true
			}
		case rleStartxLength:
			low, ok := u.AddressAt(c.ULEB())
			n := c.ULEB()
			if ok {
				return Range{low, low + n}, true
			}
		case rleOffsetPair:
			a, b := c.ULEB(), c.ULEB()
			if !it.dead && it.base < maxAddr(u.enc.addrSize)-1 {
				return Range{it.base + a, it.base + b}, true
			}
		case rleStartEnd:
			a, b := c.Uint(u.AddrSize), c.Uint(u.AddrSize)
			return Range{a, b}, true
		case rleStartLength:
			a := c.Uint(u.AddrSize)
			return Range{a, a + c.ULEB()}, true
		default:
			c.Fail(fmt.Errorf("unknown range list entry kind %#x at %#x: %w", kind, c.Off-1, ErrFormat))
			return Range{}, false
		}
	}
	return Range{}, false
}

// Ranges returns the address ranges of the entry at off, from DW_AT_ranges or from low and
// high pc, without those of discarded code. Each entry of a list takes one from left, and nothing is read when that is used up.
func (u *Unit) Ranges(off uint64, left *int) []Range {
	var e Entry
	var v Value
	var p pcAttrs
	c := u.Cursor(off)
	if !c.Next(&e) {
		return nil
	}
	for c.Attr(&v) {
		p.take(&v)
	}
	var all []Range
	it := u.rangesOf(&p, *left)
	for r, ok := it.next(); ok; r, ok = it.next() {
		all = append(all, r)
	}
	*left = it.left
	return all
}
