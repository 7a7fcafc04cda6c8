package service

import (
	"strings"
	"testing"
)

// A file is what its bytes are. A character that is cut is no reason against text, a wrong byte is.
func TestTypeOf(t *testing.T) {
	for head, want := range map[string]string{
		"":         typeText,
		"a\tb\r\n": typeText,
		"x" + strings.Repeat("\u00e9", maxHead)[:maxHead-1]: typeText,
		"abc\xff":                               typeOther,
		"a\x00b":                                typeOther,
		strings.Repeat("\xff", maxHead):         typeOther,
		"<svg onload='alert(1)'></svg>":         typeText,
		"\xff\xfea\x00":                         typeOther,
		"\x89PNG\r\n\x1a\n":                     "image/png",
		"%PDF-1.7 \x01":                         typeOther,
		strings.Repeat("a", maxHead-1) + "\xe2": typeText,
		strings.Repeat("a", maxHead-2) + "\xe2": typeOther,
	} {
		if got := typeOf([]byte(head)); got != want {
			t.Errorf("%.20q: %s, want %s", head, got, want)
		}
	}
}
