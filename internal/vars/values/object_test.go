package values

import (
	"errors"
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

var errFirst, errLast = errors.New("first"), errors.New("last")

// gathered is an object of eight bytes out of registers, of which the second and the last are not
// known.
func gathered() *Object {
	return &Object{Size: 8, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}, Holes: []Hole{{From: 8, To: 16, Err: errFirst}, {From: 56, To: 64, Err: errLast, Implicit: &Implicit{}}}}
}

// TestBytesOfObjects reads parts of objects, beside what is not known of them.
func TestBytesOfObjects(t *testing.T) {
	p := &Process{Arch: arch.AMD64, Memory: memory("abcdefgh")}
	for _, c := range []struct {
		o      *Object
		off, n uint64
		want   string
	}{
		{gathered(), 0, 1, "01"}, {gathered(), 0, 2, "first"}, {gathered(), 1, 1, "first"}, {gathered(), 2, 5, "0304050607"}, {gathered(), 2, 6, "last"}, {gathered(), 0, 8, "first"},
		{gathered(), 8, 0, ""}, {gathered(), 8, 1, "corrupt location: bytes 8 to 9 of 8"}, {gathered(), 9, 0, "corrupt location: bytes 9 to 9 of 8"}, {gathered(), 7, 2, "corrupt location: bytes 7 to 9 of 8"},
		{gathered(), 0, MaxObject + 1, "1048577 bytes: exceeds a limit"}, {gathered(), 0, MaxObject, "corrupt location: bytes 0 to 1048576 of 8"},
		{&Object{Mem: true, Addr: 0x1000}, 2, 3, "636465"}, {&Object{Mem: true, Addr: 0x1000}, 6, 3, "no memory at 0x1008"},
	} {
		b, err := p.Bytes(c.o, c.off, c.n)
		got := fmt.Sprintf("%x", b)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%d bytes at %d: %s, want %s", c.n, c.off, got, c.want)
		}
	}
}

// TestPartsOfObjects: what is not known of an object is not known of its parts.
func TestPartsOfObjects(t *testing.T) {
	for _, c := range []struct {
		off, size uint64
		want      string
	}{
		{0, 1, "01"}, {1, 1, "02 0-8 first"}, {0, 2, "0102 8-16 first"}, {1, 2, "0203 0-8 first"}, {2, 5, "0304050607"}, {6, 2, "0708 8-16 last"}, {7, 1, "08 0-8 last*"},
		{0, 8, "0102030405060708 8-16 first 56-64 last"}, {8, 0, ""}, {7, 2, "0000 0-16 corrupt location: a part at 7 outside of 8 bytes"}, {9, 0, " 0-0 corrupt location: a part at 9 outside of 8 bytes"},
	} {
		part := gathered().part(nil, c.off, c.size)
		got := fmt.Sprintf("%x", part.Data)
		for _, h := range part.Holes {
			got += fmt.Sprintf(" %d-%d %v", h.From, h.To, h.Err)
			if h.Implicit != nil {
				got += "*"
			}
		}
		if got != c.want || part.Size != c.size {
			t.Errorf("%d bytes at %d: %s, want %s", c.size, c.off, got, c.want)
		}
	}
	half := &Object{Size: 8, Data: make([]byte, 8), Holes: []Hole{{From: 0, To: 64, Implicit: &Implicit{}}}}
	for off, want := range map[uint64]bool{0: false, 4: false} {
		if part := half.part(nil, off, 4); part.Holes[0].Implicit != nil != want {
			t.Errorf("half of a pointer at %d points to something", off)
		}
	}
	if part := (&Object{Mem: true, Addr: 0x1000}).part(nil, 8, 4); !part.Mem || part.Addr != 0x1008 || part.Size != 4 {
		t.Errorf("%+v", part)
	}
}

