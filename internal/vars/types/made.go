package types

import (
	"fmt"
	"strings"
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

// FunctionOf makes the type of a function of C.
func (set *Set) FunctionOf(result *Type, params []*Type, variadic bool) *Type {
	t := &Type{set: set, Tag: dwarf.TagSubroutineType, Elem: result.Ref, Language: dwarf.LangC}
	t.target.Store(result)
	t.membersOnce.Do(func() { t.m = Members{made: params, variadic: variadic} })
	return t
}

// StringOf makes the type of a string of Fortran of size bytes.
func (set *Set) StringOf(size uint64) *Type {
	return &Type{set: set, Tag: dwarf.TagStringType, ByteSize: size, BareName: fmt.Sprintf("character(len=%d)", size), Language: dwarf.LangC}
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
	if d.Unit.Language == dwarf.LangGo {
		t.BareName, t.named = t.inGo(d), true // in Go's language the type is that of a pointer to a closure
	}
	return t
}

// inGo returns the type of a function as Go writes it: func(int, string) (int, error). Results are parameters with a mark.
func (t *Type) inGo(d dwarf.DIE) string {
	var in, out []string
	var e dwarf.Entry
	var v dwarf.Value
	c := d.Unit.Cursor(d.Off)
	c.Next(&e)
	for n := 0; n < MaxMembers && c.Level() > 0 && c.Next(&e); n++ {
		if e.Tag == dwarf.TagFormalParameter {
			var ref Ref
			result := false
			for c.Attr(&v) {
				switch v.Attr {
				case dwarf.AttrType:
					ref = RefTo(d.Unit, &v)
				case dwarf.AttrVariableParameter:
					result = v.Flag()
				}
			}
			if name := t.set.Of(ref).Name(); result {
				out = append(out, name)
			} else {
				in = append(in, name)
			}
		}
		c.SkipChildren()
	}
	if len(in) > maxParams {
		in = append(in[:maxParams], "...")
	}
	text := "func(" + strings.Join(in, ", ") + ")"
	switch len(out) {
	case 0:
	case 1:
		text += " " + out[0]
	default:
		text += " (" + strings.Join(out, ", ") + ")"
	}
	return text
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

// MemberPointer makes the type of a pointer to a member of a class, of size bytes.
func (set *Set) MemberPointer(class, to *Type, size uint64) *Type {
	t := &Type{set: set, Tag: dwarf.TagPtrToMemberType, ByteSize: size, Class: class.Ref, Elem: to.Ref, Language: class.Language}
	t.target.Store(to)
	return t
}
