package types

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// Layout is how much of a type's layout a definition shows.
type Layout struct {
	Offsets bool // of members and their sizes, in bytes, and the holes between them
	Methods bool // of a class of C++
}

// MaxDefinition is how many lines the definition of a type has at most.
const MaxDefinition = 1 << 12

// maxInner is how deep types without a name are written inside others.
const maxInner = 8

// Definition writes what a type is made of, one line for each member, as the source language does: of a typedef what it is for, of a
// pointer to a class the class and the pointer. Types that are part of it are named, not defined, but those without a name. A type that
// is only declared where t is described is that of another unit, if one has it.
func (t *Type) Definition(l Layout) []string {
	w := definition{layout: l, left: maxLooked}
	at := t
	var outside []string // what stands around the class: pointers, const
	for n := 0; n < MaxChain && at.wraps(); n++ {
		if at.Tag != dwarf.TagTypedef {
			outside = append(outside, around(at))
		}
		at = at.Target()
	}
	if s := at.Strip(); s.Aggregate() || s.Tag == dwarf.TagEnumerationType {
		w.whole(s, "", 0, 0)
		i := len(outside)
		for ; i > 0 && (outside[i-1] == " const" || outside[i-1] == " volatile"); i-- { // of the class itself
			at := len(w.lines[0]) - len(strings.TrimLeft(w.lines[0], " "))
			w.lines[0] = w.lines[0][:at] + outside[i-1][1:] + " " + w.lines[0][at:]
		}
		for ; i > 0; i-- {
			w.lines[len(w.lines)-1] += outside[i-1]
		}
		return w.lines
	}
	return []string{t.expanded()}
}

// wraps reports whether t is another name of a type, or a pointer, a reference or an array.
func (t *Type) wraps() bool {
	switch {
	case t.Language == dwarf.LangGo && t.BareName != "" && !strings.HasPrefix(t.BareName, "*"): // a map or a channel
		return false
	case t.Language == dwarf.LangRust && strings.HasPrefix(t.BareName, "alloc::"): // a Box
		return false
	}
	return t.Pointer() || t.Reference() || t.Transparent() || t.Tag == dwarf.TagArrayType
}

// expanded is the name of a type that has no members, with typedefs replaced by what they are for.
func (t *Type) expanded() string {
	for range MaxChain {
		if t.Tag != dwarf.TagTypedef || t.Language == dwarf.LangGo && t.Strip().Pointer() { // a map or a channel
			break
		}
		t = t.Target()
	}
	if first, last, ok := t.Range(); ok && t.Tag == dwarf.TagSubrangeType && Ada(t.Language) {
		return fmt.Sprintf("%s range %d .. %d", t.Name(), first, last)
	}
	return t.Name()
}

// around is what C writes around a type: " *", "[4]", " const".
func around(t *Type) string {
	switch t.Tag {
	case dwarf.TagPointerType:
		if t.Language == dwarf.LangRust {
			for _, mark := range [...]string{"&mut ", "&", "*const ", "*mut "} {
				if strings.HasPrefix(t.BareName, mark) {
					return " " + strings.TrimSpace(mark)
				}
			}
		}
		return " *"
	case dwarf.TagReferenceType:
		return " &"
	case dwarf.TagRvalueReferenceType:
		return " &&"
	case dwarf.TagArrayType:
		var b strings.Builder
		b.WriteByte(' ')
		for _, d := range t.Dims() {
			b.WriteString(d.String())
		}
		return b.String()
	case dwarf.TagConstType, dwarf.TagImmutableType:
		return " const"
	case dwarf.TagVolatileType:
		return " volatile"
	}
	return ""
}

// A definition is the text of one.
type definition struct {
	layout Layout
	lines  []string
	left   int // types that are still looked at for the sizes of base classes
}

// line adds a line, or "..." in place of the last that there may be.
func (w *definition) line(s string) {
	switch {
	case w.full():
	case len(w.lines) == MaxDefinition-1:
		w.lines = append(w.lines, w.blank()+"...")
	default:
		w.lines = append(w.lines, s)
	}
}

func (w *definition) full() bool { return len(w.lines) >= MaxDefinition }

// columns is how wide what stands before a line of a layout is.
const columns = 26

// blank is what a layout has before a line that is no member.
func (w *definition) blank() string {
	if !w.layout.Offsets {
		return ""
	}
	return strings.Repeat(" ", columns)
}

// column is what a layout has before a member.
func (w *definition) column(off int64, size uint64) string {
	if !w.layout.Offsets {
		return ""
	}
	return fmt.Sprintf("%-*s", columns, fmt.Sprintf("/* %6d | %7d */", off, size))
}

func (w *definition) columnBits(bit, size uint64) string {
	if !w.layout.Offsets {
		return ""
	}
	return fmt.Sprintf("%-*s", columns, fmt.Sprintf("/* %6d:%2d | %4d */", bit/8, bit%8, size))
}

