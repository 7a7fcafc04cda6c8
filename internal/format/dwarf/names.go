package dwarf

import (
	"encoding/binary"
	"errors"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// The section .debug_names (DWARF 5, 6.1.1) lists the entries that have a name. It is a sequence of indexes: one that
// the linker made for all units (lld --debug-names), or one of each compiler run, of one unit (clang -gpubnames).
// A look-up reads what it touches alone: a bucket, the hashes in it, the entries of one name.

// Limits on what is read of .debug_names. A file that exceeds one is searched as if it had no index.
const (
	maxNameIndexes = 1 << 10
	maxNameAbbrevs = 1 << 10 // of one index
	maxNameAttrs   = 16      // of one abbreviation
	maxNameChain   = 1 << 10 // names in one bucket, or in an index without buckets
	maxNameEntries = 1 << 16 // of one name in all indexes
)

// Attributes of an index (DWARF 5, 6.1.1.4.8). DW_IDX_type_hash is not needed.
const (
	idxCompileUnit = 1
	idxTypeUnit    = 2
	idxDIEOffset   = 3
	idxParent      = 4
)

// nameTable is the section with its indexes, which are found when the first name is looked up.
type nameTable struct {
	once    sync.Once
	indexes []*nameIndex // by their first unit
}

// A nameIndex is one index. Offsets are in the section.
type nameIndex struct {
	data    []byte // the section up to the index's end
	big     bool
	offSize int

	units, types, foreign uint64 // how many there are; types are the local ones
	buckets, names        uint64
	unitList, typeList    int
	bucketList, hashes    int
	texts, entries        int // offsets of names in .debug_str, and of their entries in the pool
	abbrevs, pool         int
	abbrevOnce            sync.Once
	table                 map[uint64]nameAbbrev
	tableErr              error
	first                 uint64 // the lowest unit
}

// A nameAbbrev says how entries with its code are written.
type nameAbbrev struct {
	tag   Tag
	specs []nameSpec
}

type nameSpec struct {
	idx  uint64
	form Form
}

// A nameEntry is an entry of an index.
type nameEntry struct {
	at        uint64 // in the pool
	tag       Tag
	unit      uint64 // offset of its unit in .debug_info
	off       uint64 // of the entry in its unit; 0 if the index does not say
	parent    uint64 // of the scope around it, in the pool
	inScope   bool   // there is a parent
	noParent  bool   // the scope around it is not in the index, or there is none
	elsewhere bool   // in a type unit of another file
}

// all returns the indexes of the section.
func (t *nameTable) all(d *Data) []*nameIndex {
	t.once.Do(func() {
		if d.dwo || d.size(SecNames) == 0 || d.load(SecNames).need != nil && d.size(SecNames) > maxPackedIndex {
			return
		}
		data, err := d.Bytes(SecNames)
		// Units in indexes after so many, damaged ones included, are searched as before.
		for off, n := 0, 0; err == nil && off < len(data) && n < maxNameIndexes; n++ {
			x, end := readNameIndex(data, off, d.big)
			if end <= off {
				break
			}
			if off = end; x != nil && x.units > 0 {
				t.indexes = append(t.indexes, x)
			}
		}
		slices.SortStableFunc(t.indexes, func(a, b *nameIndex) int { return compare(a.first, b.first) })
	})
	return t.indexes
}

// maxPackedIndex limits how much of a compressed section is decompressed to find names: less than the search without it.
const maxPackedIndex = 16 << 20

// readNameIndex reads the header of the index at off. It returns where the next one begins, or 0 if that is not known.
// The index is nil if it is damaged or of another version.
func readNameIndex(data []byte, off int, big bool) (*nameIndex, int) {
	c := binbuf.New(data, off, big)
	size, offSize := readLength(&c)
	if c.Error != nil || size > uint64(c.Len()) {
		return nil, 0
	}
	end := c.Off + int(size)
	c.Data = data[:end]
	x := &nameIndex{data: c.Data, big: big, offSize: int(offSize)}
	version := c.U16()
	c.Skip(2)
	x.units, x.types, x.foreign = uint64(c.U32()), uint64(c.U32()), uint64(c.U32())
	x.buckets, x.names = uint64(c.U32()), uint64(c.U32())
	abbrevSize, augmentation := uint64(c.U32()), uint64(c.U32())
	c.Skip64((augmentation + 3) &^ 3)
	list := func(n, size uint64) int {
		at := c.Off
		c.Skip64(n * size)
		return at
	}
	word := uint64(offSize)
	x.unitList, x.typeList = list(x.units, word), list(x.types, word)
	list(x.foreign, 8)
	x.bucketList = list(x.buckets, 4)
	x.hashes = c.Off
	if x.buckets > 0 {
		list(x.names, 4)
	}
	x.texts, x.entries = list(x.names, word), list(x.names, word)
	x.abbrevs, x.pool = list(abbrevSize, 1), c.Off
	if c.Error != nil || version != 5 {
		return nil, end
	}
	if x.units > 0 {
		x.first = x.word(x.unitList, 0)
	}
	return x, end
}

// word reads number i of a list of offsets, which must have it.
func (x *nameIndex) word(list int, i uint64) uint64 {
	c := binbuf.Cursor{Data: x.data, Off: list + int(i)*x.offSize, Big: x.big}
	return c.Uint(x.offSize)
}

// u32 reads number i of a list of words, which must have it.
func (x *nameIndex) u32(list int, i uint64) uint64 {
	c := binbuf.Cursor{Data: x.data, Off: list + int(i)*4, Big: x.big}
	return uint64(c.U32())
}

// lists reports whether the index has the unit at off. Units that are not in order are not found.
func (x *nameIndex) lists(off uint64) bool {
	i := uint64(sort.Search(int(x.units), func(i int) bool { return x.word(x.unitList, uint64(i)) >= off }))
	return i < x.units && x.word(x.unitList, i) == off
}

// of returns the index that lists the unit at off; nil if there is none.
func (t *nameTable) of(d *Data, off uint64) *nameIndex {
	all := t.all(d)
	i := sort.Search(len(all), func(i int) bool { return all[i].first > off }) - 1
	if i < 0 || !all[i].lists(off) {
		return nil
	}
	return all[i]
}

// errNames says that an index contradicts itself.
var errNames = errors.New("the index of names is damaged")

// find returns the number of a name, from 0; false if the index does not have it. What it goes by is checked: a hash must be
// that of its name, and names of one bucket stay together.
func (x *nameIndex) find(d *Data, name string, hash uint32) (uint64, bool, error) {
	if x.buckets == 0 {
		return x.scan(d, name)
	}
	bucket := uint64(hash) % x.buckets
	first := x.u32(x.bucketList, bucket)
	if first == 0 {
		return 0, false, x.empty(bucket)
	}
	if first > x.names || first > 1 && x.u32(x.hashes, first-2)%x.buckets == bucket {
		return 0, false, errNames
	}
	for i := first - 1; i < x.names; i++ {
		h := x.u32(x.hashes, i)
		in := h%x.buckets == bucket
		s, ok := d.str(SecStr, x.word(x.texts, i))
		if own, plain := nameHash(string(s)); !ok || plain && uint64(own) != h || !in && i == first-1 || i+1-first >= maxNameChain {
			return 0, false, errNames
		}
		if !in {
			break
		}
		if string(s) == name {
			return i, true, nil
		}
	}
	return 0, false, nil
}

// empty returns an error if a bucket has names nevertheless: they would be before those of the next bucket.
func (x *nameIndex) empty(bucket uint64) error {
	last := x.names
	for b := bucket + 1; b < min(x.buckets, bucket+maxNameChain); b++ {
		if next := x.u32(x.bucketList, b); next > 0 {
			last = min(last, next-1)
			break
		}
	}
	if last > 0 && x.u32(x.hashes, last-1)%x.buckets == bucket {
		return errNames
	}
	return nil
}

// scan goes through the names of an index without buckets.
func (x *nameIndex) scan(d *Data, name string) (uint64, bool, error) {
	if x.names > maxNameChain {
		return 0, false, errNames
	}
	for i := range x.names {
		s, ok := d.str(SecStr, x.word(x.texts, i))
		if !ok {
			return 0, false, errNames
		}
		if string(s) == name {
			return i, true, nil
		}
	}
	return 0, false, nil
}

// each calls yield for the entries of a name, by its number, until it returns false.
func (x *nameIndex) each(d *Data, name uint64, yield func(*nameEntry) bool) error {
	off := x.word(x.entries, name)
	table, err := x.abbrevTable()
	if err != nil {
		return err
	}
	c := binbuf.New(x.data, x.pool+int(off), x.big)
	for n := 0; ; n++ {
		e := nameEntry{at: uint64(c.Off - x.pool)}
		code := c.ULEB()
		if c.Error == nil && code == 0 && n > 0 { // no name is without an entry
			return x.ends(d, &c, table)
		}
		ab, ok := table[code]
		if c.Error != nil || !ok {
			return errNames
		}
		e.tag = ab.tag
		if err := x.entry(&c, ab.specs, &e); err != nil {
			return err
		}
		if !yield(&e) {
			return nil
		}
	}
}

// ends checks that the entries of a name end where c is: those of another name follow, of which the first must be right.
func (x *nameIndex) ends(d *Data, c *binbuf.Cursor, table map[uint64]nameAbbrev) error {
	if c.Len() < 4 { // no more than what fills the last word
		return nil
	}
	var e nameEntry
	ab, ok := table[c.ULEB()]
	if !ok {
		return errNames
	}
	if err := x.entry(c, ab.specs, &e); err != nil || e.elsewhere || e.off == 0 {
		return err
	}
	u, err := d.UnitAt(SecInfo, e.unit)
	if err != nil || u.Type == UnitSkeleton {
		return err
	}
	if to, err := u.Entry(u.Off + e.off); err != nil || to.Tag != ab.tag {
		return errNames
	}
	return nil
}

// entry reads the attributes of an entry.
func (x *nameIndex) entry(c *binbuf.Cursor, specs []nameSpec, e *nameEntry) error {
	var v Value
	unit, typ := uint64(0), uint64(0)
	hasUnit, hasType := x.units == 1, false // the only unit may be left out
	for _, s := range specs {
		readForm(c, s.form, 0, encoding{offSize: uint8(x.offSize)}, &v)
		switch s.idx {
		case idxCompileUnit:
			unit, hasUnit = v.U, true
		case idxTypeUnit:
			typ, hasType = v.U, true
		case idxDIEOffset:
			e.off = v.U
		case idxParent:
			e.noParent = s.form == FormFlagPresent
			if !e.noParent {
				e.parent, e.inScope = v.U, true
			}
		}
	}
	switch {
	case c.Error != nil:
		return c.Error
	case hasType && typ < x.types:
		e.unit = x.word(x.typeList, typ)
	case hasType && typ-x.types < x.foreign:
		e.elsewhere = true
	case hasType || !hasUnit || unit >= x.units:
		return errNames
	default:
		e.unit = x.word(x.unitList, unit)
	}
	return nil
}

// abbrevTable returns the abbreviations of the index by their codes.
func (x *nameIndex) abbrevTable() (map[uint64]nameAbbrev, error) {
	x.abbrevOnce.Do(func() {
		x.table = map[uint64]nameAbbrev{}
		c := binbuf.New(x.data[:x.pool], x.abbrevs, false)
		for c.More() {
			code, tag := c.ULEB(), uint64(0)
			if code == 0 {
				return
			}
			tag = c.ULEB()
			ab := nameAbbrev{tag: Tag(tag)}
			for {
				idx, form := c.ULEB(), c.ULEB()
				if c.Error != nil || tag > 0xffff || form > 0xffff || len(ab.specs) > maxNameAttrs || len(x.table) > maxNameAbbrevs {
					x.tableErr = errNames
					return
				}
				if idx == 0 && form == 0 {
					break
				}
				ab.specs = append(ab.specs, nameSpec{idx, Form(form)})
			}
			if _, twice := x.table[code]; !twice {
				x.table[code] = ab
			}
		}
		if c.Error != nil {
			x.tableErr = errNames
		}
	})
	return x.table, x.tableErr
}

// nameHash returns the hash of a name in .debug_names: that of D. J. Bernstein, of the name without the difference of
// capital and small letters. It returns false for names with other letters than those of ASCII, which
// nobody looks up: the folding of Unicode depends on its version.
func nameHash(name string) (uint32, bool) {
	h := uint32(5381)
	for i := range len(name) {
		b := name[i]
		if b >= 0x80 {
			return 0, false
		}
		h = h*33 + uint32(lower(b))
	}
	return h, true
}

// lower returns the small letter of a capital one.
func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}

