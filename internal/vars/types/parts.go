package types

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// maxPart is how deep parts of a type are looked for.
const maxPart = 16

// Part finds the member or element that begins off bytes into a value of type t and has size
// bytes: its path in the source ("", ".next", "[3].name") and its type. A size of 0 means the
// outermost that begins there. Base classes and members without a name add nothing to the path.
// Part returns false if there is none of that size.
func (t *Type) Part(off, size uint64) (path string, part *Type, ok bool) {
	var b strings.Builder
	for range maxPart {
		if size == 0 && b.Len() > 0 && off == 0 {
			return b.String(), t, true
		}
		switch s := t.Defined(); {
		case s.Aggregate():
			f := s.fieldAt(off, size)
			if f == nil {
				return b.String(), t, off == 0 && size == s.ByteSize && size > 0
			}
			if f.Name != "" && (b.Len() == 0 || !s.oneInGo()) {
				b.WriteString(s.dot() + f.Name)
			}
			t, off = s.set.Of(f.Type), off-f.Off
		case s.Tag == dwarf.TagArrayType && !s.Vector:
			if s.apart() {
				return b.String(), t, s.described() && off == 0 && size == uint64(s.set.arch.WordSize)
			}
			elem := s.Target()
			n := elem.Whole()
			if n == 0 {
				return "", nil, false
			}
			rest, ok := s.rows(off, n, &b)
			if !ok {
				return "", nil, false
			}
			off = rest
			index := int64(off / n)
			if s.Language == dwarf.LangPascal83 || Fortran(s.Language) { // elements have the numbers that the program gives them
				lower, _, ok := s.Dims()[0].Constant()
				if !ok {
					return "", nil, false
				}
				index += lower
			}
			b.WriteString(s.subscript(strconv.FormatInt(index, 10)))
			t, off = elem, off%n
		default:
			return b.String(), t, off == 0 && (size == 0 || size == t.Size())
		}
	}
	return "", nil, false
}

// rows writes the indexes of all dimensions but the last of an array, of elements of n bytes, to b, and returns how far into the row they lead. It returns
// false where the source writes several indexes in another way, or there is no such row.
func (t *Type) rows(off, n uint64, b *strings.Builder) (rest uint64, ok bool) {
	dims := t.Dims()
	if len(dims) == 1 {
		return off, true
	}
	if !IsC(t.Language) && !IsCXX(t.Language) {
		return 0, false
	}
	row := n
	for i := range dims {
		_, count, ok := dims[i].Constant()
		if !ok || count == 0 || count > t.ByteSize && t.ByteSize > 0 || i > 0 && row*count/count != row {
			return 0, false
		}
		if i > 0 {
			row *= count
		}
	}
	for i := range dims[:len(dims)-1] {
		_, count, _ := dims[i].Constant()
		if off/row >= count {
			return 0, false
		}
		fmt.Fprintf(b, "[%d]", off/row)
		off %= row
		_, next, _ := dims[i+1].Constant()
		row /= next
	}
	return off, true
}

// Kinds of Go's types (DW_AT_go_kind, as in package reflect).
const (
	GoChan      = 18
	GoFunc      = 19
	GoInterface = 20
	GoMap       = 21
	GoPointer   = 22
	GoSlice     = 23
	GoString    = 24
	GoUnsafe    = 26
)

// oneInGo reports whether t is a structure of which Go's source names no members: a string, a slice, an interface.
func (t *Type) oneInGo() bool {
	switch t.GoKind {
	case GoInterface, GoSlice, GoString:
		return true
	}
	switch t.BareName {
	case "string", "runtime.iface", "runtime.eface":
		return t.Language == dwarf.LangGo
	}
	return false
}

// fieldAt returns the member of t, which must be stripped, that has the bytes; nil if there is
// none. Of members that overlap it prefers the one of just that size.
func (t *Type) fieldAt(off, size uint64) *Field {
	var best *Field
	fields := t.Members().Fields
	for i := range fields {
		f := &fields[i]
		if f.Static || f.Expr.Present() || f.Bits != 0 || f.Virtual {
			continue
		}
		n := t.extent(fields, i)
		switch {
		case off-f.Off >= n || size > n: // also before it
		case best == nil, f.Off == off && n == size && t.set.Of(best.Type).Whole() != size:
			best = f
		}
	}
	return best
}

// MemberType is the type of a member of t.
func (t *Type) MemberType(f *Field) *Type { return t.set.Of(f.Type) }

// extent returns how many bytes member i of t has at most. Of one whose type the unit only declares, as clang does with
// most types of libraries, the definition is not looked for: the member ends where the next begins. So does a description.
func (t *Type) extent(fields []Field, i int) uint64 {
	f := &fields[i]
	of := t.set.Of(f.Type)
	if s := of.Strip(); !s.Declared && !s.described() {
		return of.Whole()
	}
	end := t.ByteSize
	for j := range fields {
		if next := &fields[j]; !next.Static && next.Off > f.Off {
			end = min(end, next.Off)
		}
	}
	return end - min(end, f.Off)
}