// keyword is the word before a class's name.
func (t *Type) keyword() string {
	switch t.Tag {
	case dwarf.TagUnionType:
		return "union"
	case dwarf.TagClassType:
		return "class"
	case dwarf.TagEnumerationType:
		if t.EnumClass && t.Language != dwarf.LangRust {
			return "enum class"
		}
		return "enum"
	case dwarf.TagInterfaceType:
		return "interface"
	}
	return "struct"
}

// whole writes a class, a union or an enumeration. name is what a member of that type is called.
func (w *definition) whole(t *Type, name string, depth int, base int64) {
	if w.full() { // what is inside would be gone through for nothing
		return
	}
	in := strings.Repeat("    ", depth)
	t = t.Defined()
	m := t.Members()
	head := t.keyword()
	if n := t.FullName(); n != "" {
		head += " " + Shorten(n)
	}
	begin := w.blank()
	if depth > 0 {
		begin = w.column(base, t.ByteSize)
	}
	switch {
	case t.Tag == dwarf.TagEnumerationType:
		if Ada(t.Language) {
			head = "type " + demangle.Ada(t.FullName())
		}
		w.enumeration(t, m, begin+in+head, in, name)
		return
	case Ada(t.Language):
		head = "type " + demangle.Ada(t.FullName()) + " is record"
	case t.Language == dwarf.LangGo:
		head = "type " + Shorten(t.FullName()) + " struct"
		if depth > 0 {
			head = name + " struct"
		}
	case t.Language == dwarf.LangRust && m.Variant != nil:
		head = "enum " + Shorten(t.FullName())
	case strings.HasPrefix(t.BareName, "(") && t.Language == dwarf.LangRust:
		w.line(begin + in + t.BareName)
		if w.layout.Offsets {
			w.members(t, m, depth, base)
		}
		return
	}
	if t.Declared && len(m.Fields) == 0 {
		w.line(begin + in + head + "; (only declared: its definition was not found)")
		return
	}
	open, end := " {", "}"
	if Ada(t.Language) {
		if open, end = "", "end record"; t.BareName == "" {
			head = "record"
		}
	}
	if t.Language == dwarf.LangRust && m.Variant == nil && t.Tag != dwarf.TagUnionType {
		switch {
		case len(m.Fields) == 0:
			w.line(begin + in + head + ";")
			return
		case strings.HasPrefix(m.Fields[0].Name, "__"):
			open, end = " (", ")"
		}
	}
	var bases []string
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Base {
			word := f.access(t)
			if f.Virtual {
				word += " virtual"
			}
			bases = append(bases, strings.TrimSpace(word+" "+t.set.OfField(f).Name()))
		}
	}
	if len(bases) > 0 {
		head += " : " + strings.Join(bases, ", ")
	}
	w.line(begin + in + head + open)
	w.members(t, m, depth, base)
	if name != "" && t.Language != dwarf.LangGo {
		end += " " + name
	}
	if depth > 0 && t.Language != dwarf.LangGo {
		end += ";"
	}
	if w.layout.Offsets {
		w.line(w.blank() + in + "    /* total size: " + fmt.Sprint(t.ByteSize) + " bytes */")
	}
	w.line(w.blank() + in + end)
}

func (w *definition) enumeration(t *Type, m *Members, head, in, name string) {
	if base := t.Target(); t.Elem.Valid() && !Ada(t.Language) && base.Name() != "unsigned int" && base.Name() != "int" {
		head += " : " + base.Name()
	}
	open, end := " {", "}"
	if Ada(t.Language) {
		open, end = " is (", ")"
	}
	w.line(head + open)
	next := uint64(0)
	last := ","
	for i := range m.Enums {
		e := &m.Enums[i]
		text := e.Name
		if Ada(t.Language) {
			text = demangle.Ada(text)
			text = text[strings.LastIndexByte(text, '.')+1:]
		}
		if e.Val != next {
			text += fmt.Sprintf(" = %d", int64(e.Val))
		}
		next = e.Val + 1
		w.line(w.blank() + in + "    " + text + last)
	}
	if name != "" {
		name = " " + name + ";"
	}
	w.line(w.blank() + in + end + name)
}

// access is "public", "private" or "protected", as a member or a base class of C++ has it.
func (f *Field) access(in *Type) string {
	if !IsCXX(in.Language) {
		return ""
	}
	if f.DIE.Valid() {
		switch v := f.DIE.Unit.Value(f.DIE.Off, dwarf.AttrAccessibility); {
		case v.U == 1:
			return "public"
		case v.U == 2:
			return "protected"
		case v.U == 3:
			return "private"
		}
	}
	if in.Tag == dwarf.TagClassType {
		return "private"
	}
	return "public"
}

