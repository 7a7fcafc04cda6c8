package types

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Indexes are asked for what they know: nothing of languages whose compilers list names in other ways, and nothing of what
// is inside a function.
func TestQuery(t *testing.T) {
	in := func(lang dwarf.Language, n *node, kids ...*node) *Type {
		u := &tree{lang: lang, kids: kids}
		d := open(forest(u))
		return typeIn(t, d, u, n)
	}
	type want struct {
		scopes string
		spaces bool
	}
	for _, lang := range []dwarf.Language{dwarf.LangRust, dwarf.LangFortran90, dwarf.LangGo, dwarf.LangC99, dwarf.LangCPlus14} {
		for what, c := range map[string]struct {
			around func(*node) *node
			cxx    *want
		}{
			"outside all": {func(n *node) *node { return n }, &want{"", true}},
			"namespaces":  {func(n *node) *node { return space("a", space("b", n)) }, &want{"a b", true}},
			"no name":     {func(n *node) *node { return space("", n) }, &want{unnamed, true}},
			"a class":     {func(n *node) *node { return space("a", structure("b", n)) }, &want{"a b", false}},
			"a function":  {func(n *node) *node { return die(dwarf.TagSubprogram, "f", n) }, nil},
		} {
			typ := structure("x", declared)
			q := in(lang, typ, c.around(typ)).query()
			expect := c.cxx
			switch {
			case IsC(lang):
				expect = &want{"", true}
			case !IsCXX(lang):
				expect = nil
			}
			switch {
			case expect == nil || q == nil:
				if (q == nil) != (expect == nil) {
					t.Errorf("language %#x, %s: %+v", uint16(lang), what, q)
				}
			case q.Name != "x" || !q.Scoped || strings.Join(q.Scopes, " ") != expect.scopes || q.Spaces != expect.spaces || !q.Fits(dwarf.TagStructureType) || q.Fits(dwarf.TagTypedef):
				t.Errorf("language %#x, %s: %+v", uint16(lang), what, q)
			}
		}
	}
}

// Which entries may be what is looked for.
func TestTags(t *testing.T) {
	kinds := map[dwarf.Tag]string{dwarf.TagStructureType: "type", dwarf.TagClassType: "type", dwarf.TagUnionType: "type", dwarf.TagEnumerationType: "type", dwarf.TagInterfaceType: "type",
		dwarf.TagTypedef: "name", dwarf.TagBaseType: "name", dwarf.TagSubrangeType: "name", dwarf.TagNamespace: "scope", dwarf.TagModule: "scope"}
	for tag := dwarf.Tag(0); tag < 0x80; tag++ {
		kind := kinds[tag]
		if structural(tag) != (kind == "type") || nameableTag(tag) != (kind == "type" || kind == "name") || scope(tag) != (kind == "type" || kind == "scope") {
			t.Errorf("%#x: a type %v, has a name %v, has types inside %v; want %q", uint16(tag), structural(tag), nameableTag(tag), scope(tag), kind)
		}
	}
}

