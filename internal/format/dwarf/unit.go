package dwarf

import (
	"fmt"
	"math"
	"sort"
	"sync"
)

// A Unit is a compilation, partial, type or skeleton unit. Its indexes are built on first
// use. It is safe for concurrent use.
type Unit struct {
	Data     *Data
	Sec      Section // SecInfo or SecTypes
	Off, End uint64  // of the unit in that section, including its header
	Type     UnitType
	// ID is the dwo id of a skeleton or split unit, or the signature of a type unit.
	ID      uint64
	TypeOff uint64 // offset in the section of a type unit's type
	Version int
	// AddrSize is the size of an address in bytes: 1, 2, 4 or 8.
	AddrSize int
	Language Language

	enc       encoding
	entries   uint64
	abbrevOff uint64
	root      root
	skeleton  *Unit // of a split unit, once attached

	abbrevOnce sync.Once
	table      *abbrevTable

	lineOnce sync.Once
	line     *lineTable
	paths    pathCache

	outline outline
	origins originIndex
	locs    locCache

	splitOnce sync.Once
	splitUnit *Unit
	splitErr  error
}

// A DIE refers to a debugging information entry: the one at offset Off in the section of
// Unit. The zero DIE refers to none.
type DIE struct {
	Unit *Unit
	Off  uint64
}

// Valid reports whether the DIE refers to an entry.
func (d DIE) Valid() bool { return d.Unit != nil }

// Root is the offset of the unit's first entry.
func (u *Unit) Root() uint64 { return u.entries }

// Dwarf64 reports whether the unit is in the 64-bit format, with offsets of eight bytes.
func (u *Unit) Dwarf64() bool { return u.enc.offSize == 8 }

// String identifies the unit in errors.
func (u *Unit) String() string { return fmt.Sprintf("unit at %v+%#x", u.Sec, u.Off) }

// section returns the unit's section, readable up to the unit's end.
func (u *Unit) section() []byte {
	b, _ := u.Data.part(u.Sec, u.Off, u.End)
	return b
}

func (u *Unit) abbrevs() *abbrevTable {
	u.abbrevOnce.Do(func() { u.table = u.Data.abbrevTable(u.abbrevOff, u.enc) })
	return u.table
}

// unitCache holds the units in use.
type unitCache struct {
	mu    sync.Mutex
	units [2]map[uint64]*Unit // by offset, in SecInfo and SecTypes
}

// unitSlot returns the index of a section in tables with one element for each section that
// has units.
func unitSlot(sec Section) int {
	if sec == SecTypes {
		return 1
	}
	return 0
}

// UnitAt returns the unit with its header at off in sec (SecInfo or SecTypes).
func (d *Data) UnitAt(sec Section, off uint64) (*Unit, error) {
	slot := unitSlot(sec)
	d.units.mu.Lock()
	u := d.units.units[slot][off]
	d.units.mu.Unlock()
	if u != nil {
		return u, nil
	}
	h, err := d.readHeader(sec, off)
	if err != nil {
		return nil, err
	}
	r, err := d.readRoot(&h)
	if err != nil {
		return nil, err
	}
	u = newUnit(d, &h, &r)
	d.units.mu.Lock()
	defer d.units.mu.Unlock()
	if other := d.units.units[slot][off]; other != nil {
		return other, nil
	}
	if d.units.units[slot] == nil {
		d.units.units[slot] = make(map[uint64]*Unit)
	}
	d.units.units[slot][off] = u
	return u, nil
}

func newUnit(d *Data, h *header, r *root) *Unit {
	u := new(Unit)
	u.set(d, h, r)
	return u
}

// set initializes u, which may have been another unit, from h and r.
func (u *Unit) set(d *Data, h *header, r *root) {
	*u = Unit{
		Data: d, Sec: h.sec, Off: h.off, End: h.end, Type: h.kind, ID: h.id,
		Version: int(h.enc.version), AddrSize: int(h.enc.addrSize), Language: r.lang,
		enc: h.enc, entries: h.entries, abbrevOff: h.abbrevOff, root: *r,
	}
	if h.typeOff != 0 {
		u.TypeOff = h.off + h.typeOff
	}
	u.defaultBases()
}

// unitList is the list of a section's unit offsets, as far as needed so far.
type unitList struct {
	mu     sync.Mutex
	starts []uint64 // append-only
	next   uint64   // where the scan continues
	bad    int
	done   bool
	err    error
}

