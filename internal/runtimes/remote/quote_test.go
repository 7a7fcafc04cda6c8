package remote

import (
	"fmt"
	"testing"
	"unicode"
)

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"": `''`, "it": `'it'`, "it's": `"it's"`, `"it's"`: `'"it\'s"'`, `"`: `'"'`,
		"a\n\r\t\\b": `'a\n\r\t\\b'`, "\x00é": `'<0>é'`,
	} {
		if got := Quote([]rune(text), unicode.IsPrint, func(c rune) string { return fmt.Sprintf("<%x>", c) }); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestQuoteBytes(t *testing.T) {
	for _, c := range [][3]string{{"", "", `""`}, {"a\n\r\t\x00\x1f\x7f\xc3\xa9", "", "\"a\\n\\r\\t\\x00\\x1f\\x7f\xc3\xa9\""}, {`a"b\c`, "", `"a"b\c"`}, {`a"b\c`, `"\`, `"a\"b\\c"`}} {
		if got := QuoteBytes(c[0], c[1]); got != c[2] {
			t.Errorf("%q: %s, want %s", c[0], got, c[2])
		}
	}
}
