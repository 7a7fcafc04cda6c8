package types

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// storing is a frame that has one number everywhere.
type storing uint64

func (s storing) Number(u *dwarf.Unit, v *dwarf.Value) (uint64, error) { return v.U, nil }

func (s storing) Stored(u *dwarf.Unit, v *dwarf.Value, size uint64) (uint64, error) {
	return uint64(s), nil
}

// The size of a string whose length lies somewhere is not that of the length.
func TestSizeOfString(t *testing.T) {
	for _, c := range []struct {
		name  string
		attrs []any
		want  uint64
	}{
		{"of its own", []any{sized(7)}, 7},
		{"elsewhere", []any{sized(4), nodeAttr{dwarf.AttrStringLength, []byte{0x91, 0}}}, 25},
	} {
		typ := die(dwarf.TagStringType, "character", c.attrs...)
		u := &tree{lang: dwarf.LangFortran90, kids: []*node{typ}}
		if got, err := typeIn(t, open(forest(u)), u, typ).SizeIn(storing(25)); err != nil || got != c.want {
			t.Errorf("%s: %d bytes, %v; want %d", c.name, got, err, c.want)
		}
	}
}

// An array's elements are no larger than an array may be.
func TestSizeOfElements(t *testing.T) {
	for size, ok := range map[int]bool{maxExtent/8 - 1: true, maxExtent / 8: true, maxExtent/8 + 1: false} {
		elem := structure("large", sized(size))
		typ := die(dwarf.TagArrayType, "", nodeAttr{dwarf.AttrType, elem}, die(dwarf.TagSubrangeType, "", nodeAttr{dwarf.AttrCount, 1}))
		u := &tree{lang: dwarf.LangC99, kids: []*node{elem, typ}}
		got, err := typeIn(t, open(forest(u)), u, typ).SizeIn(storing(0))
		if (err == nil) != ok || ok && got != uint64(size) {
			t.Errorf("%d bytes: %d, %v", size, got, err)
		}
	}
}
