package dwarf

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Abbreviation tables (DWARF 5, 7.5.3). A table is decoded when the first unit that uses it
// is read, and shared by all units with the same table offset.

// An attrSpec is one attribute of an abbreviation.
type attrSpec struct {
	attr Attr
	form Form
	size int8 // size of the value in bytes, or -1 if it varies
	// The attributes from this one up to the first with a variable size: their number (at
	// most 255) and their total size in bytes.
	runLen   uint8
	runBytes uint16
	implicit int64 // the value, for FormImplicitConst
}

// An abbrev is the declared form of an entry.
type abbrev struct {
	tag      Tag
	children bool
	hasPC    bool  // has an attribute that may say where its code is
	declared bool  // it has DW_AT_declaration
	sibling  int16 // index of DW_AT_sibling among the specs, or -1
	count    uint16
	first    uint32 // the specs are table.specs[first : first+count]
	fixed    int32  // size of all values together in bytes, or -1 if it varies
	leaf     int32  // fixed, if it has no children and is not a function with code; otherwise -1
}

// An abbrevTable is immutable once parsed.
type abbrevTable struct {
	list   []abbrev
	specs  []attrSpec
	dense  uint64           // codes 1..dense are list[code-1]
	sparse map[uint64]int32 // the others, by code
	err    error            // why the table ends early
}

func (t *abbrevTable) find(code uint64) *abbrev {
	if code-1 < t.dense {
		return &t.list[code-1]
	}
	if i, ok := t.sparse[code]; ok {
		return &t.list[i]
	}
	return nil
}

func (t *abbrevTable) of(a *abbrev) []attrSpec { return t.specs[a.first : a.first+uint32(a.count)] }

// encoding holds the fields of a unit's header that determine the sizes of forms.
type encoding struct {
	version  uint16
	addrSize uint8
	offSize  uint8 // 4, or 8 in 64-bit DWARF
}

type abbrevKey struct {
	off uint64
	enc encoding
}

// abbrevCache holds the tables in use.
type abbrevCache struct {
	mu     sync.Mutex
	tables map[abbrevKey]*abbrevEntry
	// read counts the bytes decoded. The tables of normal files do not overlap, and the
	// first entries of units use abbreviations near the beginning of their tables.
	read atomic.Int64
	// searched is one more than the offset of the last table that readRoot searched without
	// decoding it.
	searched atomic.Int64
}

// overBudget reports whether more was decoded than any normal file needs: in a malicious
// file, units may use overlapping parts of one long table.
func (d *Data) overBudget() bool {
	return d.abbrevs.read.Load() > int64(1<<16+4*d.size(SecAbbrev)+32*d.size(SecInfo))
}

type abbrevEntry struct {
	once  sync.Once
	table *abbrevTable
}

func newAbbrevKey(off uint64, enc encoding) abbrevKey {
	if enc.version >= 3 {
		enc.version = 3 // later versions have the same sizes of forms
	}
	return abbrevKey{off, enc}
}

// cachedAbbrevs returns the table at off if it is already decoded, otherwise nil.
func (d *Data) cachedAbbrevs(off uint64, enc encoding) *abbrevTable {
	d.abbrevs.mu.Lock()
	_, ok := d.abbrevs.tables[newAbbrevKey(off, enc)]
	d.abbrevs.mu.Unlock()
	if !ok {
		return nil
	}
	return d.abbrevTable(off, enc)
}

// abbrevTable returns the table at off of .debug_abbrev; never nil.
func (d *Data) abbrevTable(off uint64, enc encoding) *abbrevTable {
	key := newAbbrevKey(off, enc)
	d.abbrevs.mu.Lock()
	e := d.abbrevs.tables[key]
	if e == nil {
		if d.abbrevs.tables == nil {
			d.abbrevs.tables = make(map[abbrevKey]*abbrevEntry)
		}
		e = new(abbrevEntry)
		d.abbrevs.tables[key] = e
	}
	d.abbrevs.mu.Unlock()
	e.once.Do(func() {
		if d.overBudget() {
			e.table = &abbrevTable{err: fmt.Errorf("abbreviations at %#x: too many tables overlap: %w", off, ErrFormat)}
			return
		}
		var size int
		e.table, size = d.parseAbbrevs(off, enc)
		d.abbrevs.read.Add(int64(size))
	})
	return e.table
}

