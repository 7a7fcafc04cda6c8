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
