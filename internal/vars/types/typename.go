package types

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// Name returns the type as the source would write it: "struct tile *", "char [12]",
// "int (*)(int)", "std::vector<int>".
func (t *Type) Name() string {
	t.nameOnce.Do(func() {
		before, after := t.declarator(0)
		t.shown = Shorten(before + after)
	})
	return t.shown
}

// Shorten writes names of the C++ library as programmers do: without inline namespaces, and
// with the usual names of strings.
func Shorten(name string) string {
	for _, inline := range [...]string{"std::__cxx11::", "std::__1::"} {
		name = strings.ReplaceAll(name, inline, "std::")
	}
	for _, end := range [...]string{" >", ">"} {
		name = strings.ReplaceAll(name, "std::basic_string<char, std::char_traits<char>, std::allocator<char>"+end, "std::string")
		name = strings.ReplaceAll(name, "std::basic_string_view<char, std::char_traits<char>"+end, "std::string_view")
	}
	return name
}

// Limits on how deep a type's name nests, at which depth parameters of functions are left out,
// and on the number of those that are not.
const (
	MaxNesting     = 32
	maxNamedParams = 3
	maxParams      = 32
)

// declarator returns what C writes before and after a declared name.
func (t *Type) declarator(depth int) (before, after string) {
	if depth > MaxNesting {
		return "...", ""
	}
	switch t.Tag {
	case 0:
		return "void", ""
	case dwarf.TagConstType, dwarf.TagImmutableType:
		return t.qualified("const", depth)
	case dwarf.TagVolatileType:
		return t.qualified("volatile", depth)
	case dwarf.TagRestrictType:
		return t.qualified("restrict", depth)
	case dwarf.TagAtomicType:
		return t.qualified("_Atomic", depth)
	case dwarf.TagPointerType:
		if t.BareName != "" && !t.Target().void() && t.Language == dwarf.LangGo {
			return t.BareName, ""
		}
		if t.Language == dwarf.LangRust && t.BareName != "" {
			return t.BareName, ""
		}
		if t.Language == dwarf.LangRust && !t.Target().void() { // of a slice
			before, after = t.Target().declarator(depth + 1)
			return "*mut " + before + after, ""
		}
		return t.pointed("*", depth)
	case dwarf.TagReferenceType:
		return t.pointed("&", depth)
	case dwarf.TagRvalueReferenceType:
		return t.pointed("&&", depth)
	case dwarf.TagPtrToMemberType:
		class := "?"
		if c := t.set.Of(t.Class).Strip(); c.Aggregate() {
			class = c.plainName()
		}
		return t.pointed(class+"::*", depth)
	case dwarf.TagArrayType:
		if t.BareName != "" {
			return t.plainName(), ""
		}
		if t.Language == dwarf.LangRust && len(t.Dims()) == 1 {
			n := strings.Trim(t.Dims()[0].String(), "[]")
			before, after = t.Target().declarator(depth + 1)
			return "[" + before + after + "; " + n + "]", ""
		}
		before, after = t.Target().declarator(depth + 1)
		var b strings.Builder
		for _, d := range t.Dims() {
			b.WriteString(d.String())
		}
		if t.Vector {
			return before, after + " __attribute__ ((vector_size(" + strings.Trim(b.String(), "[]") + ")))"
		}
		if !strings.HasSuffix(before, "(*") && !strings.HasSuffix(before, " ") {
			before += " "
		}
		return before, b.String() + after
	case dwarf.TagStringType:
		if t.BareName == "" {
			if t.Length.Present() || t.ByteSize == 0 {
				return "character(len=*)", ""
			}
			return fmt.Sprintf("character(len=%d)", t.ByteSize), ""
		}
	case dwarf.TagSubroutineType:
		if t.BareName != "" && (t.Language == dwarf.LangGo || t.Language == dwarf.LangRust || t.named) {
			return t.BareName, ""
		}
		before, after = t.Target().declarator(depth + 1)
		if !strings.HasSuffix(before, "(*") {
			before += " "
		}
		return before, t.parameters(depth) + after
	}
	return t.plainName(), ""
}

// pointed returns the declarator of a pointer or a reference, written with mark.
func (t *Type) pointed(mark string, depth int) (before, after string) {
	elem := t.Target()
	before, after = elem.declarator(depth + 1)
	for n := 0; n < MaxNesting && elem.qualifier(); n++ { // of arrays that are constant
		elem = elem.Target()
	}
	switch {
	case after != "" && elem.Tag == dwarf.TagArrayType:
		return strings.TrimSuffix(before, " ") + " (" + mark, ")" + after
	case after != "" && elem.Tag == dwarf.TagSubroutineType:
		return before + "(" + mark, ")" + after
	case strings.HasSuffix(before, "*") || strings.HasSuffix(before, "&"):
		return before + mark, after
	}
	return before + " " + mark, after
}

