package dwarf

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A namesSpec says how an index of .debug_names is written.
type namesSpec struct {
	dwarf64 bool
	buckets uint32 // 0 for none
	units   []*unitSpec
	types   []*unitSpec
	foreign int
	whole   bool // entries name their unit though there is one alone
	parents bool
	hashes  bool // entries have DW_IDX_type_hash
	spare   int  // abbreviations that no entry has
	wide    int  // attributes of one more
	entries []named
}

// named is a name with an entry that has it.
type named struct {
	name string
	to   *node
	in   *node // the scope around it, if that is in the index
}

// names writes an index behind those that were written before.
func (f *dwarfFile) names(s *namesSpec) {
	o := f.section(SecNames)
	start := beginLength(o, s.dwarf64)
	size := 4
	if s.dwarf64 {
		size = 8
	}
	byName := map[string][]named{}
	for _, e := range s.entries {
		byName[e.name] = append(byName[e.name], e)
	}
	list := slices.Sorted(maps.Keys(byName))
	hash := func(name string) uint32 { h, _ := nameHash(name); return h }
	if s.buckets > 0 {
		slices.SortStableFunc(list, func(a, b string) int { return int(hash(a)%s.buckets) - int(hash(b)%s.buckets) })
	}

	// Abbreviations: one for each tag, with a parent and without one.
	abbrevs, pool := &out{order: f.order}, &out{order: f.order}
	codes := map[string]uint64{}
	where := map[*node]uint64{}
	type patch struct {
		at int
		in *node
	}
	var patches []patch
	var entries []uint64
	withUnit := len(s.units) > 1 || s.whole
	for _, name := range list {
		entries = append(entries, pool.len())
		for _, e := range byName[name] {
			typ := slices.Index(s.types, e.to.unit)
			key := fmt.Sprint(e.to.tag, e.in != nil, typ >= 0)
			code := codes[key]
			if code == 0 {
				code = uint64(len(codes) + 1)
				codes[key] = code
				abbrevs.uleb(code)
				abbrevs.uleb(uint64(e.to.tag))
				switch {
				case typ >= 0:
					abbrevs.u8(idxTypeUnit, uint8(FormUdata))
				case withUnit:
					abbrevs.u8(idxCompileUnit, uint8(FormData1))
				}
				abbrevs.u8(idxDIEOffset, uint8(FormRef4))
				switch {
				case !s.parents:
				case e.in != nil:
					abbrevs.u8(idxParent, uint8(FormRef4))
				default:
					abbrevs.u8(idxParent, uint8(FormFlagPresent))
				}
				if s.hashes {
					abbrevs.u8(5, uint8(FormData8))
				}
				abbrevs.u8(0, 0)
			}
			where[e.to] = pool.len()
			pool.uleb(code)
			switch {
			case typ >= 0:
				pool.uleb(uint64(typ))
			case withUnit:
				pool.u8(uint8(slices.Index(s.units, e.to.unit)))
			}
			pool.u32(uint32(e.to.off - e.to.unit.off))
			if s.parents && e.in != nil {
				patches = append(patches, patch{len(pool.b), e.in})
				pool.u32(0)
			}
			if s.hashes {
				pool.u64(0x1122334455667788)
			}
		}
		pool.u8(0)
	}
	for i := range s.spare {
		abbrevs.uleb(uint64(1000 + i))
		abbrevs.u8(uint8(TagVariable), 0, 0)
	}
	if s.wide > 0 {
		abbrevs.u8(100, uint8(TagVariable))
		for range s.wide {
			abbrevs.u8(6, uint8(FormData1))
		}
		abbrevs.u8(0, 0)
	}
	abbrevs.u8(0)
	for _, p := range patches {
		pool.patch(p.at, 4, where[p.in])
	}

	o.u16(5)
	o.u16(0)
	for _, n := range []int{len(s.units), len(s.types), s.foreign, int(s.buckets), len(list), len(abbrevs.b), 8} {
		o.u32(uint32(n))
	}
	o.bytes([]byte("TEST0001"))
	for _, u := range slices.Concat(s.units, s.types) {
		o.uint(size, u.off)
	}
	for range s.foreign {
		o.u64(0xfeed)
	}
	for b := range s.buckets {
		first := slices.IndexFunc(list, func(name string) bool { return hash(name)%s.buckets == b })
		o.u32(uint32(first + 1))
	}
	if s.buckets > 0 {
		for _, name := range list {
			o.u32(hash(name))
		}
	}
	for _, name := range list {
		o.uint(size, f.addString(SecStr, name))
	}
	for _, at := range entries {
		o.uint(size, at)
	}
	o.bytes(abbrevs.b)
	o.bytes(pool.b)
	endLength(o, start, s.dwarf64)
}