// An entry that an index leads to is the definition if it is one, has the name, and is in no function; in C, in no structure.
func TestDefines(t *testing.T) {
	for _, c := range []struct {
		lang  dwarf.Language
		entry *node
		in    func(*node) *node
		name  string
		want  bool
	}{
		{dwarf.LangC99, structure("x"), nil, "struct x", true},
		{dwarf.LangC99, structure("x"), nil, "union x", false},
		{dwarf.LangC99, structure("x", declared), nil, "struct x", false},
		{dwarf.LangC99, structure("x"), func(n *node) *node { return structure("o", n) }, "struct x", false},
		{dwarf.LangC99, structure("x"), func(n *node) *node { return die(dwarf.TagSubprogram, "f", n) }, "struct x", false},
		{dwarf.LangCPlus14, structure("x"), nil, "x", true},
		{dwarf.LangCPlus14, structure("x"), nil, "y", false},
		{dwarf.LangCPlus14, structure("x"), func(n *node) *node { return space("o", n) }, "o::x", true},
		{dwarf.LangCPlus14, structure("x"), func(n *node) *node { return structure("o", n) }, "o::x", true},
		{dwarf.LangCPlus14, structure("x"), func(n *node) *node { return structure("o", n) }, "x", false},
		{dwarf.LangCPlus14, structure("x"), func(n *node) *node { return die(dwarf.TagSubprogram, "o", n) }, "o::x", false},
	} {
		kid := c.entry
		if c.in != nil {
			kid = c.in(c.entry)
		}
		u := &tree{lang: c.lang, kids: []*node{kid}}
		d := open(forest(u))
		set := NewSet(arch.AMD64, nil)
		if got := set.defines(dwarf.DIE{Unit: unitAt(t, d, 0), Off: c.entry.off}, c.name); got != c.want {
			t.Errorf("language %#x, %s in %#x: %v", uint16(c.lang), c.name, uint16(kid.tag), got)
		}
	}
}

// declaring is a unit with the declaration of a structure.
func declaring(name string, kids ...*node) (*tree, *node) {
	n := structure(name, declared)
	return &tree{lang: dwarf.LangC99, kids: append([]*node{n}, kids...)}, n
}

// In C, units of one file may define types of a name: each finds its own, and one without its own the first, whoever asks
// before. In C++ there is one type of a name: what one unit found is that of the next.
func TestOwnDefinition(t *testing.T) {
	for _, c := range []struct {
		lang  dwarf.Language
		order []int // in which they ask
		want  []int // the sizes that they find
	}{
		{dwarf.LangC99, []int{0, 1, 2, 3}, []int{1, 2, 1, 1}}, {dwarf.LangC99, []int{2, 1, 0, 3}, []int{1, 2, 1, 1}}, {dwarf.LangC99, []int{1, 2, 3, 0}, []int{2, 1, 1, 1}},
		{dwarf.LangCPlus14, []int{2, 1, 0, 3}, []int{1, 1, 1, 1}}, {dwarf.LangCPlus14, []int{1, 2, 3, 0}, []int{2, 1, 1, 1}},
	} {
		var units []*tree
		var asks []*node
		for _, own := range [][]*node{{structure("a", sized(1))}, {structure("a", sized(2))}, nil, nil} {
			u, n := declaring("a", own...)
			u.lang = c.lang
			units, asks = append(units, u), append(asks, n)
		}
		d := open(forest(units...))
		set := NewSet(arch.AMD64, noLibraries{})
		for range 2 {
			for i, n := range c.order {
				got, ok := set.Complete(set.At(dwarf.DIE{Unit: unitAt(t, d, units[n].off), Off: asks[n].off}))
				if !ok || got.ByteSize != uint64(c.want[i]) {
					t.Errorf("language %#x: unit %d finds a type of %d bytes, want %d", uint16(c.lang), n, got.ByteSize, c.want[i])
				}
			}
		}
	}
}

