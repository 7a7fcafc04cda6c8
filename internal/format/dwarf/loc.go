package dwarf

import (
	"errors"
	"fmt"
	"math"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Location lists: .debug_loc of DWARF 2 to 4 (2.6.2), .debug_loclists of DWARF 5 (2.6.2,
// 7.29), and the format of split DWARF 4 in .debug_loc.dwo.

// Entries of a location list (DWARF 5, 7.29).
const (
	lleEndOfList       = 0x00
	lleBaseAddressx    = 0x01
	lleStartxEndx      = 0x02
	lleStartxLength    = 0x03
	lleOffsetPair      = 0x04
	lleDefaultLocation = 0x05
	lleBaseAddress     = 0x06
	lleStartEnd        = 0x07
	lleStartLength     = 0x08
	lleGNUViewPair     = 0x09
)

// Location returns the expression for the location of an object at pc. v is the value of
// DW_AT_location, DW_AT_frame_base or a similar attribute: either a single expression or a
// location list. found is false if the list has no expression for pc: the object has no
// location there. An empty expression means that the object was optimised out.
//
// Reading a long list is charged to b, if that is not nil; its error ends it.
func (u *Unit) Location(v *Value, pc uint64, b Budget) (expr []byte, found bool, err error) {
	switch v.Form.Class() {
	case ClassExprloc, ClassBlock:
		return v.B, true, nil
	case ClassOffset, ClassConstant: // before DWARF 4 offsets had constant forms
	default:
		return nil, false, fmt.Errorf("%v: form %#x is not a location: %w", u, uint16(v.Form), ErrFormat)
	}
	q := locQuestion{v.U, pc, v.Form}
	if a, ok := u.locs.get(q); ok {
		return a.expr, a.found, nil
	}
	for step := uint64(locStep); ; step *= 8 {
		var l locIter
		if err := l.open(u, v, step); err != nil {
			return nil, false, err
		}
		// A list that continues past the requested bytes is read again, further.
		if expr, found, err = l.at(pc, b); l.whole || !errors.Is(err, binbuf.ErrShort) {
			if err == nil && l.read >= rememberedList {
				u.locs.put(q, locAnswer{expr, found})
			}
			return expr, found, err
		}
	}
}

// Momentary returns the expressions of the entries of a location list that are for no more than the moment before the instruction at pc:
// their ranges begin and end there (the views of a line, DWARF 5, 6.2.5.2, tell them apart). Reading a long list is charged to b as Location does.
func (u *Unit) Momentary(v *Value, pc uint64, b Budget) ([][]byte, error) {
	return u.list(v, b, func(e *locEntry) bool { return !e.always && e.Low == pc && e.High == pc })
}

// Locations returns the expressions of a location list, whatever addresses they are for; of a single expression nothing.
// Reading a long list is charged to b as Location does.
func (u *Unit) Locations(v *Value, b Budget) ([][]byte, error) {
	return u.list(v, b, func(*locEntry) bool { return true })
}

// list returns the expressions of the entries of a location list that are wanted.
func (u *Unit) list(v *Value, b Budget, wanted func(*locEntry) bool) ([][]byte, error) {
	switch v.Form.Class() {
	case ClassOffset, ClassConstant:
	default:
		return nil, nil
	}
	for step := uint64(locStep); ; step *= 8 {
		var l locIter
		if err := l.open(u, v, step); err != nil {
			return nil, err
		}
		var out [][]byte
		n := 0
		for e, ok := l.next(); ok; e, ok = l.next() {
			if wanted(&e) {
				out = append(out, e.expr)
			}
			if n++; n%longList == 0 && b != nil {
				if err := b.Spend(longList); err != nil {
					return nil, err
				}
			}
		}
		switch {
		case l.c.Error == nil:
			return out, nil
		case l.whole || !errors.Is(l.c.Error, binbuf.ErrShort):
			return nil, fmt.Errorf("location list of %v: %w", u, l.c.Error)
		}
	}
}

// A Budget limits work; see unwind.Budget.
type Budget interface{ Spend(units int) error }

// longList is how many entries of a list are read before the next so many are charged.
const longList = 64

// locStep is how much of a location list is requested at first, in bytes.
const locStep = 2 << 10

// at returns the expression for pc.
func (l *locIter) at(pc uint64, b Budget) (expr []byte, found bool, err error) {
	var fallback []byte
	var hasFallback bool
	for n := 1; ; n++ {
		if n%longList == 0 && b != nil {
			if err := b.Spend(longList); err != nil {
				return nil, false, err
			}
		}
		e, ok := l.next()
		l.read = n
		switch {
		case l.c.Error != nil:
			return nil, false, fmt.Errorf("location list of %v: %w", l.u, l.c.Error)
		case !ok:
			return fallback, hasFallback, nil
		case e.always:
			fallback, hasFallback = e.expr, true
		case e.Contains(pc):
			return e.expr, true, nil
		}
	}
}

// A locIter yields the entries of a location list.
type locIter struct {
	u     *Unit
	c     binbuf.Cursor
	whole bool // c extends to the section's end
	read  int  // entries, by at
	base  uint64
	kind  locKind
}

// A locKind is the encoding of a list's entries.
type locKind uint8

const (
	locV4 locKind = iota
	locSplitV4
	locV5
)

// next returns the next entry, skipping end and base address entries.
func (l *locIter) next() (locEntry, bool) {
	switch l.kind {
	case locV5:
		return l.nextV5()
	case locSplitV4:
		return l.nextSplitV4()
	}
	return l.nextV4()
}

type locEntry struct {
	Range
	always bool // for all addresses without another entry
	expr   []byte
}

// open positions the iterator at the list to which v refers, with access to step bytes of
// it.
func (l *locIter) open(u *Unit, v *Value, step uint64) error {
	off, sec := v.U, SecLoc
	*l = locIter{u: u, base: u.baseAddress()}
	switch {
	case u.Version >= 5:
		sec, l.kind = SecLoclists, locV5
		if v.Form == FormLoclistx {
			rel, ok := u.tableWord(sec, u.root.locBase, v.U, int(u.enc.offSize))
			if !ok {
				return fmt.Errorf("%v: invalid location list index %d: %w", u, v.U, ErrFormat)
			}
			off = u.root.locBase + rel
		}
	case u.Data.dwo:
		l.kind = locSplitV4
	}
	end := off + min(step, math.MaxUint64-off)
	data, err := u.Data.part(sec, off, end)
	if err != nil {
		return err
	}
	l.whole = end >= uint64(len(data))
	if data = data[:min(end, uint64(len(data)))]; off > uint64(len(data)) {
		return fmt.Errorf("%v: invalid location list offset %v+%#x: %w", u, sec, off, ErrFormat)
	}
	l.c = binbuf.New(data, int(off), u.Data.big)
	return nil
}

func (l *locIter) nextV4() (locEntry, bool) {
	size := l.u.AddrSize
	for {
		a, b := l.c.Uint(size), l.c.Uint(size)
		switch {
		case l.c.Error != nil || a == 0 && b == 0:
			return locEntry{}, false
		case a == maxAddr(l.u.enc.addrSize):
			l.base = b
			continue
		}
		return locEntry{Range: Range{a + l.base, b + l.base}, expr: l.c.Bytes(int(l.c.U16()))}, true
	}
}

// nextSplitV4 reads entries as GNU tools write them for DWARF 4 in .dwo files: kinds up to
// 3 are those of DWARF 5, and lengths have a fixed size.
func (l *locIter) nextSplitV4() (locEntry, bool) {
	var e locEntry
	for {
		switch kind := l.c.U8(); {
		case l.c.Error != nil || kind == lleEndOfList:
			return e, false
		case kind == lleBaseAddressx:
			l.base, _ = l.u.AddressAt(l.c.ULEB())
			continue
		case kind == lleStartxEndx:
			e.Low, _ = l.u.AddressAt(l.c.ULEB())
			e.High, _ = l.u.AddressAt(l.c.ULEB())
		case kind == lleStartxLength:
			e.Low, _ = l.u.AddressAt(l.c.ULEB())
			e.High = e.Low + uint64(l.c.U32())
		case kind == lleOffsetPair:
			e.Low, e.High = l.base+uint64(l.c.U32()), l.base+uint64(l.c.U32())
		default:
			l.unknown(kind)
			return e, false
		}
		e.expr = l.c.Bytes(int(l.c.U16()))
		return e, true
	}
}

func (l *locIter) nextV5() (locEntry, bool) {
	c, u := &l.c, l.u
	var e locEntry
	for {
		switch kind := c.U8(); {
		case c.Error != nil || kind == lleEndOfList:
			return e, false
		case kind == lleBaseAddressx:
			l.base, _ = u.AddressAt(c.ULEB())
			continue
		case kind == lleBaseAddress:
			l.base = c.Uint(u.AddrSize)
			continue
		case kind == lleGNUViewPair: // view numbers within an address, not needed here
			c.ULEB()
			c.ULEB()
			continue
		case kind == lleStartxEndx:
			e.Low, _ = u.AddressAt(c.ULEB())
			e.High, _ = u.AddressAt(c.ULEB())
		case kind == lleStartxLength:
			e.Low, _ = u.AddressAt(c.ULEB())
			e.High = e.Low + c.ULEB()
		case kind == lleOffsetPair:
			e.Low = l.base + c.ULEB()
			e.High = l.base + c.ULEB()
		case kind == lleDefaultLocation:
			e.always = true
		case kind == lleStartEnd:
			e.Low = c.Uint(u.AddrSize)
			e.High = c.Uint(u.AddrSize)
		case kind == lleStartLength:
			e.Low = c.Uint(u.AddrSize)
			e.High = e.Low + c.ULEB()
		default:
			l.unknown(kind)
			return e, false
		}
		e.expr = c.Bytes64(c.ULEB())
		return e, true
	}
}

func (l *locIter) unknown(kind uint8) {
	l.c.Fail(fmt.Errorf("unknown entry kind %#x at %#x: %w", kind, l.c.Off-1, ErrFormat))
}