// A catalogue is a file of some units with types, and the names in them.
type catalogue struct {
	f       *dwarfFile
	units   []*unitSpec
	entries [][]named // by unit
}

// newCatalogue makes n units. Unit i has the types ns::TypeI, DeepI in it, and TopI; a function whose name is Thing; other::Thing,
// if i is odd; and ns::Thing, if i is the last.
func newCatalogue(order binary.ByteOrder, n int) *catalogue {
	c := &catalogue{f: newFile(order)}
	for i := range n {
		own, deep, top := fmt.Sprintf("Type%d", i), fmt.Sprintf("Deep%d", i), fmt.Sprintf("Top%d", i)
		inner := die(TagStructureType, name(deep), at(AttrByteSize, FormData1, 1))
		typ := die(TagClassType, name(own), inner)
		space := die(TagNamespace, name("ns"), typ)
		other := die(TagNamespace, name("other"))
		root := die(TagCompileUnit, at(AttrLanguage, FormData1, LangCPlus14), space)
		global := die(TagUnionType, name(top))
		fn := die(TagSubprogram, name("Thing"), die(TagStructureType, name("Thing")))
		list := []named{{"ns", space, nil}, {own, typ, space}, {deep, inner, typ}, {top, global, nil}, {"Thing", fn, nil}}
		if i%2 == 1 {
			thing := die(TagStructureType, name("Thing"))
			other.add(thing)
			list = append(list, named{"other", other, nil}, named{"Thing", thing, other})
			root.add(other)
		}
		if i == n-1 {
			thing := die(TagStructureType, name("Thing"))
			space.add(thing)
			list = append(list, named{"Thing", thing, space})
		}
		root.add(global, fn)
		u := &unitSpec{version: 5, addrSize: 8, root: root}
		c.f.unit(u)
		c.units, c.entries = append(c.units, u), append(c.entries, list)
	}
	return c
}

// structures fits types.
func structures(t Tag) bool {
	return t == TagStructureType || t == TagClassType || t == TagUnionType || t == TagEnumerationType
}

// lookFor searches a file for a type as others do, by entries and by units. It returns where it is, and how many units
// were looked through.
func lookFor(d *Data, q *NameQuery) (off uint64, searched int) {
	right := func(at DIE) bool {
		scopes, _, ok := at.Scopes()
		return ok && slices.Equal(scopes, q.Scopes)
	}
	s := d.Listing(q).Search(func(u *Unit) (found, end bool) {
		searched++
		var e Entry
		for c := u.Cursor(u.Root()); c.Next(&e); {
			v := u.Value(e.Off, AttrName)
			if d := (DIE{u, e.Off}); q.Fits(e.Tag) && u.Text(&v) == q.Name && right(d) {
				off = e.Off
				return true, true
			}
		}
		return false, false
	}, func(d DIE) bool {
		if right(d) {
			off = d.Off
		}
		return off != 0
	})
	d.Units(func(u *Unit) bool { return !s.Try(u) })
	return off, searched
}

// wanted are the types of a catalogue, and some that it does not have.
func (c *catalogue) wanted() (list []*NameQuery) {
	for _, name := range []string{"Type0", "Type2", "Thing", "Nothing", "Top1", "Tëst"} {
		list = append(list, &NameQuery{Name: name, Scopes: []string{"ns"}, Scoped: true, Spaces: true, Fits: structures})
	}
	for _, name := range []string{"Top0", "Top2", "Type0", "Nothing", "Thing"} {
		list = append(list, &NameQuery{Name: name, Scoped: true, Spaces: true, Fits: structures})
	}
	return append(list, &NameQuery{Name: "Deep1", Scopes: []string{"ns", "Type1"}, Scoped: true, Fits: structures},
		&NameQuery{Name: "Deep1", Scopes: []string{"ns", "Type2"}, Scoped: true, Fits: structures})
}

