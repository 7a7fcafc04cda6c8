package dwarf

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// header is a unit's header (DWARF 5, 7.5.1).
type header struct {
	off, end  uint64 // of the unit, in its section
	entries   uint64 // offset of the first entry
	abbrevOff uint64
	id        uint64 // dwo id, or type signature
	typeOff   uint64 // offset of the type in a type unit, relative to off
	kind      UnitType
	sec       Section
	enc       encoding
}

// readLength reads the initial length of a unit or table (DWARF 5, 7.4).
func readLength(c *binbuf.Cursor) (n uint64, offSize uint8) {
	n = uint64(c.U32())
	switch {
	case n == 0xffffffff:
		return c.U64(), 8
	case n >= 0xfffffff0:
		c.Fail(fmt.Errorf("reserved initial length %#x at %#x: %w", n, c.Off-4, ErrFormat))
	}
	return n, 4
}

// maxHeader is the maximum length in bytes of a unit header: that of a type unit in the
// 64-bit format.
const maxHeader = 40

// readHeader reads the header of the unit at off in sec.
func (d *Data) readHeader(sec Section, off uint64) (header, error) {
	data, err := d.part(sec, off, off+maxHeader)
	if err != nil {
		return header{}, err
	}
	h := header{off: off, sec: sec, kind: UnitCompile}
	if off >= uint64(len(data)) {
		return h, fmt.Errorf("unit at %#x is past the %#x bytes of %v: %w", off, len(data), sec, ErrFormat)
	}
	c := binbuf.New(data, int(off), d.big)
	var size uint64
	size, h.enc.offSize = readLength(&c)
	start := uint64(c.Off)
	if c.Error == nil && size <= uint64(len(data))-start {
		h.end = start + size // set even if the rest is damaged, since it leads to the next unit
	}
	h.enc.version = c.U16()
	if c.Error == nil && (h.enc.version < 2 || h.enc.version > 5) {
		return h, fmt.Errorf("unit at %v+%#x: version %d, want 2 to 5: %w", sec, off, h.enc.version, ErrFormat)
	}
	offSize := int(h.enc.offSize)
	if h.enc.version >= 5 {
		h.kind = UnitType(c.U8())
		h.enc.addrSize = c.U8()
		h.abbrevOff = c.Uint(offSize)
	} else {
		h.abbrevOff = c.Uint(offSize)
		h.enc.addrSize = c.U8()
		if sec == SecTypes {
			h.kind = UnitTypes
		}
	}
	switch h.kind {
	case UnitSkeleton, UnitSplitCompile:
		h.id = c.U64()
	case UnitTypes, UnitSplitTypes:
		h.id = c.U64()
		h.typeOff = c.Uint(offSize)
	}
	h.entries = uint64(c.Off)
	if c.Error != nil {
		return h, fmt.Errorf("header of the unit at %v+%#x: %w", sec, off, c.Error)
	}
	if h.end < h.entries {
		return h, fmt.Errorf("unit at %v+%#x: length %#x exceeds the section: %w", sec, off, size, ErrFormat)
	}
	switch h.enc.addrSize {
	case 1, 2, 4, 8:
	default:
		return h, fmt.Errorf("unit at %v+%#x: unsupported address size %d: %w", sec, off, h.enc.addrSize, ErrFormat)
	}
	return h, nil
}

// root holds what the first entry of a unit says about the whole unit.
type root struct {
	tag     Tag
	name    Value
	compDir Value
	dwoName Value
	low     Value
	high    Value
	ranges  Value
	lang    Language

	stmtList    uint64
	hasStmtList bool

	// Where the unit's part of each indexed section begins; defaultBases sets missing ones.
	strBase, addrBase, rngBase, locBase uint64
	hasStrBase, hasAddrBase             bool
	hasRngBase, hasLocBase              bool
	gnuRangesBase                       uint64
}