// unitStarts returns the offsets of all units in sec, ascending. If a header is damaged, it
// returns the units before that and an error.
func (d *Data) unitStarts(sec Section) ([]uint64, error) {
	return d.unitStartsTo(sec, math.MaxUint64)
}

// unitStartsTo is unitStarts for units that begin at or below off; it may return more.
func (d *Data) unitStartsTo(sec Section, off uint64) ([]uint64, error) {
	l := &d.lists[unitSlot(sec)]
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.done && l.next <= off {
		l.scan(d, sec)
	}
	return l.starts, l.err
}

// maxBadUnits is how many headers in a section may be skipped because they are damaged or
// of an unknown version.
const maxBadUnits = 1000

// scan reads the header of the next unit.
func (l *unitList) scan(d *Data, sec Section) {
	if l.next >= uint64(d.size(sec)) {
		l.done = true
		if l.next == 0 {
			_, l.err = d.part(sec, 0, 0)
		}
		return
	}
	data, err := d.part(sec, l.next, l.next+maxHeader)
	if err != nil {
		l.done, l.err = true, err
		return
	}
	data = data[:min(l.next+maxHeader, uint64(len(data)))]
	if next := overZeros(data, l.next); next > l.next {
		l.next = next
		return
	}
	h, err := d.readHeader(sec, l.next)
	switch {
	case err == nil:
		l.starts = append(l.starts, l.next)
	case h.end <= l.next || l.bad == maxBadUnits:
		l.done, l.err = true, err
		return
	default:
		l.bad++
		l.err = err
	}
	l.next = h.end
}

// overZeros skips zero words, which some linkers insert between units.
func overZeros(data []byte, off uint64) uint64 {
	for uint64(len(data))-off >= 4 && data[off]|data[off+1]|data[off+2]|data[off+3] == 0 {
		off += 4
	}
	if uint64(len(data))-off < 4 {
		for off < uint64(len(data)) && data[off] == 0 {
			off++
		}
	}
	return off
}

// UnitContaining returns the unit that contains the entry at off in sec.
func (d *Data) UnitContaining(sec Section, off uint64) (*Unit, error) {
	starts, err := d.unitStartsTo(sec, off)
	i := sort.Search(len(starts), func(i int) bool { return starts[i] > off }) - 1
	if i < 0 {
		if err == nil {
			err = ErrNotFound
		}
		return nil, fmt.Errorf("unit of entry %v+%#x: %w", sec, off, err)
	}
	u, err := d.UnitAt(sec, starts[i])
	if err == nil && off >= u.End {
		return nil, fmt.Errorf("unit of entry %v+%#x: %w", sec, off, ErrNotFound)
	}
	return u, err
}

// Units calls yield for every unit of the file until yield returns false. It creates each
// unit, so use it for small files and tools, not for finding a frame.
func (d *Data) Units(yield func(*Unit) bool) error {
	for _, sec := range [...]Section{SecInfo, SecTypes} {
		starts, err := d.unitStarts(sec)
		for _, off := range starts {
			u, uerr := d.UnitAt(sec, off)
			if uerr != nil {
				err = uerr
				continue
			}
			if !yield(u) {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// signatures finds type units.
type signatures struct {
	once  sync.Once
	units map[uint64]sigUnit
}

type sigUnit struct {
	sec Section
	off uint64
}

// TypeUnit returns the type with the signature in a DW_FORM_ref_sig8.
func (d *Data) TypeUnit(sig uint64) (DIE, error) {
	d.sigs.once.Do(d.indexSignatures)
	at, ok := d.sigs.units[sig]
	if !ok {
		return DIE{}, fmt.Errorf("type with signature %#x: %w", sig, ErrNotFound)
	}
	u, err := d.UnitAt(at.sec, at.off)
	if err != nil {
		return DIE{}, err
	}
	if u.TypeOff < u.entries || u.TypeOff >= u.End {
		return DIE{}, fmt.Errorf("%v: type at %#x is outside the unit: %w", u, u.TypeOff, ErrFormat)
	}
	return DIE{u, u.TypeOff}, nil
}

func (d *Data) indexSignatures() {
	d.sigs.units = make(map[uint64]sigUnit)
	for _, sec := range [...]Section{SecInfo, SecTypes} {
		starts, _ := d.unitStarts(sec)
		for _, off := range starts {
			h, err := d.readHeader(sec, off)
			if err != nil || h.kind != UnitTypes && h.kind != UnitSplitTypes {
				continue
			}
			if _, dup := d.sigs.units[h.id]; !dup {
				d.sigs.units[h.id] = sigUnit{sec, off}
			}
		}
	}
}
