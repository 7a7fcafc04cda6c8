package types

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// A Multiple is a part of an offset that the code computed: Value times Times bytes. Name is an expression for Value, or "".
type Multiple struct {
	Times int64
	Name  string
	Value int64
	Known bool // Value is known
}

// An Index is what stands in brackets in an expression, and the number that it was. Known is false for a name of which the number is not known.
type Index struct {
	Text  string
	Value int64
	Known bool
}

// Indexed names size bytes behind the address that an expression holds, like Follow, or in the object that it is, if text is not
// a pointer: those at the constant offset off and the multiples by. A multiple belongs to the array whose elements have so many
// bytes. An index is named by what was multiplied, and by its number otherwise. Where two arrays may be meant, Indexed returns
// false, as it does for what is no array of C.
func (t *Type) Indexed(text string, off int64, size uint64, by []Multiple) (expr string, part *Type, used []Index, ok bool) {
	s := t.Strip()
	x := indexer{size: size}
	if !s.Pointer() && !s.Reference() {
		path, part, ok := x.path(s, off, by, 0)
		return text + path, part, x.used, ok
	}
	to := s.Target()
	n := int64(to.Whole())
	mine, inner := divide(by, n)
	if len(mine) == 0 {
		path, part, ok := x.path(to, off, inner, 0)
		switch {
		case !ok || path == "":
			return "", nil, nil, false
		case s.Reference() || s.Language == dwarf.LangGo || Fortran(s.Language):
			return text + path, part, x.used, true
		case strings.HasPrefix(path, "["):
			return "(*" + text + ")" + path, part, x.used, true
		}
		return text + "->" + path[1:], part, x.used, true
	}
	if s.Reference() || Fortran(s.Language) || to.within(mine) {
		return "", nil, nil, false
	}
	at := floor(off, n)
	index, ok := x.index(mine, n, at)
	if !ok {
		return "", nil, nil, false
	}
	path, part, ok := x.path(to, off-at*n, inner, 0)
	return text + "[" + index + "]" + path, part, x.used, ok
}

// An indexer builds one path.
type indexer struct {
	size uint64
	used []Index
}

// path names the bytes at off and by in an object of type t.
func (x *indexer) path(t *Type, off int64, by []Multiple, depth int) (string, *Type, bool) {
	if len(by) == 0 {
		if off < 0 {
			return "", nil, false
		}
		return t.Part(uint64(off), x.size)
	}
	if depth >= maxPart {
		return "", nil, false
	}
	switch s := t.Defined(); s.Tag {
	case dwarf.TagArrayType:
		return x.elements(s, s.Dims(), off, by, depth)
	case dwarf.TagUnionType: // several arrays may be meant
		return "", nil, false
	default:
		return x.member(s, off, by, depth)
	}
}

// Defined is t stripped, and its definition if the unit only declares it.
func (t *Type) Defined() *Type {
	s := t.Strip()
	if s.Declared {
		if full, ok := s.set.Complete(s); ok {
			return full.Strip()
		}
	}
	return s
}

// elements names bytes of an array, of the dimensions dims that are left.
func (x *indexer) elements(s *Type, dims []Dim, off int64, by []Multiple, depth int) (string, *Type, bool) {
	n := s.stride(dims)
	if n <= 0 {
		return "", nil, false
	}
	mine, inner := divide(by, n)
	at := floor(off, n)
	count, bounded := dims[0].length()
	inside := func(i int64) bool { return i >= 0 && (!bounded || count == 0 || i < int64(count)) }
	text := ""
	switch {
	case len(mine) == 0 && !inside(at):
		return "", nil, false
	case len(mine) == 0:
		text = fmt.Sprint(at)
	default:
		var ok bool
		if text, ok = x.index(mine, n, at); !ok {
			return "", nil, false
		}
		// A constant part that is not the first element may belong to another array nearby.
		if last := x.used[len(x.used)-1]; at != 0 && !(last.Known && inside(last.Value)) {
			return "", nil, false
		}
	}
	var path string
	var part *Type
	var ok bool
	switch {
	case len(dims) > 1 && x.size == uint64(n):
		return "", nil, false // a whole row
	case len(dims) > 1:
		path, part, ok = x.elements(s, dims[1:], off-at*n, inner, depth+1)
	default:
		path, part, ok = x.path(s.Target(), off-at*n, inner, depth+1)
	}
	return "[" + text + "]" + path, part, ok
}