// compareLooks reports where a search with the indexes finds something else than one without. It returns how many units were
// searched.
func (c *catalogue) compareLooks(t *testing.T, what string) (with int) {
	t.Helper()
	d := c.f.data()
	bare := &dwarfFile{order: c.f.order, sec: maps.Clone(c.f.sec)}
	delete(bare.sec, SecNames.String())
	delete(bare.sec, SecGDBIndex.String())
	for _, q := range c.wanted() {
		want, _ := lookFor(bare.data(), q)
		got, n := lookFor(d, q)
		with += n
		if got != want {
			t.Errorf("%s: %v %s at %#x, want %#x", what, q.Scopes, q.Name, got, want)
		}
		if n > len(c.units) {
			t.Errorf("%s: %v %s: %d searches of %d units", what, q.Scopes, q.Name, n, len(c.units))
		}
	}
	return with
}

// TestNameIndexes looks names up in indexes of all shapes.
func TestNameIndexes(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, shape := range []namesSpec{{buckets: 5, parents: true}, {buckets: 1, parents: true}, {parents: true}, {buckets: 3},
			{buckets: 5, parents: true, dwarf64: true}, {buckets: 50, parents: true, hashes: true, foreign: 3}} {
			for _, apart := range []bool{false, true} {
				c := newCatalogue(order, 5)
				for i := range c.units {
					s := shape
					if apart {
						s.units, s.entries, s.whole = c.units[i:i+1], c.entries[i], i%2 == 0
						c.f.names(&s)
					} else if i == 0 {
						s.units, s.entries = c.units, slices.Concat(c.entries...)
						c.f.names(&s)
					}
				}
				what := fmt.Sprintf("%v, %+v, apart %v", order, shape, apart)
				// Without an index each of the 13 searches goes through up to 5 units, and one of a name that is not hashed does.
				most := 12
				if !shape.parents {
					most = 35 // things of other scopes
				}
				if n := c.compareLooks(t, what); n > most {
					t.Errorf("%s: %d searches of units", what, n)
				}
			}
		}
	}
}

// Units that no index has are searched, and those of an index that lacks their types.
func TestNamesPartly(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		c := newCatalogue(order, 5)
		c.f.names(&namesSpec{buckets: 3, parents: true, units: c.units[:2], entries: slices.Concat(c.entries[:2]...)})
		if n := c.compareLooks(t, "two units of five"); n < 12 || n > 45 {
			t.Errorf("%d searches of units", n)
		}
		c = newCatalogue(order, 5)
		c.f.names(&namesSpec{buckets: 3, parents: true, units: c.units, entries: slices.Concat(c.entries[:3]...)})
		if n := c.compareLooks(t, "names of three units of five"); n < 12 || n > 45 {
			t.Errorf("%d searches of units", n)
		}
	}
	c := newCatalogue(binary.LittleEndian, 5) // a linker lists units that were compiled without names
	all := c.entries
	c.entries = all[:3]
	names := c.qualified()
	c.entries = all
	c.symbols(7, names)
	if n := c.compareLooks(t, "symbols of three units of five"); n < 12 || n > 50 {
		t.Errorf("%d searches of units", n)
	}
}

// Units in languages whose compilers list only some types are searched.
func TestNamesLanguage(t *testing.T) {
	q := &NameQuery{Name: "Nothing", Scopes: []string{"ns"}, Scoped: true, Spaces: true, Fits: structures}
	for lang, want := range map[Language]int{LangRust: 2, LangD: 2, LangC11: 0, LangCPlus20: 0} {
		for _, index := range []string{"names", "gdb_index"} {
			c := newCatalogue(binary.LittleEndian, 2)
			f := newFile(binary.LittleEndian)
			for _, u := range c.units {
				u.root.attrs[0].value = lang
				f.unit(u)
			}
			c.f = f
			if index == "names" {
				c.f.names(&namesSpec{buckets: 3, parents: true, units: c.units, entries: slices.Concat(c.entries...)})
			} else {
				c.symbols(7, c.qualified())
			}
			if _, n := lookFor(c.f.data(), q); n != want {
				t.Errorf("%s, language %#x: %d searches of units", index, lang, n)
			}
		}
	}
}

