package binbuf

import (
	"bytes"
	"math"
	"testing"
)

// sleb writes a signed LEB128 number as DWARF 5, appendix C, does.
func sleb(v int64) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// TestSLEBOfEveryLength: numbers whose last byte has the sign in each place, also those
// of nine bytes, which leave one bit of 64 to be filled, and of ten.
func TestSLEBOfEveryLength(t *testing.T) {
	lengths := map[int]bool{}
	for bit := range 64 {
		for _, v := range []int64{1 << bit, -1 << bit, 1<<bit - 1, -1<<bit - 1, math.MinInt64, math.MaxInt64} {
			in := sleb(v)
			lengths[len(in)] = true
			c := New(append(bytes.Clone(in), 0xff), 0, false)
			if got := c.SLEB(); got != v || c.Error != nil || c.Off != len(in) {
				t.Errorf("SLEB(% x) = %d, %v, %d bytes; want %d", in, got, c.Error, c.Off, v)
			}
			short := New(in[:len(in)-1], 0, false)
			if got := short.SLEB(); got != 0 || short.Error == nil {
				t.Errorf("SLEB(% x), which is cut, = %d, %v", in[:len(in)-1], got, short.Error)
			}
		}
	}
	for n := 1; n <= 10; n++ {
		if !lengths[n] {
			t.Errorf("no number of %d bytes was tried", n)
		}
	}
	// Bits past the 64th are dropped, and the sign of a byte beyond is no sign.
	long := append(bytes.Repeat([]byte{0x80}, 10), 0x7f)
	if c := New(long, 0, false); c.SLEB() != 0 || c.Error != nil || c.Off != len(long) {
		t.Errorf("a number of %d bytes: %v", len(long), c.Error)
	}
}
