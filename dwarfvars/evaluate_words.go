package dwarfvars

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// Numbers, strings and arrays that stand in an expression, and the types that the frame's language gives to them and to what
// is computed.

// typed reports whether the frame's language computes with numbers of one type only, whose type the result has.
func (e *evaluation) typed() bool { return e.dialect == paths.Rust || e.dialect == paths.Go }

// integerType returns the type of integers of 4 or 8 bytes, as the frame's language calls it.
func (e *evaluation) integerType(size uint64, signed bool) *types.Type {
	set := e.a.r.types
	name, enc := "", types.EncSigned
	if !signed {
		enc = types.EncUnsigned
	}
	switch {
	case e.dialect == paths.Rust:
		name = fmt.Sprintf("i%d", 8*size)
		if !signed {
			name = "u" + name[1:]
		}
	case e.dialect == paths.Fortran:
		return set.Number(fmt.Sprintf("integer(kind=%d)", size), size, enc)
	case e.dialect == paths.Go && size == set.Word():
		name = "int"
	case e.dialect == paths.Go:
		name = fmt.Sprintf("int%d", 8*size)
	case e.dialect == paths.D:
		if name = "int"; size == 8 {
			name = "long"
		}
	default:
		return set.Integer(size, signed)
	}
	if !signed && e.dialect != paths.Rust {
		name = "u" + name
	}
	return set.Number(name, size, enc)
}

// realType returns the type of floating-point numbers of 4 or 8 bytes, as the frame's language calls it.
func (e *evaluation) realType(size uint64) *types.Type {
	if e.dialect == paths.Fortran {
		return e.a.r.types.Number(fmt.Sprintf("real(kind=%d)", size), size, types.EncFloat)
	}
	prefix := map[paths.Dialect]string{paths.Rust: "f", paths.Go: "float"}[e.dialect]
	if prefix == "" {
		return e.a.r.types.Float(size)
	}
	return e.a.r.types.Number(fmt.Sprintf("%s%d", prefix, 8*size), size, types.EncFloat)
}

// basic returns a basic type of the frame's language whose name means another one in C; nil if the name is not one of those.
func (e *evaluation) basic(name string) *types.Type {
	set := e.a.r.types
	word := set.Word()
	switch e.dialect {
	case paths.Rust:
		if name == "char" {
			return set.Number(name, 4, types.EncUTF)
		}
	case paths.Go:
		switch name {
		case "int":
			return set.Number(name, word, types.EncSigned)
		case "byte":
			return set.Number("uint8", 1, types.EncUnsigned)
		case "rune":
			return set.Number("int32", 4, types.EncSigned)
		}
	case paths.Ada:
		switch name {
		case "short_short_integer", "short_integer", "integer", "long_long_integer":
			return set.Number(name, map[string]uint64{"short_short_integer": 1, "short_integer": 2, "integer": 4, "long_long_integer": 8}[name], types.EncSigned)
		case "long_integer":
			return set.Number(name, e.long(), types.EncSigned)
		case "float", "long_float":
			return set.Number(name, map[string]uint64{"float": 4, "long_float": 8}[name], types.EncFloat)
		case "character":
			return set.Number(name, 1, types.EncUnsignedChar)
		case "boolean":
			return set.Number(name, 1, types.EncBoolean)
		}
	case paths.Fortran:
		return e.basicOfFortran(name)
	case paths.Pascal:
		return e.basicOfPascal(strings.ToLower(name))
	case paths.D:
		switch name {
		case "char", "wchar", "dchar":
			return set.Number(name, map[string]uint64{"char": 1, "wchar": 2, "dchar": 4}[name], types.EncUTF)
		case "byte":
			return set.Number(name, 1, types.EncSigned)
		case "ubyte":
			return set.Number(name, 1, types.EncUnsigned)
		case "ushort":
			return set.Number(name, 2, types.EncUnsigned)
		case "uint":
			return set.Number(name, 4, types.EncUnsigned)
		case "long":
			return set.Number(name, 8, types.EncSigned)
		case "ulong":
			return set.Number(name, 8, types.EncUnsigned)
		}
	}
	return nil
}

// wideCharacters are the types of C's L'a' and its like.
func wideCharacters(name string) uint64 {
	switch name {
	case "char8_t":
		return 1
	case "char16_t":
		return 2
	case "char32_t", "wchar_t":
		return 4
	}
	return 0
}