// Types in type units that an index lists are found in them.
func TestNamesTypeUnit(t *testing.T) {
	c := newCatalogue(binary.LittleEndian, 2)
	typ := die(TagStructureType, name("Apart"))
	u := &unitSpec{version: 5, addrSize: 8, kind: UnitTypes, id: 7, typ: typ, root: die(TagTypeUnit, at(AttrLanguage, FormData1, LangCPlus14), typ)}
	c.f.unit(u)
	c.f.names(&namesSpec{buckets: 3, parents: true, units: c.units, types: []*unitSpec{u}, foreign: 1,
		entries: append(slices.Concat(c.entries...), named{"Apart", typ, nil})})
	q := &NameQuery{Name: "Apart", Scoped: true, Spaces: true, Fits: structures}
	if off, n := lookFor(c.f.data(), q); off != typ.off || n != 0 {
		t.Errorf("at %#x after %d searches, want %#x", off, n, typ.off)
	}
}

// symbols writes .gdb_index with names, each with the numbers of the units that have it.
func (c *catalogue) symbols(version uint32, names map[string][]uint32) {
	o := &out{order: binary.LittleEndian}
	c.f.sec[SecGDBIndex.String()] = o
	const slots = 64
	pool := &out{order: binary.LittleEndian}
	table := make([]byte, slots*symbolSize)
	s := symbolTable{slots: table}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		list := uint32(pool.len())
		pool.u32(uint32(len(names[name])))
		for _, unit := range names[name] {
			if version >= 7 {
				unit |= 1 << 28
			}
			pool.u32(unit)
		}
		text := uint32(pool.len())
		pool.str(name)
		for n := 0; ; n++ {
			at := s.slot(symbolHash([]byte(name)), n)
			if b := table[at*symbolSize:]; binary.LittleEndian.Uint64(b) == 0 {
				binary.LittleEndian.PutUint32(b, text)
				binary.LittleEndian.PutUint32(b[4:], list)
				break
			}
		}
	}
	top, short := uint32(24), uint32(0)
	if version >= 9 {
		top, short = 28, 8
	}
	end := top + uint32(gdbUnitSize*len(c.units))
	o.u32(version)
	for _, v := range []uint32{top, end, end, end, end + slots*symbolSize} {
		o.u32(v)
	}
	if version >= 9 {
		o.u32(end + slots*symbolSize + short)
	}
	all := offsets(c.f)
	for i, off := range all {
		next := c.f.section(SecInfo).len()
		if i+1 < len(all) {
			next = all[i+1]
		}
		o.u64(off)
		o.u64(next - off)
	}
	o.bytes(table)
	o.bytes(make([]byte, short))
	o.bytes(pool.b)
}

// qualified lists the names of a catalogue as .gdb_index has them.
func (c *catalogue) qualified() map[string][]uint32 {
	names := map[string][]uint32{}
	for i, list := range c.entries {
		for _, e := range list {
			full := e.name
			if e.in != nil {
				v := e.in.attrs[0].value.(string)
				if e.in.tag != TagNamespace {
					continue // compilers leave out what is inside a class
				}
				full = v + "::" + e.name
			}
			names[full] = append(names[full], uint32(i))
		}
	}
	return names
}

// TestSymbols looks names up in .gdb_index, in all its versions.
func TestSymbols(t *testing.T) {
	for version := range uint32(12) {
		c := newCatalogue(binary.LittleEndian, 5)
		c.symbols(version, c.qualified())
		n := c.compareLooks(t, fmt.Sprint("version ", version))
		if known := version >= 5 && version <= 9; known != (n < 32) {
			t.Errorf("version %d: %d searches of units", version, n)
		}
	}
	// Names of gdb's own making may be written in other ways than in the entries.
	for version, want := range map[uint32]bool{7: true, 8: false} {
		s := symbolTable{version: version}
		if s.exact("a<b>") != want || s.exact("unsigned int") != want || !s.exact("a::b") {
			t.Errorf("version %d", version)
		}
	}
	c := newCatalogue(binary.LittleEndian, 5) // another length of a unit: the file was changed since
	c.symbols(7, c.qualified())
	for i := range c.units {
		c.f.sec[SecGDBIndex.String()].b[24+gdbUnitSize*i+8]++
	}
	if n := c.compareLooks(t, "other lengths"); n < 40 {
		t.Errorf("%d searches of units", n)
	}
}

