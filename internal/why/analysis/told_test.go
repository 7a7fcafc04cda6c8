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

// The last name of a path is that of a member or variable, not of an index.
func TestLastName(t *testing.T) {
	for path, want := range map[string]string{
		"cache.bucket[4]->val->data": "data", "names[3]": "names", "text": "text", "*l.0": "l", "s->_M_p": "_M_p", "$buf": "$buf", "[7]": "", "": "",
	} {
		if got := lastName(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
