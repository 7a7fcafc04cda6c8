package types

import (
	"debug/elf"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestBasicTypes(t *testing.T) {
	set := NewSet(arch.AMD64, nil)
	for name, want := range map[string]struct {
		shown string
		size  uint64
		enc   Encoding
	}{
		"bool": {"bool", 1, EncBoolean}, "_Bool": {"bool", 1, EncBoolean},
		"u8": {"u8", 1, EncUnsigned}, "uint8": {"uint8", 1, EncUnsigned}, "i8": {"i8", 1, EncSigned}, "int8": {"int8", 1, EncSigned},
		"u16": {"u16", 2, EncUnsigned}, "uint16": {"uint16", 2, EncUnsigned}, "i16": {"i16", 2, EncSigned}, "int16": {"int16", 2, EncSigned},
		"u32": {"u32", 4, EncUnsigned}, "uint32": {"uint32", 4, EncUnsigned}, "i32": {"i32", 4, EncSigned}, "int32": {"int32", 4, EncSigned},
		"u64": {"u64", 8, EncUnsigned}, "uint64": {"uint64", 8, EncUnsigned}, "i64": {"i64", 8, EncSigned}, "int64": {"int64", 8, EncSigned},
		"usize": {"usize", 8, EncUnsigned}, "uint": {"uint", 8, EncUnsigned}, "uintptr": {"uintptr", 8, EncUnsigned}, "isize": {"isize", 8, EncSigned},
		"f32": {"f32", 4, EncFloat}, "float": {"float", 4, EncFloat}, "float32": {"float32", 4, EncFloat},
		"f64": {"f64", 8, EncFloat}, "double": {"double", 8, EncFloat}, "float64": {"float64", 8, EncFloat},
		"char": {"char", 1, EncSignedChar}, "signed char": {"signed char", 1, EncSignedChar}, "unsigned char": {"unsigned char", 1, EncUnsignedChar},
		"short": {"short", 2, EncSigned}, "short int": {"short", 2, EncSigned}, "unsigned short": {"unsigned short", 2, EncUnsigned}, "signed short": {"short", 2, EncSigned},
		"int": {"int", 4, EncSigned}, "signed": {"int", 4, EncSigned}, "unsigned": {"unsigned int", 4, EncUnsigned}, "unsigned int": {"unsigned int", 4, EncUnsigned},
		"long": {"long", 8, EncSigned}, "long int": {"long", 8, EncSigned}, "unsigned long": {"unsigned long", 8, EncUnsigned}, "long unsigned int": {"unsigned long", 8, EncUnsigned},
		"long long": {"long long", 8, EncSigned}, "unsigned long long": {"unsigned long long", 8, EncUnsigned}, "long long unsigned int": {"unsigned long long", 8, EncUnsigned},
		"::int": {"int", 4, EncSigned},
	} {
		got, ok := set.Lookup(nil, name, 8)
		if !ok || got.Name() != want.shown || got.ByteSize != want.size || got.Encoding != want.enc || got.Tag != dwarf.TagBaseType {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	for name, size := range map[string]uint64{"long": 4, "unsigned long": 4, "long long": 8, "int": 4, "usize": 8} {
		if got, ok := set.Lookup(nil, name, 4); !ok || got.ByteSize != size {
			t.Errorf("%s of Windows: %+v", name, got)
		}
	}
	if got, ok := NewSet(arch.X86, nil).Lookup(nil, "usize", 4); !ok || got.ByteSize != 4 {
		t.Errorf("usize of 32 bits: %+v", got)
	}
	if got, ok := set.Lookup(nil, "void", 8); !ok || got.Tag != 0 {
		t.Errorf("void: %+v", got)
	}
	empty := NewSet(arch.AMD64, noLibraries{})
	for _, name := range []string{"", "char char", "short short", "int int", "long long long", "char int", "char short", "char long", "short long", "signed unsigned", "signed signed int", "integer", "const int", "long long long int"} {
		if got, ok := empty.Lookup(nil, name, 8); ok {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

type noLibraries struct{}

func (noLibraries) All() []*libstate.Library            { return nil }
func (noLibraries) File(*libstate.Library) *image.Image { return nil }

func TestMadeTypes(t *testing.T) {
	set := NewSet(arch.AMD64, nil)
	for _, c := range []struct {
		size   uint64
		signed bool
		want   string
	}{{4, true, "int"}, {4, false, "unsigned int"}, {8, true, "long"}, {8, false, "unsigned long"}} {
		if got := set.Integer(c.size, c.signed); got.Name() != c.want || got.ByteSize != c.size || got.Encoding != map[bool]Encoding{true: EncSigned, false: EncUnsigned}[c.signed] || got.Language != dwarf.LangC {
			t.Errorf("%d %v: %+v", c.size, c.signed, got)
		}
	}
	if b := set.Bool(); b.Name() != "bool" || b.ByteSize != 1 || b.Encoding != EncBoolean {
		t.Errorf("%+v", b)
	}
	p := set.PointerTo(set.PointerTo(set.Integer(4, true)))
	if p.Name() != "int **" || p.ByteSize != 8 || p.BareName != "" || !p.Pointer() || p.Target().Target().Name() != "int" {
		t.Errorf("%s, %d bytes", p.Name(), p.ByteSize)
	}
	g := set.number("main.node", 8, EncSigned)
	g.Language = dwarf.LangGo
	if p := set.PointerTo(g); p.Name() != "*main.node" || p.Language != dwarf.LangGo {
		t.Errorf("%s", p.Name())
	}
	if set.Word() != 8 || NewSet(arch.X86, nil).Word() != 4 {
		t.Error("the size of an address")
	}
}

// TestNamedTypes compares a search by name with a list of all types that somebody could name, in the fixtures.
func TestNamedTypes(t *testing.T) {
	paths, err := filepath.Glob("../../../testdata/cores/*/*")
	if err != nil {
		t.Fatal(err)
	}
	least := 1000
	if !fixture.IsLong(t) {
		least = 400
		var some []string
		for i := 0; i < len(paths); i += 10 {
			some = append(some, paths[i])
		}
		paths = some
	}
	for _, name := range []string{"amd64-vars-go-O0", "amd64-vars-cxx-O0", "amd64-vars-rust-O0"} {
		paths = append(paths, fixture.Get(t, name).Binary(t))
	}
	found := 0
	for _, path := range paths {
		f, err := elf.Open(path)
		if err != nil {
			continue
		}
		units := 0
		fileData(f).Units(func(u *dwarf.Unit) bool {
			if u.Language != dwarf.LangGo {
				found += compareNamed(t, path, u)
			}
			units++
			return units < 20
		})
		f.Close()
	}
	if found < least {
		t.Errorf("%d types found", found)
	}
}

// nameable lists the complete types of a unit by their full names, without those of scopes without a name.
func nameable(u *dwarf.Unit) map[string]dwarf.DIE {
	names := map[string]dwarf.DIE{}
	var e dwarf.Entry
	var v dwarf.Value
	prefix := make([]string, 64)
	shut := 64 // below this depth nothing can be named
	for c := u.Cursor(u.Root()); c.Next(&e) && c.Level() > 0; {
		if e.Depth < shut {
			shut = 64
		}
		if e.Depth > maxScopeDepth || e.Depth >= shut {
			continue
		}
		scope, typ := false, false
		switch e.Tag {
		case 0, dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit:
			continue
		case dwarf.TagNamespace, dwarf.TagModule:
			scope = true
		case dwarf.TagStructureType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagInterfaceType:
			scope, typ = true, true
		case dwarf.TagTypedef, dwarf.TagBaseType:
			typ = true
		}
		own := ""
		if c.Find(dwarf.AttrName, &v) {
			b, _ := u.Bytes(&v)
			own = string(b)
		}
		switch {
		case !scope && !typ, own == "" && e.Tag != dwarf.TagNamespace:
			shut = e.Depth + 1
			continue
		case own == "":
			prefix[e.Depth+1] = prefix[e.Depth]
			continue
		}
		full := prefix[e.Depth] + own
		prefix[e.Depth+1] = full + "::"
		if d := u.Value(e.Off, dwarf.AttrDeclaration); typ && !d.Flag() {
			if _, dup := names[full]; !dup {
				names[full] = dwarf.DIE{Unit: u, Off: e.Off}
			}
		}
		if !scope {
			shut = e.Depth + 1
		}
	}
	return names
}

func compareNamed(t *testing.T, path string, u *dwarf.Unit) (n int) {
	t.Helper()
	all := nameable(u)
	set := NewSet(arch.AMD64, noLibraries{})
	long := fixture.IsLong(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		want := all[name]
		if n++; n > 400 {
			break
		}
		if got, ok := named(u, name); !ok || got != want {
			t.Errorf("%s: %q at %#x, %v; want %#x", path, name, got.Off, ok, want.Off)
		}
		if set.basic(name, 8) == nil {
			if got, ok := set.Lookup(u, "::"+name, 8); !ok || got != set.At(want) {
				t.Errorf("%s: %q in the file: %v, %v", path, name, got, ok)
			}
		}
		if n%3 != 0 && !long { // what is not there is searched for in the whole unit
			continue
		}
		tag := u.Cursor(want.Off)
		var e dwarf.Entry
		tag.Next(&e)
		plain := e.Tag == dwarf.TagTypedef || e.Tag == dwarf.TagBaseType
		for _, word := range []string{"struct ", "union ", "class ", "enum "} {
			if got, ok := named(u, word+name); !plain && (!ok || got != want) || plain && ok && got == want {
				t.Errorf("%s: %q at %#x, %v; want %#x", path, word+name, got.Off, ok, want.Off)
			}
		}
		for _, other := range []string{name + "x", "x" + name, name + "::", name[1:], strings.ToUpper(name) + "?"} {
			if want, has := all[other]; !has {
				if got, ok := named(u, other); ok {
					t.Errorf("%s: %q at %#x, want none like %#x", path, other, got.Off, want.Off)
				}
			}
		}
	}
	return n
}

// A type of another unit of the same file is found.
func TestLookupElsewhere(t *testing.T) {
	d := rawData(rawUnit{root: dwarf.TagCompileUnit, lang: dwarf.LangC99}, rawUnit{root: dwarf.TagCompileUnit, lang: dwarf.LangC99, name: 'a'}, rawUnit{root: dwarf.TagCompileUnit, lang: dwarf.LangC99, name: 'b'})
	var units []*dwarf.Unit
	d.Units(func(u *dwarf.Unit) bool { units = append(units, u); return true })
	set := NewSet(arch.AMD64, noLibraries{})
	for _, from := range units {
		for i, name := range []string{"a", "b"} {
			got, ok := set.Lookup(from, "struct "+name, 8)
			if !ok || got.Ref.Unit.Off != units[i+1].Off {
				t.Errorf("%s: %v, %v", name, got, ok)
			}
		}
		if got, ok := set.Lookup(from, "struct c", 8); ok {
			t.Errorf("c: %v", got)
		}
	}
	if got, ok := set.Lookup(nil, "struct a", 8); ok {
		t.Errorf("without a unit: %v", got)
	}
}

// The search ends at its limit, before a unit that exceeds it.
func TestLookupLimit(t *testing.T) {
	first, a := rawUnit{root: dwarf.TagCompileUnit, lang: dwarf.LangC99}, rawUnit{root: dwarf.TagCompileUnit, lang: dwarf.LangC99, name: 'a'}
	d := rawData(first, first, a)
	own, err := d.UnitAt(dwarf.SecInfo, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := uint64(2*first.size() + a.size())
	for limit, want := range map[uint64]bool{all: true, all - 1: false, all + 1: true, 1: false} {
		set := NewSet(arch.AMD64, noLibraries{})
		set.shortLookup = limit
		if _, ok := set.Lookup(own, "struct a", 8); ok != want {
			t.Errorf("with %d bytes of %d: %v", limit, all, ok)
		}
	}
	larger := first
	larger.fill = 100
	d = rawData(first, larger, a)
	if own, err = d.UnitAt(dwarf.SecInfo, 0); err != nil {
		t.Fatal(err)
	}
	set := NewSet(arch.AMD64, noLibraries{})
	set.shortLookup = uint64(first.size() + a.size())
	if _, ok := set.Lookup(own, "struct a", 8); ok {
		t.Error("found behind a unit that exceeds the limit")
	}
	if NewSet(arch.AMD64, nil).lookup() != maxLookup {
		t.Error("the usual limit")
	}
}

// files are libraries with these files; those that are nil have none.
type files []*image.Image

func (f files) All() []*libstate.Library {
	list := make([]*libstate.Library, len(f))
	for i := range list {
		list[i] = &libstate.Library{LoadBias: uint64(i)}
	}
	return list
}

func (f files) File(l *libstate.Library) *image.Image { return f[l.LoadBias] }

// A type of another library is found, whatever the frame's own file.
func TestLookupInLibraries(t *testing.T) {
	read := func(name string) *image.Image {
		data, err := os.ReadFile(fixture.Get(t, name).Binary(t))
		if err != nil {
			t.Fatal(err)
		}
		im, err := image.New(data)
		if err != nil {
			t.Fatal(err)
		}
		return im
	}
	c, cxx := read("amd64-vars-c-O0"), read("amd64-vars-cxx-O0")
	set := NewSet(arch.AMD64, files{nil, read("amd64-stripped"), cxx, c})
	var unit *dwarf.Unit
	c.DWARF().Units(func(u *dwarf.Unit) bool { unit = u; return false })
	for _, own := range []*dwarf.Unit{nil, unit} {
		for name, size := range map[string]uint64{"shop::Plain": 24, "struct node": 48, "shop::Colour": 1} {
			got, ok := set.Lookup(own, name, 8)
			if !ok || got.ByteSize != size && name != "shop::Colour" {
				t.Errorf("%s: %+v, %v", name, got, ok)
			}
		}
		if got, ok := set.Lookup(own, "shop::Nope", 8); ok {
			t.Errorf("%+v", got)
		}
	}
	set.shortLookup = 1
	if got, ok := set.Lookup(nil, "shop::Plain", 8); ok {
		t.Errorf("with one byte: %+v", got)
	}
}

// Types of a PDB are found by their names, those that are only declared are not.
func TestInDatabase(t *testing.T) {
	var h handTypes
	h.forward(0x1505, "ns::later")
	want := h.class(0x1505, "ns::box", 12, h.list())
	f := h.file(t, 0x8664)
	set := NewSet(arch.AMD64, noLibraries{})
	db := set.Database(f, dwarf.LangCPlus14)
	for _, name := range []string{"ns::box", "struct ns::box", "class ns::box", "::ns::box", "union ns::box", "enum ns::box"} {
		got, ok := set.InDatabase(db, name)
		if !ok || got != set.Of(db.Type(want)) || got.ByteSize != 12 {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"ns::later", "box", "ns::bo", ""} {
		if got, ok := set.InDatabase(db, name); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A row of an array has the dimensions after the first.
func TestRow(t *testing.T) {
	set := NewSet(arch.AMD64, nil)
	elem := set.Integer(4, true)
	array := func(n ...uint64) *Type {
		a := &Type{set: set, Tag: dwarf.TagArrayType, Language: dwarf.LangC, Stride: dwarf.Value{U: 3}}
		a.target.Store(elem)
		a.membersOnce.Do(func() {
			for _, c := range n {
				a.m.dims = append(a.m.dims, Dim{count: constantOf(c)})
			}
		})
		return a
	}
	row, err := set.Row(array(2, 3, 5))
	if err != nil || len(row.Dims()) != 2 || row.Tag != dwarf.TagArrayType || row.Target() != elem || row.Stride.U != 3 || row.Language != dwarf.LangC || !row.Row {
		t.Fatalf("%+v, %v", row, err)
	}
	if n, ok := row.Dims()[0].length(); !ok || n != 3 {
		t.Errorf("%d, %v", n, ok)
	}
	if last, err := set.Row(row); err != nil || len(last.Dims()) != 1 || last.Target() != elem {
		t.Errorf("%+v, %v", last, err)
	}
	if one, err := set.Row(array(2)); err != nil || one != elem {
		t.Errorf("%+v, %v", one, err)
	}
}

// Scopes: a namespace is no type, one without a name is as if it were not there, and what is only declared is not found.
func TestNamedScopes(t *testing.T) {
	abbrev := []byte{1, byte(dwarf.TagCompileUnit), 1, byte(dwarf.AttrLanguage), byte(dwarf.FormData1), 0, 0,
		2, byte(dwarf.TagNamespace), 1, 0, 0,
		3, byte(dwarf.TagNamespace), 1, byte(dwarf.AttrName), byte(dwarf.FormString), 0, 0,
		4, byte(dwarf.TagStructureType), 0, byte(dwarf.AttrName), byte(dwarf.FormString), 0, 0,
		5, byte(dwarf.TagStructureType), 0, byte(dwarf.AttrName), byte(dwarf.FormString), byte(dwarf.AttrDeclaration), byte(dwarf.FormFlag), 0, 0,
		6, byte(dwarf.TagModule), 1, byte(dwarf.AttrName), byte(dwarf.FormString), 0, 0,
		7, byte(dwarf.TagStructureType), 1, byte(dwarf.AttrName), byte(dwarf.FormString), 0, 0, 0}
	body := []byte{1, byte(dwarf.LangCPlus14),
		2, 4, 'a', 0, 3, 'm', 0, 4, 'c', 0, 0, 0, // namespace { struct a; namespace m { struct c; } }
		3, 'n', 0, 2, 4, 'b', 0, 0, 4, 'd', 0, 0, // namespace n { namespace { struct b; } struct d; }
		5, 'e', 0, 1, // struct e; declared
		6, 'o', 0, 4, 'f', 0, 0, // module o with struct f
		7, 'g', 0, 4, 'h', 0, 0, // struct g { struct h; }
		4, 'z', 0, 0}
	info := []byte{byte(len(body) + 7), 0, 0, 0, 4, 0, 0, 0, 0, 0, 8}
	sections := map[string][]byte{".debug_abbrev": abbrev, ".debug_info": append(info, body...)}
	d := dwarf.New(dwarf.SourceFunc(func(name string) ([]byte, error) { return sections[name], nil }), binary.LittleEndian)
	u, err := d.UnitAt(dwarf.SecInfo, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "a", "m::c": "c", "n::b": "b", "n::d": "d", "o::f": "f", "g": "g", "g::h": "h", "z": "z", "struct ::z": "z",
		"n": "", "m": "", "o": "", "e": "", "b": "", "c": "", "d": "", "h": "", "n::a": "", "n::z": "", "m::a": "", "": "", "n::": "", "g::": ""} {
		got := ""
		if die, ok := named(u, name); ok {
			v := u.Value(die.Off, dwarf.AttrName)
			got = u.Text(&v)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Types of Go are called with their packages.
func TestLookupGo(t *testing.T) {
	data, err := os.ReadFile(fixture.Get(t, "amd64-vars-go-O0").Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	im, err := image.New(data)
	if err != nil {
		t.Fatal(err)
	}
	set := NewSet(arch.AMD64, files{im})
	for name, want := range map[string]bool{"main.point": true, "struct main.point": true, "main.nothing": false, "point": false} {
		if got, ok := set.Lookup(nil, name, 8); ok != want || ok && got.Name() != "main.point" {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}
