package binbuf

import (
	"errors"
	"testing"
)

func TestIntegersInBothOrders(t *testing.T) {
	data := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	le, be := New(data, 0, false), New(data, 0, true)
	for _, c := range []struct {
		size   int
		le, be uint64
	}{{1, 0x01, 0x01}, {2, 0x0201, 0x0102}, {3, 0x030201, 0x010203}, {4, 0x04030201, 0x01020304}, {8, 0x0807060504030201, 0x0102030405060708}} {
		l, b := le, be
		if got := l.Uint(c.size); got != c.le {
			t.Errorf("little-endian %d bytes: %#x, want %#x", c.size, got, c.le)
		}
		if got := b.Uint(c.size); got != c.be {
			t.Errorf("big-endian %d bytes: %#x, want %#x", c.size, got, c.be)
		}
		if l.Off != c.size || b.Off != c.size {
			t.Errorf("%d bytes: offsets %d and %d", c.size, l.Off, b.Off)
		}
	}
	s := New([]byte{0xfe, 0xff}, 0, false)
	if got := s.Int(2); got != -2 {
		t.Errorf("Int(2) = %d, want -2", got)
	}
}

func TestLEB128(t *testing.T) {
	for _, c := range []struct {
		in []byte
		u  uint64
		s  int64
	}{
		{[]byte{0}, 0, 0}, {[]byte{0x7f}, 127, -1}, {[]byte{0x80, 1}, 128, 128},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 1<<64 - 1, -1},
		{[]byte{0x80, 0x7f}, 0x3f80, -128}, {[]byte{0x80, 0x80, 0x00}, 0, 0},
	} {
		u := New(c.in, 0, false)
		if got := u.ULEB(); got != c.u || u.Error != nil {
			t.Errorf("ULEB(% x) = %d, %v, want %d", c.in, got, u.Error, c.u)
		}
		s := New(c.in, 0, false)
		if got := s.SLEB(); got != c.s || s.Error != nil {
			t.Errorf("SLEB(% x) = %d, %v, want %d", c.in, got, s.Error, c.s)
		}
	}
	over := New([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}, 0, false)
	if over.ULEB(); over.Error == nil {
		t.Error("a 65-bit LEB128 number was accepted")
	}
}

func TestFirstErrorStays(t *testing.T) {
	c := New([]byte{1, 2}, 0, false)
	c.U32()
	first := c.Error
	if !errors.Is(first, ErrShort) {
		t.Fatalf("reading past the end: %v", first)
	}
	if c.U8() != 0 || c.Bytes(1) != nil || c.CString() != nil || c.ULEB() != 0 || c.Error != first {
		t.Errorf("a failed cursor went on reading: %v", c.Error)
	}
	if c := New([]byte{1}, 2, false); c.Error == nil || c.U8() != 0 {
		t.Error("a cursor outside its data did not fail")
	}
}

func TestStringsAndSlices(t *testing.T) {
	c := New([]byte("ab\x00cd"), 0, false)
	if got := c.CString(); string(got) != "ab" || c.Off != 3 {
		t.Errorf("CString = %q at %d", got, c.Off)
	}
	if c.CString(); c.Error == nil {
		t.Error("an unterminated string was accepted")
	}
	if _, ok := Slice([]byte("abc"), 2, 1<<63); ok {
		t.Error("Slice accepted an absurd size")
	}
	if s, ok := CStringAt([]byte("ab\x00"), 1); !ok || string(s) != "b" {
		t.Errorf("CStringAt = %q, %v", s, ok)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add([]byte{0x80, 0x80, 1, 2, 3}, uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, off uint8) {
		c := New(data, int(off), off&1 == 1)
		for c.More() {
			before := c.Off
			c.ULEB()
			c.SLEB()
			c.Uint(int(off%9) + 1)
			c.CString()
			c.Align(8)
			if c.Error == nil && c.Off <= before {
				t.Fatalf("no progress at %d", before)
			}
		}
	})
}