// literal returns a number that stands in the expression, or its negative.
func (e *evaluation) literal(n *paths.Number, negative bool) (Object, error) {
	set := e.a.r.types
	switch {
	case wideCharacters(n.Type) != 0:
		return e.word(set.Number(n.Type, wideCharacters(n.Type), types.EncUTF), n.Value)
	case n.Type != "":
		t, err := e.typeNamed(paths.TypeName{Name: n.Type})
		if err != nil {
			return Object{}, err
		}
		signed := t.Base().Encoding.Signed()
		_, last, ok := t.Strip().Range()
		if negative {
			last++
		}
		if negative && !signed || ok && n.Value > uint64(last) && (signed || t.Whole() < 8) {
			return Object{}, fmt.Errorf("%s%d is no %s", map[bool]string{true: "-"}[negative], n.Value, t.Name())
		}
		if negative {
			return e.word(t, -n.Value)
		}
		return e.word(t, n.Value)
	case n.Char && e.dialect == paths.Rust:
		return e.word(set.Number("char", 4, types.EncUTF), n.Value)
	case n.Char && e.dialect == paths.Go:
		return e.word(set.Number("int32", 4, types.EncSigned), n.Value)
	case n.Char && n.Value < 1<<7:
		return e.word(set.Number("char", 1, types.EncSignedChar), n.Value)
	}
	c := e.dialect == paths.Plain || e.dialect == paths.D
	switch small := e.dialect != paths.Go && !(c && n.Wide); {
	case small && !n.Unsigned && n.Value <= math.MaxInt32:
		return e.word(e.integerType(4, true), n.Value)
	case small && (n.Unsigned || c && n.Based) && n.Value <= math.MaxUint32:
		return e.word(e.integerType(4, false), n.Value)
	}
	return e.word(e.integerType(8, n.Value < 1<<63 && !n.Unsigned), n.Value)
}

// textOf returns a string that stands in the expression: an array that is in no memory.
func (e *evaluation) textOf(n *paths.Text) (Object, error) {
	set, data := e.a.r.types, []byte(n.Value)
	elem, name := set.Number("char", 1, types.EncSignedChar), ""
	switch e.dialect {
	case paths.Rust:
		elem, name = set.Number("u8", 1, types.EncUnsignedChar), "&str"
		if n.Bytes {
			elem, name = set.Number("u8", 1, types.EncUnsigned), ""
		}
	case paths.Go:
		elem, name = set.Number("uint8", 1, types.EncUnsignedChar), "string"
	case paths.Plain:
		data = append(data, 0)
	}
	t := e.arrayOf(elem, uint64(len(data)))
	if t.BareName = name; name != "" { // as it is
		t.Language = dwarf.LangC
	}
	return e.object(values.Object{Type: t, Size: uint64(len(data)), Data: data}, nil)
}

// maxListed is how many elements an array that stands in an expression has at most.
const maxListed = 1 << 12

// list returns an array that stands in the expression, whose elements have the type of the first.
func (e *evaluation) list(n *paths.List) (Object, error) {
	if len(n.Items) == 0 {
		return Object{}, errors.New("a list of nothing stands only beside a set")
	}
	first, err := e.stored(n.Items[0])
	if err != nil {
		return Object{}, err
	}
	count := uint64(len(n.Items))
	if n.Count != nil {
		v, err := e.integer(n.Count)
		if err != nil {
			return Object{}, err
		}
		count = uint64(v)
	}
	if count > maxListed || first.Size > maxListed || count*first.Size > 1<<20 {
		return Object{}, fmt.Errorf("an array of %d elements is not made", int64(count))
	}
	var data []byte
	for i := range count {
		at := first
		if n.Count == nil && i > 0 {
			if at, err = e.stored(n.Items[i]); err != nil {
				return Object{}, err
			}
		}
		raw, err := e.x.P.Bytes(&at, 0, at.Size)
		if err != nil {
			return Object{}, err
		}
		if at.Size != first.Size || at.Type.Name() != first.Type.Name() {
			return Object{}, wrongAt(n.Items[i], fmt.Errorf("an element of type %s in an array of %s", clip(at.Type.Name()), clip(first.Type.Name())))
		}
		data = append(data, raw...)
	}
	t := e.arrayOf(first.Type, count)
	return e.object(values.Object{Type: t, Size: uint64(len(data)), Data: data}, nil)
}

// byteOf returns one byte of a string of Rust or Go.
func (e *evaluation) byteOf(ob *values.Object, i int64) (Object, bool) {
	c, ok, err := e.x.Characters(ob, 1)
	n, counted := e.x.Length(ob)
	if err != nil || !ok || c.Size != 1 || !c.Located || counted != nil || i < 0 || uint64(i) >= n {
		return Object{}, false
	}
	elem := c.Elem
	if elem == nil {
		elem = e.a.r.types.Number(map[paths.Dialect]string{paths.Rust: "u8", paths.Go: "uint8", paths.D: "ubyte"}[e.dialect], 1, types.EncUnsigned)
	}
	t, err := e.object(e.x.At(elem, c.Addr+uint64(i)))
	return t, err == nil
}