// What is remembered is found again without a search, in whatever section and unit it is; a search that ended at a limit
// is not remembered.
func TestRememberedAnswers(t *testing.T) {
	kept := map[dwarf.Question][]byte{}
	options := dwarf.WithAnswers(func(q dwarf.Question, find func() []byte) []byte {
		if q.Kind != dwarf.AskedName {
			return find()
		}
		if a, ok := kept[q]; ok {
			return a
		}
		a := find()
		if a != nil {
			kept[q] = a
		}
		return a
	})
	for _, c := range []struct {
		what  string
		own   []*node // in the declaring unit
		rest  []*tree
		to    int  // which of rest has it; -1 for own, -2 for none
		whole int  // bytes of what is searched
		kept  bool // it is remembered
	}{
		{"in its unit", []*node{structure("a")}, nil, -1, minRemembered, true},
		{"in its unit, which is short", []*node{structure("a")}, nil, -1, minRemembered - 1, false},
		{"in the next", nil, []*tree{{lang: dwarf.LangC99, kids: []*node{structure("a")}}}, 0, minRemembered, true},
		{"in the next, both short", nil, []*tree{{lang: dwarf.LangC99, kids: []*node{structure("a")}}}, 0, minRemembered - 1, false},
		{"in the other section", nil, []*tree{{lang: dwarf.LangC99, types: true, kids: []*node{structure("a")}}}, 0, minRemembered, true},
		{"nowhere", nil, nil, -2, minRemembered, true},
	} {
		own, at := declaring("a", c.own...)
		units := append([]*tree{own}, c.rest...)
		forest(units...)
		size := 0
		for _, u := range units {
			size += int(u.size)
		}
		own.fill = c.whole - size
		sections := forest(units...)
		clear(kept)
		for run := range 2 {
			d := open(sections, options)
			u := unitAt(t, d, 0)
			set := NewSet(arch.AMD64, noLibraries{})
			found, inUnit := set.inOwnFile(u, "struct a", set.At(dwarf.DIE{Unit: u, Off: at.off}).query())
			var want dwarf.DIE
			switch c.to {
			case -1:
				want = dwarf.DIE{Unit: u, Off: own.kids[1].off}
			case 0:
				want = dwarf.DIE{Unit: found.Unit, Off: c.rest[0].kids[0].off}
			}
			if found != want || inUnit != (c.to == -1) || c.to == 0 && (found.Unit.Off != c.rest[0].off || (found.Unit.Sec == dwarf.SecTypes) != c.rest[0].types) {
				t.Errorf("%s, run %d: %v, %v", c.what, run, found, inUnit)
			}
			searched := 0
			set.names.Range(func(any, any) bool { searched++; return true })
			if len(kept) > 0 != c.kept || (searched > 0) != (run == 0 || !c.kept) {
				t.Errorf("%s, run %d: %d answers are kept, %d units were searched", c.what, run, len(kept), searched)
			}
		}
		// An answer that is of another name, too long or damaged is none.
		for _, bad := range [][]byte{nil, {0}, make([]byte, 8), append(make([]byte, 9), "struct b"...), append(make([]byte, 10), "struct a"...),
			append([]byte{1 + byte(dwarf.SecTypes) + 1, 0, 0, 0, 0, 0, 0, 0, 0}, "struct a"...), append([]byte{1, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0}, "struct a"...)} {
			d := open(sections, dwarf.WithAnswers(func(dwarf.Question, func() []byte) []byte { return bad }))
			u := unitAt(t, d, 0)
			set := NewSet(arch.AMD64, noLibraries{})
			if found, inUnit := set.inOwnFile(u, "struct a", nil); found.Valid() != (c.to >= -1) || inUnit != (c.to == -1) {
				t.Errorf("%s, %q: %v, %v", c.what, bad, found, inUnit)
			}
		}
		// Neither is one that leads to another entry, or into one.
		for _, off := range []uint64{at.off, at.off + 1, at.off - 1, 1, own.off} {
			d := open(sections, dwarf.WithAnswers(func(dwarf.Question, func() []byte) []byte {
				return packFound(dwarf.DIE{Unit: new(dwarf.Unit), Off: off}, "struct a")
			}))
			if found, inUnit := NewSet(arch.AMD64, noLibraries{}).inOwnFile(unitAt(t, d, 0), "struct a", nil); found.Valid() != (c.to >= -1) || inUnit != (c.to == -1) || found.Valid() && found.Off == off {
				t.Errorf("%s, remembered at %#x: %v, %v", c.what, off, found, inUnit)
			}
		}
		// One that leads to nothing is believed.
		d := open(sections, dwarf.WithAnswers(func(dwarf.Question, func() []byte) []byte { return packFound(dwarf.DIE{}, "struct a") }))
		if found, inUnit := NewSet(arch.AMD64, noLibraries{}).inOwnFile(unitAt(t, d, 0), "struct a", nil); found.Valid() || inUnit {
			t.Errorf("%s, remembered as nowhere: %v", c.what, found)
		}
	}
}

