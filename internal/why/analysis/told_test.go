package analysis

import "testing"

// A text that was written is a part of a longer one.
func TestWithin(t *testing.T) {
	for text, want := range map[string]bool{
		"say: too long\x00":                  true,
		"\x00too long at 3":                  true,
		"\x00too long\x00":                   false,
		"\x01too long\x00":                   false,
		"\x00too long\x00say: too long":      true,
		"too long":                           false,
		"\x00too lon\x00g too short\x00\x00": false,
	} {
		if got := within([]byte(text), "too long"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
