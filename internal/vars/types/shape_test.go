package types

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/unwind/arch"
)

// failing is a frame that does not know what one attribute says. It has a length, and keeps how large that is said to be.
type failing struct {
	attr   dwarf.Attr
	length uint64
	size   uint64
}

var errFailing = errors.New("failing")

func (f *failing) Number(u *dwarf.Unit, v *dwarf.Value) (uint64, error) {
	if v.Attr == f.attr {
		return 7, errFailing
	}
	return v.U, nil
}

func (f *failing) Stored(u *dwarf.Unit, v *dwarf.Value, size uint64) (uint64, error) {
	f.size = size
	if v.Attr == f.attr {
		return 7, errFailing
	}
	return f.length, nil
}

// dimension is one of an array.
func dimension(attrs ...any) *node { return die(dwarf.TagSubrangeType, "", attrs...) }

// A dimension of which something is not known has no number of elements, and the array no size.
func TestUnknownShapes(t *testing.T) {
	integer := base("int", 4)
	whole := func(attr dwarf.Attr, value any) *node {
		return typed(dwarf.TagArrayType, "", integer, nodeAttr{attr, value}, dimension(nodeAttr{dwarf.AttrUpperBound, 3}, nodeAttr{dwarf.AttrLowerBound, 1}))
	}
	one := func(attr dwarf.Attr) *node {
		return typed(dwarf.TagArrayType, "", integer, dimension(nodeAttr{dwarf.AttrUpperBound, 3}, nodeAttr{dwarf.AttrLowerBound, 1}, nodeAttr{attr, 4}))
	}
	for _, attr := range []dwarf.Attr{dwarf.AttrUpperBound, dwarf.AttrLowerBound} {
		typ := typeOf(t, dwarf.LangC99, whole(dwarf.AttrName, "a"))
		if n, known, err := typ.countIn(&failing{}, &typ.Dims()[0]); n != 3 || !known || err != nil {
			t.Errorf("%d elements, %v, %v", n, known, err)
		}
		if n, known, err := typ.countIn(&failing{attr: attr}, &typ.Dims()[0]); n != 0 || known || err != errFailing {
			t.Errorf("without attribute %#x: %d elements, %v, %v", uint16(attr), n, known, err)
		}
	}
	for what, c := range map[string]struct {
		typ  *node
		fail dwarf.Attr
		size uint64
	}{
		"nothing":                {whole(dwarf.AttrAllocated, 1), 0, 12},
		"whether it is there":    {whole(dwarf.AttrAllocated, 1), dwarf.AttrAllocated, 0},
		"whether it points":      {whole(dwarf.AttrAssociated, 1), dwarf.AttrAssociated, 0},
		"the stride":             {whole(dwarf.AttrByteStride, 4), dwarf.AttrByteStride, 0},
		"the stride in bits":     {whole(dwarf.AttrBitStride, 32), dwarf.AttrBitStride, 0},
		"the dimension's":        {one(dwarf.AttrByteStride), dwarf.AttrByteStride, 0},
		"the dimension's, known": {one(dwarf.AttrByteStride), 0, 12},
		"the count":              {arrayOf(integer, 3), dwarf.AttrCount, 0},
	} {
		n, err := typeOf(t, dwarf.LangC99, c.typ).SizeIn(&failing{attr: c.fail})
		if n != c.size || errors.Is(err, errFailing) != (c.fail != 0) {
			t.Errorf("%s is not known: %d bytes, %v", what, n, err)
		}
	}
	for value, want := range []string{"not allocated", ""} {
		if got, err := typeOf(t, dwarf.LangC99, whole(dwarf.AttrAllocated, value)).Absent(&failing{}); got != want || err != nil {
			t.Errorf("allocated %d: %q, %v", value, got, err)
		}
	}
}

// arraysIn puts a type into n arrays of one element, one inside the other.
func arraysIn(n int, inner *node) *node {
	for range n {
		inner = arrayOf(inner, 1)
	}
	return inner
}