// listed is what an index says: a structure with a name of one letter is in a unit.
type listed struct {
	name byte
	unit *tree
	node *node
}

// listing adds an index of units. By sure, it says that the entries are outside all scopes.
func listing(sections map[string][]byte, units []*tree, sure bool, list ...listed) {
	le := binary.LittleEndian
	abbrevs := []byte{1, byte(dwarf.TagStructureType), 1, byte(dwarf.FormData1), 3, byte(dwarf.FormRef4)}
	if sure {
		abbrevs = append(abbrevs, 4, byte(dwarf.FormFlagPresent))
	}
	abbrevs = append(abbrevs, 0, 0, 0)
	var names, text, strs, entries, pool []byte
	for _, e := range list {
		i := bytes.IndexByte(names, e.name)
		if i < 0 {
			names = append(names, e.name)
		}
	}
	for _, name := range names {
		strs = le.AppendUint32(strs, uint32(len(text)))
		text = append(text, name, 0)
		entries = le.AppendUint32(entries, uint32(len(pool)))
		for _, e := range list {
			if e.name == name {
				pool = le.AppendUint32(append(pool, 1, byte(slices.Index(units, e.unit))), uint32(e.node.off-e.unit.off))
			}
		}
		pool = append(pool, 0)
	}
	b := []byte{5, 0, 0, 0}
	for _, n := range []int{len(units), 0, 0, 0, len(names), len(abbrevs), 0} {
		b = le.AppendUint32(b, uint32(n))
	}
	for _, u := range units {
		b = le.AppendUint32(b, uint32(u.off))
	}
	b = slices.Concat(b, strs, entries, abbrevs, pool)
	sections[".debug_names"], sections[".debug_str"] = append(le.AppendUint32(nil, uint32(len(b))), b...), text
}

// Behind the limit of what is searched, units are gone through that an index lists: the first definition is taken, that of a function is
// not, and the unit that asks, which was searched first, counts nothing.
func TestListedBehindLimit(t *testing.T) {
	local := func(n *node) *node { return die(dwarf.TagSubprogram, "f", n) }
	for _, c := range []struct {
		what    string
		in      []*node // one for each unit behind it; the declaring unit is nil
		want    int     // which of in; -1 for none
		counted []int   // which of in count as those of other files
	}{
		{"the first of two", []*node{structure("a", sized(1)), structure("a", sized(2))}, 0, []int{0}},
		{"behind one of a function", []*node{local(structure("a")), structure("a", sized(2))}, 1, []int{0, 1}},
		{"behind the unit that asks", []*node{nil, structure("a", sized(2))}, 1, []int{1}},
		{"of functions only", []*node{local(structure("a")), local(structure("a"))}, -1, []int{0, 1}},
	} {
		var units, in []*tree
		var own *tree
		var asks *node
		first := &tree{lang: dwarf.LangC99, kids: []*node{structure("z")}, fill: MaxSearch}
		units = append(units, first)
		var list []listed
		var entries []*node
		for _, n := range c.in {
			u := &tree{lang: dwarf.LangC99, kids: []*node{n}}
			if n == nil {
				n = structure("a")
				u, asks = declaring("a", local(n))
				own = u
			} else if n.tag == dwarf.TagSubprogram {
				n = n.kids[0]
			}
			entries = append(entries, n)
			in = append(in, u)
		}
		if own == nil {
			own, asks = declaring("a")
			units = append([]*tree{own}, units...)
		}
		units = append(units, in...)
		sections := forest(units...)
		for i, n := range entries {
			list = append(list, listed{'a', in[i], n})
		}
		listing(sections, units, false, list...)
		d := open(sections)
		set := NewSet(arch.AMD64, noLibraries{})
		got, ok := set.Complete(set.At(dwarf.DIE{Unit: unitAt(t, d, own.off), Off: asks.off}))
		if ok != (c.want >= 0) || ok && got.Ref.Off != entries[c.want].off {
			t.Errorf("%s: %+v, %v", c.what, got, ok)
		}
		counted := uint64(0)
		for _, i := range c.counted {
			counted += in[i].size
		}
		if n := set.foreign.Load(); uint64(n) != counted {
			t.Errorf("%s: %d bytes count as those of other files, want %d", c.what, n, counted)
		}
	}
}