// members writes the members of a class, and the holes between them.
func (w *definition) members(t *Type, m *Members, depth int, base int64) {
	in := strings.Repeat("    ", depth+1)
	access := ""
	if t.Tag != dwarf.TagClassType {
		access = "public"
	} else {
		access = "private"
	}
	end := uint64(0) // of the members so far, in bits
	order := make([]*Field, len(m.Fields))
	for i := range m.Fields {
		order[i] = &m.Fields[i]
	}
	if t.Language == dwarf.LangRust && w.layout.Offsets { // whose compiler moves them
		slices.SortStableFunc(order, func(a, b *Field) int { return cmp.Compare(a.Off, b.Off) })
	}
	for _, f := range order {
		typ := t.set.OfField(f)
		size := typ.Whole()
		if w.layout.Offsets && !f.Static && !f.Expr.Present() && t.Tag != dwarf.TagUnionType {
			from, bits := f.Off*8, size*8
			if f.Base {
				bits = typ.ownSize(0, &w.left) * 8
			}
			if f.Bits > 0 {
				from, bits = f.BitOff, f.Bits
			}
			if from > end && !f.Base {
				w.hole(in, from-end)
			}
			end = max(end, from+bits)
		}
		if f.Base {
			continue
		}
		if a := f.access(t); a != "" && a != access {
			access = a
			w.line(w.blank() + strings.Repeat("    ", depth) + "  " + a + ":")
		}
		w.member(t, f, typ, size, depth, base)
	}
	if whole := t.ByteSize * 8; end > 0 && whole > end && m.Variant == nil {
		w.hole(in, whole-end)
	}
	if m.Variant != nil {
		w.variants(t, m.Variant, depth, base)
	}
	if w.layout.Methods && IsCXX(t.Language) && t.Ref.DIE.Valid() {
		w.methods(t, in)
	}
}

func (w *definition) hole(in string, bits uint64) {
	if bits%8 != 0 {
		w.line(fmt.Sprintf("/* XXX %d-bit hole */", bits%8))
	}
	if bits >= 8 {
		w.line(fmt.Sprintf("/* XXX %d-byte hole */", bits/8))
	}
}

// member writes one member.
func (w *definition) member(t *Type, f *Field, typ *Type, size uint64, depth int, base int64) {
	in := strings.Repeat("    ", depth+1)
	off := base + int64(f.Off)
	inner := typ.Strip()
	nameless := (inner.Aggregate() || inner.Tag == dwarf.TagEnumerationType) && inner.BareName == "" && typ.BareName == ""
	if own := IsC(t.Language) || IsCXX(t.Language); (nameless && t.Language != dwarf.LangRust || own && w.layout.Offsets && inner.Aggregate() && typ.Tag != dwarf.TagTypedef && !f.Static && !strings.HasPrefix(inner.FullName(), "std::")) && depth < maxInner {
		w.whole(inner, f.Name, depth+1, off)
		return
	}
	before, after := typ.declarator(0)
	before = Shorten(before)
	name := f.Name
	if t.compiler(f) {
		return
	}
	var text string
	switch {
	case Ada(t.Language):
		text = name + ": " + typ.Name() + ";"
	case t.Language == dwarf.LangGo:
		text = name + " " + typ.Name()
	case t.Language == dwarf.LangRust:
		if text = typ.Name() + ","; !strings.HasPrefix(name, "__") {
			text = name + ": " + text
		}
	case strings.HasSuffix(before, "*") || strings.HasSuffix(before, "&") || strings.HasSuffix(before, " "):
		text = before + name + after + ";"
	default:
		text = before + " " + name + after + ";"
	}
	column := w.column(off, size)
	switch {
	case f.Static:
		text, column = "static "+text, w.blank()
	case f.Bits > 0:
		text = strings.TrimSuffix(text, ";") + fmt.Sprintf(" : %d;", f.Bits)
		column = w.columnBits(uint64(base)*8+f.BitOff, size)
	}
	w.line(column + in + text)
}

// compiler reports whether the compiler added a member: the pointer to the table of virtual functions.
func (t *Type) compiler(f *Field) bool {
	return IsCXX(t.Language) && (strings.HasPrefix(f.Name, "_vptr$") || strings.HasPrefix(f.Name, "_vptr."))
}

// variants writes the alternatives of an enum of Rust.
func (w *definition) variants(t *Type, p *VariantPart, depth int, base int64) {
	in := strings.Repeat("    ", depth+1)
	for i := range p.Variants {
		for j := range p.Variants[i].Fields {
			f := &p.Variants[i].Fields[j]
			typ := t.MemberType(f).Strip()
			var parts []string
			named := false
			for k := range typ.Members().Fields {
				part := &typ.Members().Fields[k]
				s := typ.MemberType(part).Name()
				if !strings.HasPrefix(part.Name, "__") {
					s, named = part.Name+": "+s, true
				}
				parts = append(parts, s)
			}
			text := f.Name
			switch {
			case named:
				text += " {" + strings.Join(parts, ", ") + "}"
			case len(parts) > 0:
				text += "(" + strings.Join(parts, ", ") + ")"
			}
			w.line(w.column(base+int64(f.Off), typ.ByteSize) + in + text + ",")
		}
	}
}