// TestImplicitPointers: a pointer is to an object without an address if all of it says so.
func TestImplicitPointers(t *testing.T) {
	at := func(from, to uint64) *Object {
		return &Object{Size: 8, Holes: []Hole{{From: from, To: to, Implicit: &Implicit{Offset: 3}}}}
	}
	two := at(0, 64)
	two.Holes = append(two.Holes, two.Holes[0])
	memory := at(0, 64)
	memory.Mem = true
	for name, c := range map[string]struct {
		o    *Object
		want bool
	}{"all": {at(0, 64), true}, "more": {at(0, 65), true}, "less": {at(0, 63), false}, "from the second bit": {at(1, 65), false}, "two": {two, false}, "in memory": {memory, false}, "none": {&Object{Size: 8}, false}} {
		if got := c.o.implicit(); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestBitFields reads bit-fields of both byte orders.
func TestBitFields(t *testing.T) {
	for _, c := range []struct {
		arch      *arch.Arch
		off, bits uint64
		mem       bool
		want      string
	}{
		{arch.AMD64, 0, 4, true, "1"}, {arch.AMD64, 4, 4, true, "6"}, {arch.AMD64, 6, 4, true, "9"}, {arch.AMD64, 0, 64, true, "6867666564636261"}, {arch.AMD64, 60, 5, true, "no memory at 0x1008"}, {arch.AMD64, 60, 4, true, "6"},
		{arch.PPC64, 0, 4, true, "6"}, {arch.PPC64, 4, 4, true, "1"}, {arch.PPC64, 6, 4, true, "5"}, {arch.PPC64, 0, 64, true, "6162636465666768"},
		{arch.AMD64, 4, 4, false, "0"}, {arch.AMD64, 4, 5, false, "first"}, {arch.AMD64, 15, 1, false, "first"}, {arch.AMD64, 16, 3, false, "3"}, {arch.AMD64, 55, 1, false, "0"}, {arch.AMD64, 55, 2, false, "last"}, {arch.AMD64, 64, 1, false, "corrupt location: bits to 65 of 8 bytes"},
	} {
		o := &Object{Mem: true, Addr: 0x1000}
		if !c.mem {
			o = gathered()
		}
		o.bitOff, o.bits = c.off, c.bits
		b := builder{p: &Process{Arch: c.arch, Memory: memory("abcdefgh")}}
		v, err := b.bitfield(o)
		got := fmt.Sprintf("%x", v)
		if err != nil {
			got = err.Error()
			if v != 0 {
				t.Errorf("%d bits at %d: %x and %v", c.bits, c.off, v, err)
			}
		}
		if got != c.want {
			t.Errorf("%s, %d bits at %d: %s, want %s", c.arch.Name, c.bits, c.off, got, c.want)
		}
	}
}

// TestLimitsOfContainers: no length or capacity beyond what a container can have is shown.
func TestLimitsOfContainers(t *testing.T) {
	b := builder{p: &Process{Arch: arch.AMD64, Memory: memory("\x05\x00\x00")}, opts: Options{}.withDefaults()}
	b.left = 100
	o := &Object{Type: baseType("vector<bool>", types.EncSigned, 8)}
	for _, c := range []struct {
		n, room uint64
		want    string
	}{
		{3, 8, "std::vector<bool> of length 3, capacity 8 = {true, false, true}"}, {8, 8, "std::vector<bool> of length 8, capacity 8 = {true, false, true, false, false, false, false, false}"}, {9, 8, "<corrupt location: a length of 9>"},
		{0, maxLength, fmt.Sprintf("std::vector<bool> of length 0, capacity %d", uint64(maxLength))}, {0, maxLength + 1, fmt.Sprintf("<corrupt location: a length of %d>", uint64(maxLength+1))},
		{30, 40, "<no memory at 0x1003>"},
	} {
		if got := b.bits(o, 0x1000, c.n, c.room).String(); got != c.want {
			t.Errorf("%d of %d bits: %s, want %s", c.n, c.room, got, c.want)
		}
	}
	char := baseType("unsigned char", types.EncUnsigned, 1)
	for _, c := range []struct {
		first, last, end uint64
		want             string
	}{
		{0x1000, 0x1002, 0x1003, "std::vector of length 2, capacity 3 = {5, 0}"}, {0x1000, 0x1000, 0x1000, "std::vector of length 0, capacity 0"}, {0x1000, 0x1003, 0x1002, "<corrupt location: a length of 3>"},
		{0x1000, 0xfff, 0x1002, "<corrupt location: a length of -1>"}, {0x1000, 0x1001, 0x1000 + maxLength, fmt.Sprintf("std::vector of length 1, capacity %d = {5}", uint64(maxLength))},
		{0x1000, 0x1001, 0x1001 + maxLength, fmt.Sprintf("<corrupt location: a length of %d>", uint64(maxLength+1))},
	} {
		if got := b.vector(o, char, 1, c.first, c.last, c.end, 0).String(); got != c.want {
			t.Errorf("from %#x to %#x of %#x: %s, want %s", c.first, c.last, c.end, got, c.want)
		}
	}
}

// TestFilled: a container of a library has no more elements than room, and no more room than can be.
func TestFilled(t *testing.T) {
	char := baseType("unsigned char", types.EncUnsigned, 1)
	for _, c := range []struct {
		n, room uint64
		want    string
	}{
		{2, 2, "string of length 2, capacity 2 = {5, 6}"}, {3, 2, "<corrupt location: a length of 3>"}, {0, 0, "string of length 0, capacity 0"},
		{1, maxLength, fmt.Sprintf("string of length 1, capacity %d = {5}", uint64(maxLength))}, {0, maxLength + 1, fmt.Sprintf("<corrupt location: a length of %d>", uint64(maxLength+1))},
	} {
		b := builder{p: &Process{Arch: arch.AMD64, Memory: memory("\x05\x06\x00")}, opts: Options{}.withDefaults()}
		b.left = 100
		if got := b.filled(&Object{Type: baseType("string", types.EncSigned, 8)}, char, 0x1000, c.n, c.room, 0).String(); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.n, c.room, got, c.want)
		}
	}
}

// TestOptions: what is not limited has the limits that its documentation tells.
func TestOptions(t *testing.T) {
	want := Options{MaxDepth: 8, MaxElements: 200, MaxString: 200, MaxParts: 2000}
	if got := (Options{MaxDepth: -1}).withDefaults(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	want = Options{MaxDepth: 1, MaxElements: 2, MaxString: 3, MaxParts: 4, Raw: true}
	if got := want.withDefaults(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestWordBytes: an address as the process has it in memory.
func TestWordBytes(t *testing.T) {
	for a, want := range map[*arch.Arch]string{arch.AMD64: "\x04\x03\x02\x01\x00\x00\x00\x00", arch.X86: "\x04\x03\x02\x01", arch.S390X: "\x00\x00\x00\x00\x01\x02\x03\x04", arch.PPC: "\x01\x02\x03\x04"} {
		b := builder{p: &Process{Arch: a}}
		if got := string(b.wordBytes(0x01020304)); got != want {
			t.Errorf("%s: %q, want %q", a.Name, got, want)
		}
	}
}