func (r *root) take(v *Value, h *header) {
	switch v.Attr {
	case AttrName:
		r.name = *v
	case AttrCompDir:
		r.compDir = *v
	case AttrDwoName, AttrGNUDwoName:
		r.dwoName = *v
	case AttrGNUDwoID:
		h.id = v.U
	case AttrLowPC:
		r.low = *v
	case AttrHighPC:
		r.high = *v
	case AttrRanges:
		r.ranges = *v
	case AttrLanguage:
		r.lang = Language(v.U)
	case AttrStmtList:
		r.stmtList, r.hasStmtList = v.U, true
	case AttrStrOffsetsBase:
		r.strBase, r.hasStrBase = v.U, true
	case AttrAddrBase, AttrGNUAddrBase:
		r.addrBase, r.hasAddrBase = v.U, true
	case AttrRnglistsBase:
		r.rngBase, r.hasRngBase = v.U, true
	case AttrLoclistsBase:
		r.locBase, r.hasLocBase = v.U, true
	case AttrGNURangesBase:
		r.gnuRangesBase = v.U
	}
}

// readRoot reads the first entry of a unit, if possible without decoding the unit's whole
// abbreviation table, so that an index of all units of a file does not decode all tables.
func (d *Data) readRoot(h *header) (root, error) {
	var r root
	data, err := d.part(h.sec, h.off, h.end)
	if err != nil {
		return r, err
	}
	c := binbuf.New(data[:h.end], int(h.entries), d.big)
	code := c.ULEB()
	if c.Error != nil || code == 0 {
		return r, c.Error // an empty unit
	}
	var buf [32]attrSpec
	var ab abbrev
	var specs []attrSpec
	t := d.cachedAbbrevs(h.abbrevOff, h.enc)
	if t == nil {
		ab, specs = d.rootAbbrev(h, code, buf[:0])
	}
	if specs == nil {
		if t == nil {
			t = d.abbrevTable(h.abbrevOff, h.enc)
		}
		a := t.find(code)
		if a == nil {
			return r, fmt.Errorf("unit at %v+%#x: abbreviation %d of the first entry is not in the table at %#x: %w",
				h.sec, h.off, code, h.abbrevOff, ErrFormat)
		}
		ab, specs = *a, t.of(a)
	}
	r.tag = ab.tag
	var v Value
	for i := range specs {
		v.Attr = specs[i].attr
		readForm(&c, specs[i].form, specs[i].implicit, h.enc, &v)
		if c.Error != nil {
			return r, fmt.Errorf("first entry of the unit at %v+%#x: %w", h.sec, h.off, c.Error)
		}
		r.take(&v, h)
	}
	h.classify(&r, d.dwo)
	return r, nil
}

// rootAbbrev searches for one abbreviation without decoding the others. It returns nil
// specs if the abbreviation is not there, or if the table was also searched for the
// previous unit: a table that units share is better decoded.
func (d *Data) rootAbbrev(h *header, code uint64, specs []attrSpec) (abbrev, []attrSpec) {
	// A declaration further on is left to abbrevTable.
	end := min(h.abbrevOff+abbrevStep, uint64(d.size(SecAbbrev)))
	table, err := d.part(SecAbbrev, h.abbrevOff, end)
	if err != nil || h.abbrevOff > end || d.overBudget() {
		return abbrev{}, nil
	}
	table = table[:end]
	before := d.abbrevs.searched.Swap(int64(h.abbrevOff) + 1)
	c := binbuf.New(table, int(h.abbrevOff), false)
	defer func() { d.abbrevs.read.Add(int64(c.Off) - int64(h.abbrevOff)) }()
	for {
		n := c.ULEB()
		switch {
		case n == 0 || c.Error != nil:
			return abbrev{}, nil
		case n == code:
			ab, got, err := parseAbbrev(&c, h.enc, specs[:0])
			if err != nil {
				return abbrev{}, nil
			}
			return ab, got
		case before == int64(h.abbrevOff)+1:
			return abbrev{}, nil
		}
		skipAbbrev(&c)
	}
}

// classify determines the unit's type from its first entry if the header is too old to have
// one.
func (h *header) classify(r *root, dwo bool) {
	if h.enc.version >= 5 || h.kind != UnitCompile {
		return
	}
	switch {
	case r.tag == TagPartialUnit:
		h.kind = UnitPartial
	case r.tag == TagTypeUnit:
		h.kind = UnitTypes
	case dwo:
		h.kind = UnitSplitCompile
	case r.dwoName.Present():
		h.kind = UnitSkeleton
	}
}