// A search that the limit on other files ended is not remembered; one that found something there, or nothing, is.
func TestCutSearch(t *testing.T) {
	own, asks := declaring("a")
	own.fill = minRemembered
	filler, has := &tree{lang: dwarf.LangC99, kids: []*node{structure("z")}, fill: MaxSearch}, &tree{lang: dwarf.LangC99, kids: []*node{structure("a")}}
	units := []*tree{own, filler, has}
	sections := forest(units...)
	listing(sections, units, true, listed{'a', has, has.kids[0]})
	for used, want := range map[int64]bool{0: true, maxForeign: false} {
		kept := 0
		d := open(sections, dwarf.WithAnswers(func(q dwarf.Question, find func() []byte) []byte {
			a := find()
			if a != nil && q.Kind == dwarf.AskedName {
				kept++
			}
			return a
		}))
		set := NewSet(arch.AMD64, noLibraries{})
		set.foreign.Store(used)
		if got, ok := set.Complete(set.At(dwarf.DIE{Unit: unitAt(t, d, 0), Off: asks.off})); ok != want || (kept > 0) != want {
			t.Errorf("%d bytes were searched before: %+v, %v, %d answers are kept", used, got, ok, kept)
		}
	}
}

// Where a type unit exceeds the limit, no unit is searched again.
func TestLimitAtTypeUnit(t *testing.T) {
	own, asks := declaring("a")
	local := structure("a")
	other := &tree{lang: dwarf.LangC99, kids: []*node{die(dwarf.TagSubprogram, "f", local)}}
	units := []*tree{own, other}
	sections := forest(own, other, &tree{lang: dwarf.LangC99, types: true, kids: []*node{structure("a")}, fill: MaxSearch})
	listing(sections, units, false, listed{'a', other, local})
	d := open(sections)
	set := NewSet(arch.AMD64, noLibraries{})
	if got, ok := set.Complete(set.At(dwarf.DIE{Unit: unitAt(t, d, 0), Off: asks.off})); ok || set.foreign.Load() != 0 {
		t.Errorf("%+v, %v, %d bytes count as those of other files", got, ok, set.foreign.Load())
	}
}