// textSlice returns some bytes of a string, from one up to but not including the other, or to the end; false if they are none of one.
func (e *evaluation) textSlice(ob *values.Object, from, to int64, end bool) (Object, bool) {
	c, ok, err := e.x.Characters(ob, 1)
	n, counted := e.x.Length(ob)
	if end {
		to = int64(n)
	}
	if err != nil || !ok || c.Size != 1 || !c.Located || counted != nil || from < 0 || to < from || uint64(to) > n {
		return Object{}, false
	}
	elem := c.Elem
	if elem == nil {
		name := "u8"
		if e.dialect == paths.Go {
			name = "uint8"
		}
		elem = e.a.r.types.Number(name, 1, types.EncUnsignedChar)
	}
	size := uint64(to - from)
	return Object{in: e.in, at: true, ob: values.Object{Type: e.arrayOf(elem, size), Mem: true, Addr: c.Addr + uint64(from), Size: size}}, true
}

// result is the type of what is computed of one or two integers. In Rust and Go it is that of an operand that the program
// has; a number in the expression takes it.
func (e *evaluation) result(a, b *values.Object, signed bool) *types.Type {
	if e.typed() {
		var known *types.Type
		for _, o := range [...]*values.Object{a, b} {
			if o == nil {
				continue
			}
			t := e.referred(o).Type
			if s := t.Strip(); s.Tag == dwarf.TagBaseType && !s.Encoding.Char() && (known == nil || known.Whole() < t.Whole()) && (t.Ref.Valid() || s.BareName == "u8") {
				known = t
			}
		}
		if known != nil {
			return known
		}
	}
	small := a.Size <= 4 && (b == nil || b.Size <= 4)
	if small && (signed || e.typed()) {
		return e.integerType(4, signed)
	}
	return e.integerType(8, signed)
}

// computed returns what was computed as a number of type t, or, if it does not fit, of one of 64 bits.
func (e *evaluation) computed(t *types.Type, v uint64, signed bool) (Object, error) {
	size := t.Whole()
	if size < 8 && types.Resize(v, int(size), t.Base().Encoding.Signed()) != v {
		t = e.integerType(8, signed || int64(v) < 0)
	}
	return e.word(t, v)
}

// pointerTo returns the type of pointers to t, as the frame's language calls them.
func (e *evaluation) pointerTo(t *types.Type) *types.Type {
	p := e.a.r.types.PointerTo(t)
	switch e.dialect {
	case paths.Rust:
		p.Language, p.BareName = dwarf.LangRust, "*mut "+t.Name()
	case paths.Go:
		p.Language, p.BareName = dwarf.LangGo, "*"+t.Name()
	}
	return p
}

// arrayOf returns the type of an array of n elements, as the frame's language calls it.
func (e *evaluation) arrayOf(elem *types.Type, n uint64) *types.Type {
	t := e.a.r.types.ArrayOf(elem, n)
	switch e.dialect {
	case paths.Rust:
		t.Language = dwarf.LangRust
	case paths.Go:
		t.Language, t.BareName = dwarf.LangGo, fmt.Sprintf("[%d]%s", n, elem.Name())
	}
	return t
}

// real is the type of what is computed of one or two numbers, one of which is a floating-point number.
func (e *evaluation) real(a, b *values.Object) *types.Type {
	size := uint64(4)
	for _, o := range [...]*values.Object{a, b} {
		if o != nil && e.floats(o) && o.Size > 4 {
			size = 8
		}
	}
	return e.realType(size)
}

// unsignedOf is the type of what is computed of a number without a sign that has at least the size of int, or of any in
// languages that have no usual size.
func (e *evaluation) unsignedOf(ob *values.Object) *types.Type {
	if e.typed() {
		return e.result(ob, nil, false)
	}
	size := uint64(8)
	if ob.Size == 4 && !e.referred(ob).Type.Strip().Pointer() && e.referred(ob).Type.Strip().Tag != arrayTag {
		size = 4
	}
	return e.integerType(size, false)
}

// number returns an object as an integer. In C that of an array is its address, which other languages make of none.
func (e *evaluation) number(ob *values.Object) (v uint64, signed bool, err error) {
	if e.dialect != paths.Plain && e.dialect != paths.D && e.referred(ob).Type.Strip().Tag == arrayTag {
		return 0, false, fmt.Errorf("an object of type %s is an array: its elements are computed with", clip(ob.Type.Name()))
	}
	return e.x.Number(ob)
}