// The hash is that of the standard's example and of clang's and gdb's indexes.
func TestNameHash(t *testing.T) {
	for name, want := range map[string]uint32{"": 5381, "gl": 0x5977f8, "ngl": 0xb889486, "GL": 0x5977f8} {
		if got, ok := nameHash(name); got != want || !ok {
			t.Errorf("%q: %#x, want %#x", name, got, want)
		}
	}
	if h, ok := nameHash("naïve"); ok {
		t.Errorf("other letters: %#x", h)
	}
	if symbolHash([]byte("Main")) != symbolHash([]byte("main")) {
		t.Error("capital letters")
	}
}

// What hostile sections cost: counts that exceed the section, chains without an end, names with too many entries.
func TestNamesHostile(t *testing.T) {
	whole := func() *catalogue {
		c := newCatalogue(binary.LittleEndian, 5)
		c.f.names(&namesSpec{buckets: 3, parents: true, units: c.units, entries: slices.Concat(c.entries...)})
		return c
	}
	size := len(whole().f.section(SecNames).b)
	for at := 0; at < size; at++ {
		values := []byte{0, 1, 0x7f, 0x80, 0xff}
		if n := at % len(values); !fixture.IsLong(t) {
			values = values[n : n+1]
		}
		for _, v := range values {
			c := whole()
			b := c.f.section(SecNames).b
			if b[at] == v {
				continue
			}
			b[at] = v
			c.compareLooks(t, fmt.Sprintf("byte %#x of %#x is %#x", at, size, v))
		}
	}
	c := newCatalogue(binary.LittleEndian, 2)
	thing := c.entries[0][3]
	list := slices.Concat(c.entries...)
	for range maxNameEntries + 1 {
		list = append(list, thing)
	}
	c.f.names(&namesSpec{buckets: 3, units: c.units, entries: list})
	if l := c.f.data().Listing(&NameQuery{Name: thing.name, Scoped: true, Spaces: true, Fits: structures}); l != nil {
		t.Errorf("%d entries of a name", len(l.hits))
	}
	c.compareLooks(t, "many entries")
	for _, buckets := range []uint32{0, 1} { // all names in one chain
		c := newCatalogue(binary.LittleEndian, 2)
		list := slices.Concat(c.entries...)
		for i := range maxNameChain {
			list = append(list, named{fmt.Sprint("filler", i), c.entries[0][3].to, nil})
		}
		c.f.names(&namesSpec{buckets: buckets, parents: true, units: c.units, entries: list})
		if l := c.f.data().Listing(&NameQuery{Name: "Nothing", Scoped: true, Spaces: true, Fits: structures}); l != nil {
			t.Errorf("%d buckets: a long chain is believed", buckets)
		}
		c.compareLooks(t, "a long chain")
	}
	c = newCatalogue(binary.LittleEndian, 1)
	for range maxNameIndexes + 9 {
		c.f.names(&namesSpec{buckets: 1, units: c.units, entries: c.entries[0]})
	}
	d := c.f.data()
	if n := len(d.names.all(d)); n != maxNameIndexes {
		t.Errorf("%d indexes", n)
	}
}