// library writes a library that has only sections.
func library(t *testing.T, sections map[string][]byte) *image.Image {
	t.Helper()
	le := binary.LittleEndian
	names := append(slices.Sorted(maps.Keys(sections)), ".shstrtab")
	strs := []byte{0}
	for _, name := range names {
		strs = append(append(strs, name...), 0)
	}
	out := make([]byte, 64)
	copy(out, "\x7fELF\x02\x01\x01")
	headers := make([]byte, 64)
	for i, name := range names {
		data, typ := sections[name], uint32(1)
		if i == len(names)-1 {
			data, typ = strs, 3
		}
		headers = le.AppendUint32(le.AppendUint32(headers, uint32(bytes.Index(strs, append([]byte(name), 0)))), typ)
		for _, v := range []uint64{0, 0, uint64(len(out)), uint64(len(data)), 0, 1, 0} {
			headers = le.AppendUint64(headers, v)
		}
		out = append(out, data...)
	}
	le.PutUint16(out[16:], 3)
	le.PutUint16(out[18:], 62)
	le.PutUint32(out[20:], 1)
	le.PutUint64(out[40:], uint64(len(out)))
	for i, v := range []int{64, 56, 0, 64, len(names) + 1, len(names)} {
		le.PutUint16(out[52+2*i:], uint16(v))
	}
	im, err := image.New(append(out, headers...))
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// The file that asks is not searched again among the libraries, and counts once.
func TestOwnFileOnce(t *testing.T) {
	own, asks := declaring("a")
	filler := &tree{lang: dwarf.LangC99, kids: []*node{structure("z")}, fill: MaxSearch}
	im := library(t, forest(own, filler))
	other := &tree{lang: dwarf.LangC99, kids: []*node{structure("b", sized(4))}}
	second := library(t, forest(other))
	u := unitAt(t, im.DWARF(), 0)
	set := NewSet(arch.AMD64, files{nil, im, second, im})
	if got, ok := set.Complete(set.At(dwarf.DIE{Unit: u, Off: asks.off})); ok {
		t.Errorf("%+v", got)
	}
	if n := set.foreign.Load(); uint64(n) != other.size {
		t.Errorf("%d bytes count as those of other files, want %d", n, other.size)
	}
	for limit, want := range map[uint64]bool{own.size + filler.size + other.size: true, own.size + filler.size + other.size - 1: false} {
		set := NewSet(arch.AMD64, files{im, second})
		set.shortLookup = limit
		if _, ok := set.Lookup(u, "struct b", 8); ok != want {
			t.Errorf("with %d bytes: %v", limit, ok)
		}
	}
}

// What an index saves of the search of another file counts nevertheless, but only once.
func TestListedFileCounts(t *testing.T) {
	own, asks := declaring("b")
	d := open(forest(own))
	first, has := &tree{lang: dwarf.LangC99, kids: []*node{structure("z")}}, &tree{lang: dwarf.LangC99, kids: []*node{structure("b", sized(4))}}
	units := []*tree{first, has}
	sections := forest(units...)
	listing(sections, units, true, listed{'z', first, first.kids[0]}, listed{'b', has, has.kids[0]})
	im := library(t, sections)
	set := NewSet(arch.AMD64, files{im})
	typ := set.At(dwarf.DIE{Unit: unitAt(t, d, 0), Off: asks.off})
	for range 2 {
		if got := set.inOtherFiles(typ, typ.query()); got.Off != has.kids[0].off {
			t.Errorf("%#x, want %#x", got.Off, has.kids[0].off)
		}
		if n := set.foreign.Load(); uint64(n) != first.size+has.size {
			t.Errorf("%d bytes count, want %d", n, first.size+has.size)
		}
	}
}

// noServer is asked for files and has none.
type noServer struct{ asked []string }

func (s *noServer) Fetch(_ context.Context, id []byte, kind string) (string, error) {
	s.asked = append(s.asked, fmt.Sprintf("%s of %x", kind, id))
	return "", fs.ErrNotExist
}

// Nothing is fetched to look for a type in libraries.
func TestFetchesNothing(t *testing.T) {
	server := &noServer{}
	im, err := image.NewCache(find.New(t.Context(), find.Options{Fetcher: server})).Open(fixture.Get(t, "amd64-stripped").Binary(t))
	if err != nil || !im.Unfetched() {
		t.Fatal(err)
	}
	set := NewSet(arch.AMD64, files{im})
	if got, ok := set.Lookup(nil, "struct a", 8); ok {
		t.Errorf("%+v", got)
	}
	own, asks := declaring("a")
	if got, ok := set.Complete(set.At(dwarf.DIE{Unit: unitAt(t, open(forest(own)), 0), Off: asks.off})); ok {
		t.Errorf("%+v", got)
	}
	if len(server.asked) > 0 || !im.Unfetched() {
		t.Errorf("%q were asked for", server.asked)
	}
}
