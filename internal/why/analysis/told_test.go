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

// A path ends with a member, but for indexes, or with a variable.
func TestLastMember(t *testing.T) {
	for path, want := range map[string]string{
		"cache.bucket[4]->val->data": "data", "s.names[3]": "names", "names[3]": "", "text": "", "*l.0": "", "l.head.0": "head", "s->_M_p": "_M_p", "s.$buf": "$buf", "$buf": "", "[7]": "", "": "",
	} {
		if got := lastMember(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