// Sizes, numbers of elements and strides have limits.
func TestShapeLimits(t *testing.T) {
	integer := base("int", 4)
	array := func(elem *node, count int, attrs ...any) *node {
		return typed(dwarf.TagArrayType, "", elem, append(attrs, dimension(nodeAttr{dwarf.AttrCount, count}))...)
	}
	stride := func(attr dwarf.Attr, n int) any { return nodeAttr{attr, n} }
	const odd = 131073 // divides maxExtent+1
	for what, c := range map[string]struct {
		typ *node
		ok  bool
	}{
		"no elements of the largest size":       {array(structure("s", sized(maxExtent/8)), 0), true},
		"no elements that are larger":           {array(structure("s", sized(maxExtent/8+1)), 0), false},
		"a size of which no number has bits":    {array(structure("s", sized(1<<61)), 1), false},
		"the largest stride":                    {array(integer, 0, stride(dwarf.AttrByteStride, maxExtent/8)), true},
		"a larger stride":                       {array(integer, 0, stride(dwarf.AttrByteStride, maxExtent/8+1)), false},
		"the largest stride in bits":            {array(integer, 0, stride(dwarf.AttrBitStride, maxExtent/8)), true},
		"the largest stride backwards":          {array(integer, 0, stride(dwarf.AttrByteStride, -maxExtent/8)), true},
		"a larger stride backwards":             {array(integer, 0, stride(dwarf.AttrByteStride, -maxExtent/8-1)), false},
		"as many elements as the extent allows": {array(integer, (maxExtent+1)/odd-1, stride(dwarf.AttrBitStride, odd)), true},
		"one more":                              {array(integer, (maxExtent+1)/odd, stride(dwarf.AttrBitStride, odd)), false},
		"as many elements as there may be":      {array(structure("s"), maxElements), true},
		"one more of no size":                   {array(structure("s"), maxElements+1), false},
		"as deep as may be":                     {arraysIn(MaxChain+1, integer), true},
		"deeper":                                {arraysIn(MaxChain+2, integer), false},
	} {
		shape, err := typeOf(t, dwarf.LangC99, c.typ).Shape(storing(0))
		if (err == nil) != c.ok || (len(shape) == 1) != c.ok || !c.ok && !errors.Is(err, unknown.ErrLimit) {
			t.Errorf("%s: %v, %v", what, shape, err)
		}
	}
}

