package analysis

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// A sorted array goes on with what is larger, by no more than it spans.
func TestGoesHigher(t *testing.T) {
	for name, c := range map[string]struct {
		n        uint64
		elements []uint64 // the last is the first
		want     bool
	}{
		"the next":          {110, []uint64{105, 103, 100}, true},
		"as large":          {105, []uint64{105, 103, 100}, true},
		"equal ones":        {110, []uint64{105, 105, 100}, true},
		"too far":           {111, []uint64{105, 103, 100}, false},
		"smaller":           {104, []uint64{105, 103, 100}, false},
		"not sorted":        {110, []uint64{105, 100, 103}, false},
		"all are the same":  {101, []uint64{100, 100, 100}, false},
		"sorted downwards":  {99, []uint64{100, 103, 105}, false},
		"larger, downwards": {110, []uint64{100, 103, 105}, false},
	} {
		if got := goesHigher(c.n, c.elements); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A number is near others if it is no farther from them than they are from each other; small ones are no sign.
func TestNear(t *testing.T) {
	for name, c := range map[string]struct {
		n        uint64
		elements []uint64
		want     bool
	}{
		"above":     {110, []uint64{105, 103, 100}, true},
		"too high":  {111, []uint64{105, 103, 100}, false},
		"below":     {95, []uint64{105, 103, 100}, true},
		"too low":   {94, []uint64{105, 103, 100}, false},
		"small":     {3, []uint64{4, 2, 1}, false},
		"from zero": {20, []uint64{16, 4, 0}, true},
	} {
		if got := near(c.n, c.elements); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for name, want := range map[string]string{"r->slots[11].seq": "r->slots 11 .seq", "a[1].b[2].c": "a[1].b 2 .c", "a[1]": " 0 ", "a.b": " 0 ", "[1].b": " 0 ", "a[x].b": " 0 ", "": " 0 "} {
		if array, index, member := memberOf(name); fmt.Sprint(array, " ", index, " ", member) != want {
			t.Errorf("%s: %s %d %s", name, array, index, member)
		}
	}
}

// TestRecordsGoOn: a pointer has numbers like the members of the structures right before it.
func TestRecordsGoOn(t *testing.T) {
	died := openCase(t, fixture.Get(t, "amd64-pie")).crash(t, false, false)
	const stride, n = 16, 4
	s := &slots{start: 0x7777000000000, size: 128, data: make([]byte, 128)}
	died.mem.Memory = s
	short, pointer := &types.Type{Tag: dwarf.TagBaseType, ByteSize: 4, BareName: "int"}, pointing()
	for name, c := range map[string]struct {
		value  uint64 // of the pointer
		second uint64 // of the last element, behind the first
		behind *types.Type
		names  int // elements that have one
		want   bool
	}{
		"as they are":             {905<<32 | 105, 903, pointer, n, true},
		"null":                    {0, 903, pointer, n, false},
		"a half of them":          {105, 903, pointer, n, false},
		"an address":              {0x7fff12345678, 903, pointer, n, false},
		"no pointer":              {905<<32 | 105, 903, short, n, false},
		"too few":                 {905<<32 | 105, 903, pointer, 2, false},
		"members not alike":       {905<<32 | 105, 1 << 30, pointer, n, true},
		"far from what they hold": {800<<32 | 105, 903, pointer, n, false},
	} {
		for i := range uint64(n) {
			binary.LittleEndian.PutUint32(s.data[stride*i:], uint32(100+i))
			binary.LittleEndian.PutUint32(s.data[stride*i+4:], uint32(900+i))
		}
		binary.LittleEndian.PutUint32(s.data[stride*(n-1)+4:], uint32(c.second))
		binary.LittleEndian.PutUint64(s.data[stride*n:], c.value)
		got := died.recordsGoOn(s.start+stride*n, func(at, size uint64) (string, *types.Type) {
			off := at - s.start
			i := int(off / stride)
			switch {
			case off == stride*n && size == 8:
				return "r->last", c.behind
			case i < n && i >= n-c.names && size == 4 && off%stride == 0:
				return fmt.Sprintf("r->slots[%d].a", i), short
			case i < n && i >= n-c.names && size == 4 && off%stride == 4:
				return fmt.Sprintf("r->slots[%d].b", i), short
			}
			return "", nil
		})
		if want := map[bool]string{true: "r->slots may have been overrun: numbers like those of a, b at its end stand in r->last, behind it"}[c.want]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The end of a string, or letters of two bytes, go on in a word.
func TestEndsText(t *testing.T) {
	for value, want := range map[uint64]bool{0x55ea00746165: true, 0x746165: true, 0: false, 0x5500000000000041: true, 0x6161616161616161: false, 0x01746165: false} {
		if got := endsText(value, 8); got != want {
			t.Errorf("%#x: %t", value, got)
		}
	}
	for _, c := range []struct {
		value     uint64
		end, want bool
	}{{0x006d006500640061, false, true}, {0x006d006500640061, true, true}, {0x006500640061, true, true}, {0x006500640061, false, false}, {0x0061000000640061, true, false}, {0, true, false}, {0x016d006500640061, true, false}} {
		if got := wideText(c.value, 8, c.end); got != c.want {
			t.Errorf("%#x: %t", c.value, got)
		}
	}
	for name, want := range map[string]string{"struct a": "a", "union b": "b", "class c": "c", "std::d": "std::d"} {
		if got := plainType(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