// abbrevStep is how much of a table is requested at first, in bytes: its length is not
// stored anywhere.
const abbrevStep = 4 << 10

// abbrevScratch has lists of abbreviations of unknown length, until the table has them.
type abbrevScratch struct {
	list  []abbrev
	specs []attrSpec
}

var abbrevScratches = sync.Pool{New: func() any { return new(abbrevScratch) }}

// parseAbbrevs decodes the table at off and returns its size in bytes.
func (d *Data) parseAbbrevs(off uint64, enc encoding) (t *abbrevTable, size int) {
	scratch := abbrevScratches.Get().(*abbrevScratch)
	defer abbrevScratches.Put(scratch)
	t = &abbrevTable{list: scratch.list[:0], specs: scratch.specs[:0]}
	at := off
	for step := uint64(abbrevStep); ; step *= 4 {
		end := min(off, uint64(d.size(SecAbbrev))) + step
		data, err := d.part(SecAbbrev, off, end)
		if err != nil {
			return &abbrevTable{err: err}, 0
		}
		at = t.parse(data[:min(end, uint64(len(data)))], at, enc)
		// A table without a terminator continues past the requested bytes.
		if end >= uint64(len(data)) || !errors.Is(t.err, binbuf.ErrShort) {
			scratch.list, scratch.specs = t.list, t.specs
			t.list, t.specs = slices.Clone(t.list), slices.Clone(t.specs)
			return t, int(at - off)
		}
		t.err = nil
	}
}

// parse decodes the abbreviations from at on, adds them to the table, and returns where it stopped: if the data ended, where the
// abbreviation that was not complete begins.
func (t *abbrevTable) parse(data []byte, at uint64, enc encoding) uint64 {
	if at > uint64(len(data)) {
		t.err = fmt.Errorf("abbreviations at %#x are past the %#x bytes of .debug_abbrev: %w", at, len(data), ErrFormat)
		return at
	}
	c := binbuf.New(data, int(at), false)
	for {
		start := c.Off
		code := c.ULEB()
		if c.Error != nil {
			t.err = c.Error
			return uint64(start)
		}
		if code == 0 {
			return uint64(c.Off)
		}
		a, specs, err := parseAbbrev(&c, enc, t.specs)
		if err != nil {
			t.err = err
			return uint64(start)
		}
		t.specs = specs
		if code == t.dense+1 && t.dense == uint64(len(t.list)) {
			t.dense++
		} else if t.find(code) == nil {
			if t.sparse == nil {
				t.sparse = make(map[uint64]int32)
			}
			t.sparse[code] = int32(len(t.list))
		}
		t.list = append(t.list, a)
	}
}

// Limits on the attributes of an abbreviation, and on those of them whose values take no bytes in the entries: an entry
// of one byte could have hundreds of these. Compilers use fewer than 40, and 10.
const (
	maxAttrs = 512
	maxEmpty = 64
)