// The symbols of .gdb_index: a hash table of names with their scopes, and for each the units that have it.

// Limits on a look-up in .gdb_index.
const (
	maxSymbolProbes = 1 << 10
	maxSymbolUnits  = 1 << 16
)

// symbolTable is the part of the section with symbols.
type symbolTable struct {
	version uint32
	slots   []byte // pairs of a name's offset in pool and that of a list of units; a power of two of them
	pool    []byte
}

const symbolSize = 8 // bytes of an element of symbolTable.slots

// symbolHash is that of the section's versions from 5.
func symbolHash(name []byte) uint32 {
	var h uint32
	for _, b := range name {
		h = h*67 + uint32(lower(b)) - 113
	}
	return h
}

// slot returns the place in the table that is looked at in step n for a hash.
func (s *symbolTable) slot(hash uint32, n int) uint32 {
	mask := uint32(len(s.slots)/symbolSize - 1)
	return (hash + uint32(n)*((hash*17)&mask|1)) & mask
}

// find returns the list of units of a name; nil if the table does not have it.
func (s *symbolTable) find(name string) ([]byte, error) {
	if len(s.slots) == 0 {
		return nil, nil
	}
	hash := symbolHash([]byte(name))
	for n := range min(maxSymbolProbes, len(s.slots)/symbolSize) {
		at := s.slot(hash, n)
		text, list := binary.LittleEndian.Uint32(s.slots[at*symbolSize:]), binary.LittleEndian.Uint32(s.slots[at*symbolSize+4:])
		if text == 0 && list == 0 {
			return nil, nil
		}
		own, ok := binbuf.CStringAt(s.pool, uint64(text))
		if !ok {
			return nil, errNames
		}
		if string(own) == name {
			b, ok := binbuf.Slice(s.pool, uint64(list), 4)
			if !ok {
				return nil, errNames
			}
			count := uint64(binary.LittleEndian.Uint32(b))
			units, ok := binbuf.Slice(s.pool, uint64(list)+4, 4*count)
			if !ok || count == 0 || count > maxSymbolUnits {
				return nil, errNames
			}
			return units, nil
		}
		if !s.leads(symbolHash(own), at) {
			return nil, errNames
		}
	}
	return nil, errNames
}

// leads reports whether a look-up of a hash comes to a slot, so that what is there may be found: all slots before it
// are taken.
func (s *symbolTable) leads(hash, at uint32) bool {
	for n := range min(maxSymbolProbes, len(s.slots)/symbolSize) {
		next := s.slot(hash, n)
		if next == at {
			return true
		}
		if binary.LittleEndian.Uint64(s.slots[next*symbolSize:]) == 0 {
			return false
		}
	}
	return false
}

// each calls yield for the units, by their numbers, in a list of find's. What kind of symbol it is there, a type or something
// else, is not needed: a unit that is listed is searched.
func (s *symbolTable) each(list []byte, yield func(unit uint64)) {
	for ; len(list) >= 4; list = list[4:] {
		v := binary.LittleEndian.Uint32(list)
		if s.version >= 7 {
			v &= 1<<24 - 1 // the rest is the kind
		}
		yield(uint64(v))
	}
}

// exact reports whether the table has a name as the entries write it. gdb writes names anew: unsigned long for
// long unsigned int, also between the brackets of templates.
func (s *symbolTable) exact(name string) bool {
	return s.version < 8 || !strings.ContainsAny(name, "< ")
}
