package values

import "testing"

// TestX87Encodings: bits that are a number, and bits that have been none since the 80387 (Intel's manual, volume 1, 8.2.2).
func TestX87Encodings(t *testing.T) {
	for _, c := range []struct {
		exp  uint16
		man  uint64
		want string
	}{
		{0x3fff, 1 << 63, "1"}, {0xbfff, 3 << 62, "-1.5"}, {0, 0, "0"}, {0x8000, 0, "-0"}, {0x7fff, 1 << 63, "inf"}, {0x7fff, 3 << 62, "nan"},
		{0, 1 << 63, "3.3621031431120935063e-4932"}, // a pseudo-denormal, as the least normal number
		{0x3fff, 0, "invalid encoding 0x3fff0000000000000000"},
		{0x3fff, 1 << 62, "invalid encoding 0x3fff4000000000000000"},
		{0xbfff, 1 << 62, "invalid encoding 0xbfff4000000000000000"},
		{0x7fff, 0, "invalid encoding 0x7fff0000000000000000"}, // a pseudo-infinity
		{0x7fff, 1, "invalid encoding 0x7fff0000000000000001"}, // a pseudo-NaN
	} {
		raw := make([]byte, 16)
		for i := range 8 {
			raw[i] = byte(c.man >> (8 * i))
		}
		raw[8], raw[9] = byte(c.exp), byte(c.exp>>8)
		if got := x87(raw); got != c.want {
			t.Errorf("%04x %016x: %s, want %s", c.exp, c.man, got, c.want)
		}
	}
}