// stride returns how many bytes lie between elements of the first of the dimensions that are left; 0 for arrays that do not begin
// with element 0, and for others of which it is not known.
func (s *Type) stride(dims []Dim) int64 {
	if len(dims) == 0 || s.Vector || s.apart() {
		return 0
	}
	n := s.Target().Whole()
	for i := range dims {
		if lower := &dims[i].lower; dims[i].first != 0 || lower.Present() && (lower.Form.Class() != dwarf.ClassConstant || lower.U != 0) {
			return 0
		}
		if i > 0 {
			count, ok := dims[i].length()
			if !ok {
				return 0
			}
			n *= count
		}
	}
	return int64(n)
}

// member names bytes of the array, or of the structure with an array, that a structure has at off. If there is none, the bytes
// themselves tell which array they are in.
func (x *indexer) member(s *Type, off int64, by []Multiple, depth int) (string, *Type, bool) {
	fields := s.Members().Fields
	before := len(x.used)
	try := func(at, rest int64, by []Multiple) (string, *Type, bool) {
		for i := range fields {
			f := &fields[i]
			if f.Static || f.Expr.Present() || f.Bits != 0 || f.Virtual {
				continue
			}
			last := i == len(fields)-1 // may have elements behind the structure
			if at < int64(f.Off) || !last && at-int64(f.Off) >= int64(s.extent(fields, i)) {
				continue
			}
			path, part, ok := x.path(s.set.Of(f.Type), rest-int64(f.Off), by, depth+1)
			if f.Name != "" {
				path = "." + f.Name + path
			}
			return path, part, ok
		}
		return "", nil, false
	}
	if path, part, ok := try(off, off, by); ok {
		return path, part, true
	}
	x.used = x.used[:before]
	total := off
	for _, m := range by {
		if !m.Known {
			return "", nil, false
		}
		total += m.Times * m.Value
	}
	return try(total, off, by)
}

// within reports whether multiples for elements of type t may as well be for an array in one element: the only one of its size, or
// at its end.
func (t *Type) within(by []Multiple) bool {
	s := t.Defined()
	for range maxPart {
		if s.Tag == dwarf.TagArrayType {
			n := s.stride(s.Dims())
			if slices.ContainsFunc(by, func(m Multiple) bool { return m.Times == n }) {
				return true
			}
			s = s.Target().Defined()
			continue
		}
		fields := s.Members().Fields
		if len(fields) == 0 || s.Tag == dwarf.TagUnionType || fields[len(fields)-1].Static {
			return false
		}
		s = s.set.Of(fields[len(fields)-1].Type).Defined()
	}
	return true
}

// index is the text of an index: at and the sum of multiples, which are of elements of n bytes.
func (x *indexer) index(by []Multiple, n, at int64) (string, bool) {
	i := Index{Value: at, Known: true}
	for _, m := range by {
		i.Value += m.Times / n * m.Value
		i.Known = i.Known && m.Known
	}
	if m := by[0]; len(by) == 1 && m.Name != "" && m.Times == n {
		switch i.Text = m.Name; {
		case at > 0:
			i.Text += fmt.Sprintf(" + %d", at)
		case at < 0:
			i.Text += fmt.Sprintf(" - %d", -at)
		}
	} else if i.Text = fmt.Sprint(i.Value); !i.Known {
		return "", false
	}
	x.used = append(x.used, i)
	return i.Text, true
}

// divide returns which multiples are for elements of n bytes, and which for parts of them.
func divide(by []Multiple, n int64) (mine, inner []Multiple) {
	for _, m := range by {
		if n > 0 && m.Times%n == 0 {
			mine = append(mine, m)
		} else {
			inner = append(inner, m)
		}
	}
	return mine, inner
}

// floor divides, rounding down.
func floor(a, n int64) int64 {
	q := a / n
	if a%n < 0 {
		q--
	}
	return q
}