// Tables that exceed the limits, and lists that are empty, end the use of an index.
func TestNamesLimits(t *testing.T) {
	q := &NameQuery{Name: "Type0", Scopes: []string{"ns"}, Scoped: true, Spaces: true, Fits: structures}
	for _, s := range []struct {
		spec namesSpec
		used bool
	}{
		{namesSpec{spare: 900, wide: maxNameAttrs}, true},
		{namesSpec{spare: maxNameAbbrevs + 1}, false},
		{namesSpec{wide: maxNameAttrs + 2}, false},
	} {
		c := newCatalogue(binary.LittleEndian, 2)
		spec := s.spec
		spec.buckets, spec.parents, spec.units, spec.entries = 3, true, c.units, slices.Concat(c.entries...)
		c.f.names(&spec)
		if l := c.f.data().Listing(q); (l != nil) != s.used {
			t.Errorf("%d abbreviations, %d attributes: %+v", spec.spare, spec.wide, l)
		}
		c.compareLooks(t, "limits")
	}
	c := newCatalogue(binary.LittleEndian, 2) // a name whose entries are at the end, where there are none
	c.f.names(&namesSpec{buckets: 3, parents: true, units: c.units, entries: slices.Concat(c.entries...)})
	d := c.f.data()
	x := d.names.all(d)[0]
	hash, _ := nameHash("Type0")
	n, ok, err := x.find(d, "Type0", hash)
	if !ok || err != nil {
		t.Fatal(n, ok, err)
	}
	for _, off := range []uint32{uint32(len(x.data) - x.pool - 1), uint32(len(x.data) - x.pool), 0xffffffff} {
		binary.LittleEndian.PutUint32(c.f.section(SecNames).b[x.entries+4*int(n):], off)
		if l := c.f.data().Listing(q); l != nil {
			t.Errorf("entries at %#x: %+v", off, l)
		}
		c.compareLooks(t, "entries elsewhere")
	}
	for size, used := range map[int]bool{0: false, 1: true, maxSymbolUnits: true, maxSymbolUnits + 1: false} {
		c := newCatalogue(binary.LittleEndian, 3)
		names := c.qualified()
		names["ns::Type0"] = make([]uint32, size)
		c.symbols(7, names)
		if l := c.f.data().Listing(q); (l != nil) != used {
			t.Errorf("%d units of a name: %v", size, l != nil)
		}
		c.compareLooks(t, "units of a name")
	}
}

// packed is a file whose indexes of names are compressed.
type packed struct{ *dwarfFile }

func (p packed) LazySection(name string) ([]byte, func(from, end uint64) error, error) {
	b, err := p.Section(name)
	if name == SecNames.String() || name == SecGDBIndex.String() {
		return b, func(uint64, uint64) error { return nil }, err
	}
	return b, nil, err
}

// An index of another version is not read, nor is a large one decompressed.
func TestNamesUnused(t *testing.T) {
	q := &NameQuery{Name: "Type0", Scopes: []string{"ns"}, Scoped: true, Spaces: true, Fits: structures}
	for _, index := range []Section{SecNames, SecGDBIndex} {
		c := newCatalogue(binary.LittleEndian, 2)
		if index == SecNames {
			c.f.names(&namesSpec{buckets: 3, parents: true, units: c.units, entries: slices.Concat(c.entries...)})
		} else {
			c.symbols(7, c.qualified())
		}
		o := c.f.sec[index.String()]
		whole := len(o.b)
		for size, used := range map[int]bool{whole: true, maxPackedIndex: true, maxPackedIndex + 1: false} {
			o.b = append(o.b[:whole], make([]byte, size-whole)...)
			if l := New(packed{c.f}, c.f.order).Listing(q); (l != nil) != used {
				t.Errorf("%v: %d bytes compressed: %v", index, size, l != nil)
			}
			if l := c.f.data().Listing(q); l == nil {
				t.Errorf("%v: %d bytes are not used", index, size)
			}
		}
		o.b = o.b[:whole]
		if index == SecNames {
			o.b[4] = 6
			if l := c.f.data().Listing(q); l != nil {
				t.Error("version 6")
			}
		}
	}
}

// BenchmarkNames measures a look-up in the indexes of 1,000 units: the first, which reads the index, and others.
func BenchmarkNames(b *testing.B) {
	for _, index := range []string{"names", "gdb_index", "none"} {
		c := newCatalogue(binary.LittleEndian, 1000)
		switch index {
		case "names":
			for i := range c.units { // more than a byte has
				c.f.names(&namesSpec{buckets: 3, parents: true, units: c.units[i : i+1], entries: c.entries[i]})
			}
		case "gdb_index":
			c.symbols(7, map[string][]uint32{"ns::Type0": {0}})
		}
		q := &NameQuery{Name: "Nothing", Scopes: []string{"ns"}, Scoped: true, Spaces: true, Fits: structures}
		b.Run(index+"/first", func(b *testing.B) {
			for b.Loop() {
				c.f.data().Listing(q)
			}
		})
		d := c.f.data()
		b.Run(index+"/next", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Listing(q)
			}
		})
	}
}