// What may differ from object to object, in arrays of arrays.
func TestDynamicInside(t *testing.T) {
	text := die(dwarf.TagStringType, "", nodeAttr{dwarf.AttrStringLength, []byte{0x31}})
	for what, c := range map[string]struct {
		typ  *node
		want bool
	}{
		"a computed size":    {structure("s", nodeAttr{dwarf.AttrByteSize, []byte{0x31}}), true},
		"a size":             {structure("s", sized(4)), false},
		"in arrays":          {arraysIn(MaxChain-1, text), true},
		"in too many arrays": {arraysIn(MaxChain, text), false},
	} {
		if got := typeOf(t, dwarf.LangFortran90, c.typ).Dynamic(); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// A range of a range has the numbers of the innermost type.
func TestBase(t *testing.T) {
	integer := base("int", 4)
	ranges := func(n int) *node {
		typ := integer
		for range n {
			typ = typed(dwarf.TagSubrangeType, "", typ)
		}
		return typ
	}
	for what, c := range map[string]struct {
		typ  *node
		want dwarf.Tag
		size uint64
	}{
		"a number":                      {integer, dwarf.TagBaseType, 4},
		"another name":                  {typed(dwarf.TagTypedef, "t", integer), dwarf.TagBaseType, 4},
		"a range":                       {ranges(1), dwarf.TagBaseType, 4},
		"another name of a range":       {typed(dwarf.TagTypedef, "t", ranges(2)), dwarf.TagBaseType, 4},
		"a range of its own size":       {typed(dwarf.TagSubrangeType, "", integer, sized(2)), dwarf.TagBaseType, 2},
		"a range of nothing":            {die(dwarf.TagSubrangeType, ""), dwarf.TagSubrangeType, 0},
		"as many ranges as may be":      {ranges(MaxChain), dwarf.TagBaseType, 4},
		"more ranges than are followed": {ranges(MaxChain + 1), dwarf.TagSubrangeType, 0},
	} {
		if got := typeOf(t, dwarf.LangAda95, c.typ).Base(); got.Tag != c.want || got.ByteSize != c.size || got.Language != dwarf.LangAda95 {
			t.Errorf("%s: %#x of %d bytes", what, uint16(got.Tag), got.ByteSize)
		}
	}
}

// A string of Fortran has as many bytes as its length, of the size that it has, says.
func TestCharsIn(t *testing.T) {
	const largest = maxExtent / 8
	where := nodeAttr{dwarf.AttrStringLength, []byte{0x31}}
	wide := die(dwarf.TagBaseType, "character", sized(4), nodeAttr{dwarf.AttrEncoding, int(EncUCS)})
	for _, c := range []struct {
		what   string
		typ    []any
		length uint64
		size   uint64 // of the length
		want   uint64
		err    error
	}{
		{"constant", []any{sized(9)}, 5, 0, 9, nil},
		{"not said", nil, 5, 0, 0, unknown.ErrLength},
		{"a word", []any{where}, 5, 4, 5, nil},
		{"of one byte", []any{where, nodeAttr{dwarf.AttrStringLengthBytes, 1}}, 5, 1, 5, nil},
		{"of eight bytes", []any{where, nodeAttr{dwarf.AttrStringLengthBytes, 8}, sized(2)}, 5, 8, 5, nil},
		{"of more", []any{where, nodeAttr{dwarf.AttrStringLengthBytes, 9}}, 5, 4, 5, nil},
		{"of two bytes, as DWARF 4 says it", []any{where, sized(2)}, 5, 2, 5, nil},
		{"negative", []any{where}, ^uint64(0), 4, 0, nil},
		{"of wide characters", []any{where, nodeAttr{dwarf.AttrType, wide}}, 5, 4, 20, nil},
		{"the largest", []any{where}, largest, 4, largest, nil},
		{"too large", []any{where}, largest + 1, 4, 0, unknown.ErrLimit},
		{"the largest of wide characters", []any{where, nodeAttr{dwarf.AttrType, wide}}, largest / 4, 4, largest, nil},
		{"too large of wide characters", []any{where, nodeAttr{dwarf.AttrType, wide}}, largest/4 + 1, 4, 0, unknown.ErrLimit},
	} {
		typ := typeOf(t, dwarf.LangFortran90, die(dwarf.TagStringType, "", c.typ...))
		typ.set.arch = arch.X86
		f := &failing{length: c.length}
		if n, err := typ.CharsIn(f); n != c.want || f.size != c.size || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %d bytes, of a length of %d bytes, %v", c.what, n, f.size, err)
		}
	}
	typ := typeOf(t, dwarf.LangFortran90, die(dwarf.TagStringType, "", where))
	var bound *unknown.Bound
	if n, err := typ.CharsIn(&failing{attr: dwarf.AttrStringLength}); n != 0 || !errors.As(err, &bound) || bound.Err != errFailing {
		t.Errorf("not known: %d, %v", n, err)
	}
}

// A string of Fortran is called by its length, if that is constant.
func TestStringNames(t *testing.T) {
	where := nodeAttr{dwarf.AttrStringLength, []byte{0x31}}
	for want, typ := range map[string]*node{
		"character(len=3)": die(dwarf.TagStringType, "", sized(3)),
		"character(len=1)": die(dwarf.TagStringType, "", sized(1)),
		"character(len=*)": die(dwarf.TagStringType, "", where, sized(4)),
		"letters":          die(dwarf.TagStringType, "letters", sized(3)),
	} {
		if got := typeOf(t, dwarf.LangFortran90, typ).Name(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := typeOf(t, dwarf.LangFortran90, die(dwarf.TagStringType, "")).Name(); got != "character(len=*)" {
		t.Error(got)
	}
}

// An array may be one that is not there, and the numbers of its elements may be known otherwise.
func TestShapeOf(t *testing.T) {
	num := base("int", 4)
	for _, c := range []struct {
		attrs []any
		want  bool
	}{{nil, false}, {[]any{nodeAttr{dwarf.AttrAllocated, 1}}, true}, {[]any{nodeAttr{dwarf.AttrAssociated, 1}}, true}} {
		typ := typeOf(t, dwarf.LangFortran90, typed(dwarf.TagArrayType, "", num, append(c.attrs, dimension(nodeAttr{dwarf.AttrCount, 3}))...))
		if got := typ.MayBeAbsent(); got != c.want {
			t.Errorf("%v: %t", c.attrs, got)
		}
	}
	typ := typeOf(t, dwarf.LangC99, arraysIn(MaxChain+1, num)) // as deep as may be
	shape, err := typ.ShapeOf(storing(0), []uint64{7})
	if len(shape) != 1 || shape[0].Count != 7 || !shape[0].Known || err != nil {
		t.Errorf("%v, %v", shape, err)
	}
}
