package types

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
		s := t.Strip()
		if s.Declared {
			if full, ok := s.set.Complete(s); ok {
				s = full.Strip()
			}
		}
		switch {
		case size == 0 && b.Len() > 0 && off == 0:
			return b.String(), t, true
		case s.Aggregate():
			f := s.fieldAt(off, size)
			if f == nil {
				return b.String(), t, off == 0 && size == s.ByteSize && size > 0
			}
			if !f.Base && f.Name != "" {
				b.WriteString("." + f.Name)
			}
			t, off = s.set.Of(f.Type), off-f.Off
		case s.Tag == dwarf.TagArrayType && !s.Vector:
			if len(s.Dims()) > 1 {
				return "", nil, false
			}
			elem := s.Target()
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
func (t *Type) fieldAt(off, size uint64) *Field {
	var best *Field
	fields := t.Members().Fields
	for i := range fields {
		f := &fields[i]
		if f.Static || f.Expr.Present() || f.Table != nil || f.Bits != 0 || f.Virtual {
			continue
		}
		n := t.set.Of(f.Type).Whole()
		switch {
		case off < f.Off || off-f.Off >= n || size > n:
		case best == nil, f.Off == off && n == size && size > 0 && t.set.Of(best.Type).Whole() != size:
			best = f
		}
	}
	return best
}

// Follow is what the expression text, whose value is of type t, names size bytes off
// behind the address that it holds: "p->next", "*p", "p[3].x". It answers false where
// t is no pointer, or where nothing of that size is there.
func (t *Type) Follow(text string, off int64, size uint64) (expr string, part *Type, ok bool) {
	s := t.Strip()
	if !s.Pointer() && !s.Reference() {
		return "", nil, false
	}
	to := s.Target()
	whole := to.Whole()
	if whole == 0 || off < 0 {
		return "", nil, false
	}
	at := uint64(off)
	index := at / whole
	if size == 0 && index > 0 && at%whole == 0 && !s.Reference() {
		return fmt.Sprintf("%s[%d]", text, index), to, true
	}
	path, part, ok := to.Part(at%whole, size)
	if !ok {
		return "", nil, false
	}
	dotted := s.Reference() || s.Language == dwarf.LangGo
	switch {
	case index > 0 && (s.Reference() || s.Language == dwarf.LangGo || s.Language == dwarf.LangRust):
		return "", nil, false
	case index > 0:
		return fmt.Sprintf("%s[%d]%s", text, index, path), part, true
	case path == "" && s.Reference():
		return text, part, true
	case path == "":
		return "*" + text, part, true
	case dotted:
		return text + path, part, true
	case strings.HasPrefix(path, "[") || s.Language == dwarf.LangRust:
		return "(*" + text + ")" + path, part, true
	}
	return text + "->" + path[1:], part, true
}

// Element is what text[index] is, plus off bytes: the element of a pointer or an array
// whose elements take scale bytes.
func (t *Type) Element(text, index string, scale uint64, off int64, size uint64) (expr string, part *Type, ok bool) {
	s := t.Strip()
	if !s.Pointer() && s.Tag != dwarf.TagArrayType || off < 0 {
		return "", nil, false
	}
	to := s.Target()
	if n := to.Whole(); n == 0 || n != scale || uint64(off) >= n {
		return "", nil, false
	}
	path, part, ok := to.Part(uint64(off), size)
	return text + "[" + index + "]" + path, part, ok
}

// IsPointer reports whether values of the type are addresses of others.
func (t *Type) IsPointer() bool {
	s := t.Strip()
	return s.Pointer() || s.Reference()
}
