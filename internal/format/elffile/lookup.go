package elffile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// indexAfter is the number of lookups that scan the table before an index is built. A scan
// reads every entry once; building the index costs about as much as this many scans (see
// BenchmarkLookup), so the total is at most twice the minimum.
const indexAfter = 24

// closePerLookup is how many symbols that cover the address a scan may compare for the price of one. Compilers never
// give one address to so many, but the author of a table may give it to all.
const closePerLookup = 1024

// Lookup finds the symbol that best names the code or data at a link-time virtual address.
// It reads names only if they matter for the choice.
//
// A symbol with a size covers its bytes. A symbol without a size (hand-written assembly,
// _start) covers what follows up to the next symbol. Neither extends beyond its section. If
// several symbols cover the address, the first of these rules on which they differ decides:
//
//  1. a symbol with a size before one without;
//  2. functions before untyped symbols before objects;
//  3. the highest start (for symbols without a size, before rule 2);
//  4. exported before local: raise, not __GI_raise;
//  5. fewer leading underscores, as in source code: nanosleep, which is weak,
//     not __nanosleep (eu-stack prefers __nanosleep);
//  6. global before weak: raise, not gsignal;
//  7. the first in the table.
//
// Lookup never returns symbols that are undefined, nameless or thread-local, absolute
// symbols that are not functions with a size, section and file symbols, and labels made by
// tools (mapping symbols $a $d $t $x, .L and L0^A labels, annobin's marks).
func (t *SymTab) Lookup(addr uint64) (Sym, bool) {
	t.findStored()
	if t.lookups.Load() < indexAfter {
		t.lookups.Add(1)
		defer t.passed(false)
		return t.scan(addr)
	}
	t.once.Do(func() { t.index = t.buildIndex() })
	i, ok := t.index.find(addr)
	if !ok || uint(i) >= uint(t.Len()) { // large indexes are negative where an int has 32 bits
		return Sym{}, false
	}
	s := t.sym(i)
	if lo, hi, ok := t.span(&s); !ok || addr < lo || addr >= hi {
		return Sym{}, false
	}
	return s, true
}

// scan implements Lookup by reading every entry.
func (t *SymTab) scan(addr uint64) (Sym, bool) {
	var sized, label Sym // the best of each kind so far
	var sizedEnd uint64  // end of the sized symbols that begin at or before addr
	plain := t.plainLayout()
	covering := int32(0)
	for i, n := 1, t.Len(); i < n; i++ {
		if plain {
			// Skip most symbols before decoding anything else.
			b := t.data[i*t.ent+8:][:16]
			v := binary.LittleEndian.Uint64(b)
			last := v + max(binary.LittleEndian.Uint64(b[8:]), 1) - 1
			if v > addr || last >= v && last < min(addr, sizedEnd) {
				continue
			}
		}
		e := t.entry(i)
		if e.value > addr || !e.usable() {
			continue
		}
		if e.size != 0 {
			end := e.end()
			sizedEnd = max(sizedEnd, end)
			if end <= addr {
				continue
			}
		}
		covering++
		s := t.sym(i)
		if _, hi, ok := t.span(&s); !ok || addr >= hi {
			continue
		}
		if s.Size != 0 {
			if sized.tab == nil || s.better(&sized) {
				sized = s
			}
		} else if (label.tab == nil || s.better(&label)) && !t.toolLabel(&s) {
			label = s
		}
	}
	t.lookups.Add(covering / closePerLookup)
	if sized.tab != nil {
		return sized, true
	}
	// A label inside a symbol with a size belongs to that symbol, and does not name what
	// follows it.
	if label.tab != nil && sizedEnd <= label.Value {
		return label, true
	}
	return Sym{}, false
}

// An entry is the part of a symbol that a scan needs.
type entry struct {
	value, size uint64
	name        uint32
	shndx       uint32
	info        uint8
}

// entry decodes symbol i as far as a scan needs it.
func (t *SymTab) entry(i int) entry {
	b := t.data[i*t.ent:]
	if t.plainLayout() {
		b = b[:24]
		return entry{
			value: binary.LittleEndian.Uint64(b[8:]), size: binary.LittleEndian.Uint64(b[16:]),
			name: binary.LittleEndian.Uint32(b), shndx: wideShndx(binary.LittleEndian.Uint16(b[6:])), info: b[4],
		}
	}
	s := t.sym(i)
	return entry{s.Value, s.Size, s.name, s.Shndx, s.Type | s.Bind<<4}
}

// plainLayout reports whether entries are 64-bit little-endian and their values need no
// adjustment.
func (t *SymTab) plainLayout() bool { return t.file.Class == 64 && !t.file.big && !t.moved }

// foreign is the set of types whose value is not the address of code or data.
const foreign = 1<<STT_SECTION | 1<<STT_FILE | 1<<STT_TLS

func (e *entry) usable() bool {
	if foreign>>(e.info&15)&1 != 0 || e.name == 0 || e.shndx == SHN_UNDEF || e.shndx == SHN_COMMON {
		return false
	}
	return e.shndx != SHN_ABS || e.size != 0 && class(e.info&15) == 2
}