func (t *Type) qualified(word string, depth int) (before, after string) {
	elem := t.Target()
	before, after = elem.declarator(depth + 1)
	for range MaxNesting { // const volatile
		if !elem.qualifier() {
			break
		}
		elem = elem.Target()
	}
	if elem.Tag == dwarf.TagArrayType { // of its elements
		in := elem.Target()
		for n := 0; n < MaxNesting && in.Tag == dwarf.TagArrayType; n++ {
			in = in.Target()
		}
		switch {
		case in.Tag == t.Tag:
			return before, after
		case strings.HasSuffix(before, "(*"): // of pointers to arrays or functions
		case in.Pointer():
			return strings.TrimSuffix(before, " ") + " " + word + " ", after
		}
	}
	if elem.Pointer() || elem.Reference() || strings.HasSuffix(before, "*") {
		return before + " " + word, after
	}
	if rest, ok := strings.CutPrefix(before, "const "); ok && word == "volatile" {
		return "const volatile " + rest, after
	}
	return word + " " + before, after
}

// qualifier reports whether t is a qualified type.
func (t *Type) qualifier() bool {
	switch t.Tag {
	case dwarf.TagConstType, dwarf.TagImmutableType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		return true
	}
	return false
}

func (t *Type) parameters(depth int) string {
	if depth > maxNamedParams {
		return "(...)"
	}
	var b strings.Builder
	b.WriteByte('(')
	m := t.Members()
	shown := 0
	show := func(p *Type) {
		if shown > 0 {
			b.WriteString(", ")
		}
		shown++
		before, after := p.declarator(depth + 1)
		b.WriteString(before + after)
	}
	for _, p := range m.params[:min(len(m.params), maxParams)] {
		show(t.set.Of(p))
	}
	for _, p := range m.made[:min(len(m.made), maxParams)] {
		show(p)
	}
	switch {
	case shown == 0:
		b.WriteString("void")
	case m.variadic || shown < len(m.params)+len(m.made):
		b.WriteString(", ...")
	}
	b.WriteByte(')')
	return b.String()
}

// String returns the dimension as C writes it: "[12]".
func (d *Dim) String() string {
	switch n, ok := d.length(); {
	case ok:
		return fmt.Sprintf("[%d]", n)
	case d.upper.Present() || d.count.Present():
		return "[variable length]"
	}
	return "[]"
}

// FullName returns DW_AT_name with the namespaces and classes around the type.
func (t *Type) FullName() string {
	if t.Ref.DB != nil {
		return t.full
	}
	if t.BareName == "" || IsC(t.Language) || !t.scoped() {
		return t.BareName
	}
	t.fullOnce.Do(func() {
		if t.Language == dwarf.LangSwift && demangle.Mangled(t.BareName) {
			t.full = demangle.Name(t.BareName)
			return
		}
		t.full = t.Ref.FuncInfo().Name
	})
	return t.full
}

// plainName returns the name of a type, in C with its keyword: "struct tile".
func (t *Type) plainName() string {
	name := t.FullName()
	word := keyword(t.Tag)
	switch {
	case name == "" && word != "":
		return word + "{...}"
	case name == "":
		return "?"
	case IsC(t.Language):
		return word + name
	case Ada(t.Language):
		return demangle.Ada(name)
	}
	return name
}

// scoped reports whether the type may be declared in a namespace or a class.
func (t *Type) scoped() bool {
	switch t.Tag {
	case dwarf.TagBaseType, dwarf.TagUnspecifiedType:
		return false
	}
	return t.Language != dwarf.LangGo
}

// IsCXX reports whether a language is C++.
func IsCXX(l dwarf.Language) bool {
	switch l {
	case dwarf.LangCPlusPlus, dwarf.LangCPlus03, dwarf.LangCPlus11, dwarf.LangCPlus14, dwarf.LangCPlus17, dwarf.LangCPlus20:
		return true
	}
	return false
}

// IsC reports whether a language has tags apart from other names, as C has.
func IsC(l dwarf.Language) bool {
	switch l {
	case dwarf.LangC, dwarf.LangC89, dwarf.LangC99, dwarf.LangC11, dwarf.LangC17, dwarf.LangC23, dwarf.LangAssembly, dwarf.LangMipsAsm:
		return true
	}
	return false
}