// Follow names the size bytes at offset off from the address that an expression holds: for
// the pointer p "p->next", "*p" or "p[3].x". text is the expression, t its type. Follow
// returns false if t is not a pointer or nothing of that size is there.
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
	if index > 0 && to.nodeBase() {
		return "", nil, false // behind it lies what a node of a container holds, not another one
	}
	if size == 0 && index > 0 && at%whole == 0 && !s.Reference() {
		return fmt.Sprintf("%s[%d]", text, index), to, true
	}
	path, part, ok := to.Part(at%whole, size)
	if !ok {
		return "", nil, false
	}
	expr, ok = s.behind(text, path, index)
	return expr, part, ok
}

// nodeBase reports whether t is what the nodes of a container of the C++ library begin with, whatever elements they have.
func (t *Type) nodeBase() bool {
	name, _, _ := strings.Cut(t.Defined().BareName, "<")
	return strings.HasSuffix(name, "_node_base") || name == "__tree_end_node"
}

// behind writes the part at a path of the element with an index that a pointer or reference of type s, which is stripped, leads to.
func (s *Type) behind(text, path string, index uint64) (string, bool) {
	dotted := s.Reference() || s.Language == dwarf.LangGo || Fortran(s.Language)
	if strings.HasPrefix(text, "*") && (index > 0 || path != "") { // what follows binds closer
		text = "(" + text + ")"
	}
	switch {
	case index > 0 && (dotted || s.Language == dwarf.LangRust):
		return "", false
	case index > 0:
		return fmt.Sprintf("%s[%d]%s", text, index, path), true
	case path == "" && (s.Reference() || Fortran(s.Language)):
		return text, true
	case path == "":
		return "*" + text, true
	case dotted:
		return text + path, true
	case strings.HasPrefix(path, "[") || s.Language == dwarf.LangRust:
		return "(*" + text + ")" + path, true
	}
	return text + "->" + path[1:], true
}

// An Arm is one of several names of the same bytes.
type Arm struct {
	Text string
	Type *Type
}

// maxArms is how many names of the same bytes are told apart.
const maxArms = 8

// FollowAll is Follow where members of unions give the same bytes several names: all of them, or the one that Follow returns if there
// are too many, or if size is 0.
func (t *Type) FollowAll(text string, off int64, size uint64) []Arm {
	expr, part, ok := t.Follow(text, off, size)
	if !ok {
		return nil
	}
	out := []Arm{{expr, part}}
	s := t.Strip()
	to := s.Target()
	whole := to.Whole()
	var ways []Arm
	if size == 0 || !to.arms("", uint64(off)%whole, size, maxPart, &ways) || len(ways) < 2 {
		return out
	}
	for _, w := range ways {
		if expr, _ := s.behind(text, w.Text, uint64(off)/whole); expr != out[0].Text { // Follow has one with the same index
			out = append(out, Arm{expr, w.Type})
		}
	}
	return out
}

// arms adds the paths of the parts that begin off bytes into a value of type t and have size bytes. It returns false if there are too many.
func (t *Type) arms(path string, off, size uint64, depth int, out *[]Arm) bool {
	s := t.Defined()
	switch {
	case depth == 0:
		return true
	case s.Tag == dwarf.TagUnionType:
		fields := s.Members().Fields
		for i := range fields {
			f := &fields[i]
			if n := s.extent(fields, i); f.Static || f.Expr.Present() || f.Bits != 0 || off-f.Off >= n { // also before it
				continue
			}
			name := path
			if f.Name != "" {
				name += s.dot() + f.Name
			}
			if !s.MemberType(f).arms(name, off-f.Off, size, depth-1, out) {
				return false
			}
		}
		return true
	}
	if f := s.fieldAt(off, size); f != nil {
		if f.Name != "" {
			path += s.dot() + f.Name
		}
		return s.MemberType(f).arms(path, off-f.Off, size, depth-1, out)
	}
	rest, part, ok := t.Part(off, size)
	if ok {
		*out = append(*out, Arm{path + rest, part})
	}
	return len(*out) <= maxArms
}

// Element names the size bytes at offset off in the element text[index] of a pointer or an
// array of type t. It returns false unless the elements have scale bytes.
func (t *Type) Element(text, index string, scale uint64, off int64, size uint64) (expr string, part *Type, ok bool) {
	s := t.Strip()
	if !s.Pointer() && s.Tag != dwarf.TagArrayType {
		return "", nil, false
	}
	to := s.Target()
	if n := to.Whole(); n != scale || uint64(off) >= n { // also if it is negative
		return "", nil, false
	}
	path, part, ok := to.Part(uint64(off), size)
	if Fortran(s.Language) {
		if s.apart() || len(s.Dims()) != 1 { // a pointer is none
			return "", nil, false
		}
		lower, _, known := s.Dims()[0].Constant()
		switch ok = ok && known; {
		case lower > 0:
			index += fmt.Sprintf(" + %d", lower)
		case lower < 0:
			index += fmt.Sprintf(" - %d", -lower)
		}
	}
	return text + s.subscript(index) + path, part, ok
}

// dot is how the source writes that a member follows.
func (t *Type) dot() string {
	if Fortran(t.Language) {
		return "%"
	}
	return "."
}

// subscript is how the source writes an index of an array.
func (t *Type) subscript(index string) string {
	if Fortran(t.Language) {
		return "(" + index + ")"
	}
	return "[" + index + "]"
}

// IsPointer reports whether t is a pointer or a reference.
func (t *Type) IsPointer() bool {
	s := t.Strip()
	return s.Pointer() || s.Reference()
}