func (e *entry) end() uint64 { return endOf(e.value, e.size) }

func endOf(value, size uint64) uint64 {
	if value+size < value {
		return math.MaxUint64
	}
	return value + size
}

// span returns the address range [lo, hi) that a usable symbol can cover, limited to its
// section (or segment, if there are no sections). For a symbol without a size, the next
// symbol limits it further.
func (t *SymTab) span(s *Sym) (lo, hi uint64, ok bool) { return t.spanOf(s.Value, s.Size, s.Shndx) }

func (t *SymTab) spanOf(value, size uint64, shndx uint32) (lo, hi uint64, ok bool) {
	lo, hi = value, endOf(value, size)
	if shndx == SHN_ABS {
		return lo, hi, true
	}
	start, end, ok := t.bounds(value, shndx)
	if !ok || lo < start || lo >= end {
		return 0, 0, false
	}
	if size == 0 {
		return lo, end, true
	}
	return lo, min(hi, end), true
}

// bounds returns the address range of a symbol's section or segment.
func (t *SymTab) bounds(value uint64, x uint32) (lo, hi uint64, ok bool) {
	list := t.file.Sections()
	if len(list) == 0 || t.opd != nil && x == uint32(t.opd.Index) {
		return t.loadBounds(value)
	}
	if uint64(x) >= uint64(len(list)) || list[x].Flags&SHF_ALLOC == 0 {
		return 0, 0, false
	}
	return list[x].Addr, endOf(list[x].Addr, list[x].Size), true
}

// A load is the address range of one PT_LOAD segment.
type load struct{ lo, hi uint64 }

// loadsByAddr lists the PT_LOAD segments by address, so that a file with very many of them
// does not cost a pass over all of them for each symbol.
func (f *File) loadsByAddr() []load {
	var list []load
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == PT_LOAD {
			list = append(list, load{p.Vaddr, endOf(p.Vaddr, p.Memsz)})
		}
	}
	slices.SortFunc(list, func(a, b load) int { return cmp.Compare(a.lo, b.lo) })
	return list
}

func (t *SymTab) loadBounds(addr uint64) (lo, hi uint64, ok bool) {
	i, exact := slices.BinarySearchFunc(t.loads, addr, func(l load, a uint64) int { return cmp.Compare(l.lo, a) })
	if !exact {
		i--
	}
	if i < 0 || addr >= t.loads[i].hi {
		return 0, 0, false
	}
	return t.loads[i].lo, t.loads[i].hi, true
}

// class ranks symbol types: functions, untyped, everything else.
func class(typ uint8) int {
	switch typ {
	case STT_FUNC, STT_GNU_IFUNC:
		return 2
	case STT_NOTYPE:
		return 1
	}
	return 0
}

func bindRank(bind uint8) int {
	switch bind {
	case STB_GLOBAL, STB_GNU_UNIQUE:
		return 2
	case STB_WEAK:
		return 1
	}
	return 0
}

// better reports whether s is a better name than o for an address that both cover, by the
// rules of Lookup.
func (s *Sym) better(o *Sym) bool {
	if (s.Size != 0) != (o.Size != 0) {
		return s.Size != 0
	}
	byClass, byValue := cmp.Compare(class(s.Type), class(o.Type)), cmp.Compare(s.Value, o.Value)
	if s.Size == 0 {
		byClass, byValue = byValue, byClass
	}
	if c := cmp.Or(byClass, byValue); c != 0 {
		return c > 0
	}
	if a, b := bindRank(s.Bind) == 0, bindRank(o.Bind) == 0; a != b {
		return b
	}
	if c := cmp.Compare(s.underscores(), o.underscores()); c != 0 {
		return c < 0
	}
	if c := cmp.Compare(bindRank(s.Bind), bindRank(o.Bind)); c != 0 {
		return c > 0
	}
	return s.Index < o.Index
}

// underscores counts the leading underscores of the name. glibc's __GI_ aliases, for calls
// inside the library, rank after every other name.
func (s *Sym) underscores() int {
	if uint64(s.name) >= uint64(len(s.tab.strs)) {
		return 0
	}
	b := s.tab.strs[s.name:]
	b = b[:min(len(b), 16)]
	if bytes.HasPrefix(b, []byte("__GI_")) {
		return len(b)
	}
	return len(b) - len(bytes.TrimLeft(b, "_"))
}

// toolLabel recognises symbols without a size that tools generate and that name nothing:
// mapping symbols (AAELF32 5.5.5, AAELF64 5.6, RISC-V psABI 8.4), assembler labels,
// annobin's section marks.
func (t *SymTab) toolLabel(s *Sym) bool {
	if s.Bind != STB_LOCAL || s.Type != STT_NOTYPE {
		return false
	}
	name := s.RawName()
	if len(name) == 0 {
		return true
	}
	switch name[0] {
	case '$':
		return t.marks && len(name) > 1 && (len(name) == 2 || name[2] == '.' || name[1] == 'x')
	case '.':
		return bytes.HasPrefix(name, []byte(".L")) || bytes.HasPrefix(name, []byte(".annobin"))
	}
	return bytes.HasPrefix(name, []byte("L0\x01"))
}
