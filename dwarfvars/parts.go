package dwarfvars

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// maxPart bounds how deep a part of a type lies.
const maxPart = 16

// Part finds what lies off bytes into a value of type t and takes size bytes: its path
// in the source ("", ".next", "[3].name") and its type; with a size of 0 the outermost
// that begins there. It answers false where nothing of that size is. A base class and a member without a name add nothing to a path.
func (t *Type) Part(off, size uint64) (path string, part *Type, ok bool) {
	var b strings.Builder
	for range maxPart {
		s := t.strip()
		if s.decl {
			if full, ok := s.set.complete(s); ok {
				s = full.strip()
			}
		}
		switch {
		case size == 0 && b.Len() > 0 && off == 0:
			return b.String(), t, true
		case s.aggregate():
			f := s.fieldAt(off, size)
			if f == nil {
				return b.String(), t, off == 0 && size == s.size && size > 0
			}
			if !f.base && f.name != "" {
				b.WriteString("." + f.name)
			}
			t, off = s.set.typeOf(f.typ), off-f.off
		case s.tag == dwarf.TagArrayType && !s.vector:
			if len(s.dims()) > 1 {
				return "", nil, false
			}
			elem := s.target()
			n := elem.Size()
			if n == 0 {
				return "", nil, false
			}
			fmt.Fprintf(&b, "[%d]", off/n)
			t, off = elem, off%n
		default:
			return b.String(), t, off == 0 && (size == 0 || size == t.Size())
		}
	}
	return "", nil, false
}

// fieldAt is the member of t (stripped) that holds the bytes; nil where none does, or
// where several overlap and none is of that size.
func (t *Type) fieldAt(off, size uint64) *field {
	var best *field
	fields := t.all().fields
	for i := range fields {
		f := &fields[i]
		if f.static || f.expr.Present() || f.table != nil || f.bits != 0 || f.virtual {
			continue
		}
		n := t.set.typeOf(f.typ).whole()
		switch {
		case off < f.off || off-f.off >= n || size > n:
		case best == nil, f.off == off && n == size && size > 0 && t.set.typeOf(best.typ).whole() != size:
			best = f
		}
	}
	return best
}

// Follow is what the expression text, whose value is of type t, names size bytes off
// behind the address that it holds: "p->next", "*p", "p[3].x". It answers false where
// t is no pointer, or where nothing of that size is there.
func (t *Type) Follow(text string, off int64, size uint64) (expr string, part *Type, ok bool) {
	s := t.strip()
	if !s.pointer() && !s.reference() {
		return "", nil, false
	}
	to := s.target()
	whole := to.whole()
	if whole == 0 || off < 0 {
		return "", nil, false
	}
	at := uint64(off)
	index := at / whole
	if size == 0 && index > 0 && at%whole == 0 && !s.reference() {
		return fmt.Sprintf("%s[%d]", text, index), to, true
	}
	path, part, ok := to.Part(at%whole, size)
	if !ok {
		return "", nil, false
	}
	dotted := s.reference() || s.lang == dwarf.LangGo
	switch {
	case index > 0 && (s.reference() || s.lang == dwarf.LangGo || s.lang == dwarf.LangRust):
		return "", nil, false
	case index > 0:
		return fmt.Sprintf("%s[%d]%s", text, index, path), part, true
	case path == "" && s.reference():
		return text, part, true
	case path == "":
		return "*" + text, part, true
	case dotted:
		return text + path, part, true
	case strings.HasPrefix(path, "[") || s.lang == dwarf.LangRust:
		return "(*" + text + ")" + path, part, true
	}
	return text + "->" + path[1:], part, true
}

// Element is what text[index] is, plus off bytes: the element of a pointer or an array
// whose elements take scale bytes.
func (t *Type) Element(text, index string, scale uint64, off int64, size uint64) (expr string, part *Type, ok bool) {
	s := t.strip()
	if !s.pointer() && s.tag != dwarf.TagArrayType || off < 0 {
		return "", nil, false
	}
	to := s.target()
	if n := to.whole(); n == 0 || n != scale || uint64(off) >= n {
		return "", nil, false
	}
	path, part, ok := to.Part(uint64(off), size)
	return text + "[" + index + "]" + path, part, ok
}

// IsPointer reports whether values of the type are addresses of others.
func (t *Type) IsPointer() bool {
	s := t.strip()
	return s.pointer() || s.reference()
}
