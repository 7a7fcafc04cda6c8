package types

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// Types that somebody names, and types that no debugging information has.

// maxLookup is how many bytes of debugging information are searched for a type that somebody names.
const maxLookup = 256 << 20

// Lookup returns the type with a name, as the language of unit u writes it, "struct tile", "ns::box<int>",
// "unsigned long"; void and false if there is none. It looks in u, then in the rest of u's file, then in the
// other libraries of the process. u may be nil. long is the size of C's long in bytes.
func (set *Set) Lookup(u *dwarf.Unit, name string, long uint64) (*Type, bool) {
	name = strings.TrimPrefix(name, "::")
	basic := set.basic(name, long)
	if basic != nil && (set.cInteger(name, long) != nil || name == "void") {
		return basic, true
	}
	if u != nil {
		if d, ok := named(u, name); ok { // also a u8 or an int32 of the program's own
			return set.At(d), true
		}
	}
	if basic != nil {
		return basic, true
	}
	left := set.lookup()
	var found dwarf.DIE
	q := &dwarf.NameQuery{Name: lastComponent(untagged(name)), Fits: nameableTag}
	in := func(d *dwarf.Data) bool {
		search := d.Listing(q).Search(func(v *dwarf.Unit) (ok, end bool) {
			found, ok = named(v, name)
			return ok, ok
		}, nil)
		d.Units(func(v *dwarf.Unit) bool {
			if v.End-v.Off > left {
				return false
			}
			left -= v.End - v.Off
			return !search.Try(v)
		})
		return found.Valid()
	}
	if u != nil && in(u.Data) {
		return set.At(found), true
	}
	for _, lib := range set.libs.All() {
		im := set.libs.File(lib)
		if !im.HasDWARF() { // to ask for it would fetch it
			continue
		}
		if d := im.DWARF(); (u == nil || d != u.Data) && in(d) {
			return set.At(found), true
		}
	}
	return nil, false
}

// lookup is how much is searched.
func (set *Set) lookup() uint64 {
	if set.shortLookup > 0 {
		return set.shortLookup
	}
	return maxLookup
}

// InDatabase returns the type with a name in a PDB: a class, a union or an enumeration.
func (set *Set) InDatabase(db *Database, name string) (*Type, bool) {
	name = strings.TrimPrefix(name, "::")
	for _, word := range [...]string{"struct ", "union ", "class ", "enum "} {
		name = strings.TrimPrefix(name, word)
	}
	id, ok := db.File.TypeNamed(name)
	if !ok {
		return nil, false
	}
	return set.Of(db.Type(id)), true
}

// untagged returns the name of a type without C's keyword before it.
func untagged(name string) string {
	for _, word := range [...]string{"struct ", "union ", "class ", "enum "} {
		if rest, ok := strings.CutPrefix(name, word); ok {
			return strings.TrimPrefix(rest, "::")
		}
	}
	return name
}

// nameableTag reports whether named finds entries with a tag.
func nameableTag(tag dwarf.Tag) bool {
	return structural(tag) || tag == dwarf.TagTypedef || tag == dwarf.TagBaseType || tag == dwarf.TagSubrangeType
}

// named finds a type of a unit by its name. "struct tile" and "tile" are both the name of C's struct tile.
func named(u *dwarf.Unit, name string) (dwarf.DIE, bool) {
	bare := untagged(name)
	switch {
	case u.Language == dwarf.LangGo:
		return searchGo(u, bare)
	case bare != name:
		return searchScopes(u, bare, "", structural)
	}
	return searchScopes(u, bare, "", nameableTag)
}

// NamedIn is Lookup in one unit.
func NamedIn(u *dwarf.Unit, name string) (dwarf.DIE, bool) {
	return named(u, strings.TrimPrefix(name, "::"))
}

