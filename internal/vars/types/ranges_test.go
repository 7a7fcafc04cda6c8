package types

import (
	"math"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// TestRange: numbers without a range of their own have that of their bytes.
func TestRange(t *testing.T) {
	base := func(size uint64, e Encoding) *Type { return &Type{Tag: dwarf.TagBaseType, ByteSize: size, Encoding: e} }
	for _, c := range []struct {
		t           *Type
		first, last int64
		ok          bool
	}{
		{base(1, EncBoolean), 0, 1, true},
		{base(4, EncBoolean), 0, 1, true},
		{base(1, EncSigned), -128, 127, true},
		{base(2, EncSignedChar), -32768, 32767, true},
		{base(8, EncSigned), math.MinInt64, math.MaxInt64, true},
		{base(1, EncUnsigned), 0, 255, true},
		{base(1, EncUTF), 0, 255, true},
		{base(4, EncUnsigned), 0, math.MaxUint32, true},
		{base(8, EncUnsigned), 0, math.MaxInt64, true},
		{base(8, EncFloat), 0, 0, false},
		{base(0, EncUnsigned), 0, 0, false},
		{base(16, EncUnsigned), 0, 0, false},
		{&Type{Tag: dwarf.TagPointerType, ByteSize: 8}, 0, 0, false},
		{&Type{Tag: dwarf.TagEnumerationType, ByteSize: 4}, 0, 0, false},
	} {
		if first, last, ok := c.t.Range(); first != c.first || last != c.last || ok != c.ok {
			t.Errorf("%d bytes of encoding %d: %d to %d, %t", c.t.ByteSize, c.t.Encoding, first, last, ok)
		}
	}
}