// parseAbbrev reads a declaration after its code and appends its attributes to specs. The
// returned abbrev's first is the previous length of specs.
func parseAbbrev(c *binbuf.Cursor, enc encoding, specs []attrSpec) (abbrev, []attrSpec, error) {
	start := c.Off
	tag := c.ULEB()
	a := abbrev{children: c.U8() != 0, sibling: -1, first: uint32(len(specs))}
	if tag <= 0xffff {
		a.tag = Tag(tag) // a larger tag is unknown anyway: read it as tag 0 with attributes
	}
	for empty := 0; ; {
		attr, form := c.ULEB(), c.ULEB()
		if c.Error != nil {
			return a, specs, c.Error
		}
		if attr == 0 && form == 0 {
			break
		}
		s := attrSpec{attr: Attr(attr), form: Form(form)}
		if attr > 0xffff {
			s.attr = 0xffff
		}
		if Form(form) == FormImplicitConst {
			s.implicit = c.SLEB()
		}
		var ok bool
		if s.size, ok = formSize(s.form, enc); !ok || form > 0xffff {
			return a, specs, fmt.Errorf("unknown form %#x in the abbreviation at %#x: %w", form, start, ErrFormat)
		}
		if n := len(specs) - int(a.first); n >= maxAttrs {
			return a, specs, fmt.Errorf("abbreviation at %#x has more than %d attributes: %w", start, n, ErrFormat)
		}
		if s.size == 0 {
			if empty++; empty > maxEmpty {
				return a, specs, fmt.Errorf("abbreviation at %#x has more than %d attributes without bytes: %w", start, maxEmpty, ErrFormat)
			}
		}
		switch s.attr {
		case AttrSibling:
			a.sibling = int16(len(specs) - int(a.first))
		case AttrLowPC, AttrHighPC, AttrRanges:
			a.hasPC = true
		case AttrDeclaration:
			a.declared = true
		}
		if s.size < 0 {
			a.fixed = -1
		} else if a.fixed >= 0 {
			a.fixed += int32(s.size)
		}
		specs = append(specs, s)
	}
	a.count = uint16(len(specs) - int(a.first))
	a.leaf = a.fixed
	if a.children || a.tag == TagSubprogram && a.hasPC {
		a.leaf = -1
	}
	setRuns(specs[a.first:])
	return a, specs, nil
}

// skipAbbrev skips a declaration after its code.
func skipAbbrev(c *binbuf.Cursor) {
	skipLEB(c)
	c.U8()
	for c.Error == nil {
		attr, form := c.ULEB(), c.ULEB()
		if attr == 0 && form == 0 {
			return
		}
		if Form(form) == FormImplicitConst {
			skipLEB(c)
		}
	}
}

// setRuns sets the runs of fixed-size attributes.
func setRuns(specs []attrSpec) {
	var n uint8
	var size uint16
	for i := len(specs) - 1; i >= 0; i-- {
		s := &specs[i]
		if s.size < 0 {
			n, size = 0, 0
			continue
		}
		if n == 255 { // the run continues in another
			n, size = 0, 0
		}
		n++
		size += uint16(s.size)
		s.runLen, s.runBytes = n, size
	}
}

// formSize returns the size of a form's values in bytes, or -1 if it varies. It returns
// false for an unknown form, whose entries cannot be skipped.
func formSize(f Form, enc encoding) (int8, bool) {
	switch f {
	case FormImplicitConst, FormFlagPresent:
		return 0, true
	case FormData1, FormFlag, FormRef1, FormStrx1, FormAddrx1:
		return 1, true
	case FormData2, FormRef2, FormStrx2, FormAddrx2:
		return 2, true
	case FormStrx3, FormAddrx3:
		return 3, true
	case FormData4, FormRef4, FormStrx4, FormAddrx4, FormRefSup4:
		return 4, true
	case FormData8, FormRef8, FormRefSig8, FormRefSup8:
		return 8, true
	case FormData16:
		return 16, true
	case FormAddr:
		return int8(enc.addrSize), true
	case FormRefAddr:
		if enc.version == 2 { // in DWARF 2 references have the size of an address
			return int8(enc.addrSize), true
		}
		return int8(enc.offSize), true
	case FormStrp, FormSecOffset, FormLineStrp, FormStrpSup, FormGNURefAlt, FormGNUStrpAlt:
		return int8(enc.offSize), true
	case FormBlock, FormBlock1, FormBlock2, FormBlock4, FormExprloc, FormString,
		FormSdata, FormUdata, FormRefUdata, FormIndirect, FormStrx, FormAddrx,
		FormLoclistx, FormRnglistx, FormGNUAddrIndex, FormGNUStrIndex:
		return -1, true
	}
	return 0, false
}