// basic returns a basic type of C, Go or Rust by its name; nil if it is none.
func (set *Set) basic(name string, long uint64) *Type {
	word := uint64(set.arch.WordSize)
	switch name {
	case "void":
		return set.Of(Ref{})
	case "bool", "_Bool":
		return set.number("bool", 1, EncBoolean)
	case "u8", "uint8":
		return set.number(name, 1, EncUnsigned)
	case "i8", "int8":
		return set.number(name, 1, EncSigned)
	case "u16", "uint16":
		return set.number(name, 2, EncUnsigned)
	case "i16", "int16":
		return set.number(name, 2, EncSigned)
	case "u32", "uint32":
		return set.number(name, 4, EncUnsigned)
	case "i32", "int32":
		return set.number(name, 4, EncSigned)
	case "u64", "uint64":
		return set.number(name, 8, EncUnsigned)
	case "i64", "int64":
		return set.number(name, 8, EncSigned)
	case "usize", "uint", "uintptr":
		return set.number(name, word, EncUnsigned)
	case "isize":
		return set.number(name, word, EncSigned)
	case "f32", "float", "float32":
		return set.number(name, 4, EncFloat)
	case "f64", "double", "float64":
		return set.number(name, 8, EncFloat)
	}
	return set.cInteger(name, long)
}

// cInteger returns an integer type of C, whatever the order of its words.
func (set *Set) cInteger(name string, size uint64) *Type {
	var signed, unsigned, char, short, int_, long int
	for _, w := range strings.Fields(name) {
		switch w {
		case "signed":
			signed++
		case "unsigned":
			unsigned++
		case "char":
			char++
		case "short":
			short++
		case "int":
			int_++
		case "long":
			long++
		default:
			return nil
		}
	}
	if signed+unsigned > 1 || char > 1 || short > 1 || int_ > 1 || long > 2 || char > 0 && short+int_+long > 0 || short > 0 && long > 0 {
		return nil
	}
	enc, prefix := EncSigned, ""
	if unsigned > 0 {
		enc, prefix = EncUnsigned, "unsigned "
	}
	switch {
	case char > 0:
		if enc = EncSignedChar; unsigned > 0 {
			enc = EncUnsignedChar
		} else if signed > 0 {
			prefix = "signed "
		}
		return set.number(prefix+"char", 1, enc)
	case short > 0:
		return set.number(prefix+"short", 2, enc)
	case long == 1:
		return set.number(prefix+"long", size, enc)
	case long == 2:
		return set.number(prefix+"long long", 8, enc)
	case signed+unsigned+int_ > 0:
		return set.number(prefix+"int", 4, enc)
	}
	return nil
}

// number makes a base type.
func (set *Set) number(name string, size uint64, enc Encoding) *Type {
	return &Type{set: set, Tag: dwarf.TagBaseType, BareName: name, ByteSize: size, Encoding: enc, Language: dwarf.LangC}
}

// Integer returns a type for integers of a size in bytes.
func (set *Set) Integer(size uint64, signed bool) *Type {
	switch enc := EncUnsigned; {
	case size == 4 && signed:
		return set.number("int", 4, EncSigned)
	case size == 4:
		return set.number("unsigned int", 4, enc)
	case signed:
		return set.number("long", 8, EncSigned)
	default:
		return set.number("unsigned long", 8, enc)
	}
}

// Bool returns a type for what is true or false.
func (set *Set) Bool() *Type { return set.number("bool", 1, EncBoolean) }

// PointerTo returns the type of pointers to t.
func (set *Set) PointerTo(t *Type) *Type {
	p := &Type{set: set, Tag: dwarf.TagPointerType, ByteSize: uint64(set.arch.WordSize), Elem: t.Ref, Language: t.Language}
	if t.Language == dwarf.LangGo {
		p.BareName = "*" + t.Name()
	}
	p.target.Store(t)
	return p
}

// Word returns the size of an address in bytes.
func (set *Set) Word() uint64 { return uint64(set.arch.WordSize) }

// Row returns the type of a row of an array t of several dimensions.
func (set *Set) Row(t *Type) (*Type, error) {
	dims := t.Dims()
	if len(dims) < 2 {
		return t.Target(), nil
	}
	row := &Type{set: set, Tag: dwarf.TagArrayType, Elem: t.Elem, Language: t.Language, Ref: t.Ref, Stride: t.Stride, bitStride: t.bitStride, Row: true}
	row.target.Store(t.Target())
	row.membersOnce.Do(func() { row.m = Members{dims: dims[1:]} })
	return row, nil
}
