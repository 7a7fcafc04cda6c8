package types

import (
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// Types that no debugging information has: those of registers, of a signal's description, and of functions.

// A MadeField is a member of a type that Made makes.
type MadeField struct {
	Name string
	Type *Type
	Off  uint64 // bytes
}

// Made makes a struct or a union of size bytes.
func (set *Set) Made(tag dwarf.Tag, name string, size uint64, fields []MadeField) *Type {
	t := &Type{set: set, Tag: tag, BareName: name, ByteSize: size, Language: dwarf.LangC}
	m := Members{Fields: make([]Field, len(fields))}
	for i, f := range fields {
		m.Fields[i] = Field{Name: f.Name, Off: f.Off, typ: new(atomic.Pointer[Type])}
		m.Fields[i].typ.Store(f.Type)
	}
	t.membersOnce.Do(func() { t.m = m })
	return t
}

// ArrayOf makes the type of an array of n elements.
func (set *Set) ArrayOf(elem *Type, n uint64) *Type {
	t := &Type{set: set, Tag: dwarf.TagArrayType, Elem: elem.Ref, Language: dwarf.LangC}
	t.target.Store(elem)
	t.membersOnce.Do(func() { t.m = Members{dims: []Dim{{count: constantOf(n)}}} })
	return t
}

// Flags makes the type of a register of flags.
func (set *Set) Flags(name string, size uint64, bits []Enumerator) *Type {
	t := &Type{set: set, Tag: dwarf.TagEnumerationType, BareName: name, ByteSize: size, Language: dwarf.LangC, Register: true}
	t.membersOnce.Do(func() { t.m = Members{Enums: bits} })
	return t
}

// Number makes a type for numbers of size bytes.
func (set *Set) Number(name string, size uint64, enc Encoding) *Type {
	return set.number(name, size, enc)
}

// Float returns a type for floating-point numbers of 4 or 8 bytes.
func (set *Set) Float(size uint64) *Type {
	if size == 4 {
		return set.number("float", 4, EncFloat)
	}
	return set.number("double", 8, EncFloat)
}

// Function returns the type of a function, whose parameters are those of entry d.
func (set *Set) Function(d dwarf.DIE, result Ref) *Type {
	t := &Type{set: set, Ref: Ref{DIE: d}, Tag: dwarf.TagSubroutineType, Elem: result, Language: dwarf.LangC}
	t.membersOnce.Do(func() {
		t.m.read(t)
		t.m.Fields, t.m.Enums, t.m.Variant = nil, nil, nil
	})
	if d.Unit.Language == dwarf.LangRust {
		t.Language, t.BareName = dwarf.LangRust, t.inRust()
	}
	return t
}

// inRust returns the type of a function as Rust writes it: fn (i32) -> i32.
func (t *Type) inRust() string {
	params := t.parameters(0)
	if params == "(void)" {
		params = "()"
	}
	if result := t.Target(); !result.void() && result.Name() != "()" {
		return "fn " + params + " -> " + result.Name()
	}
	return "fn " + params
}
