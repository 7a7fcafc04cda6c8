package ruby

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Where the flags of a String have its encoding, and the number of that of bytes without a meaning.
const (
	encodingShift  = 22
	encodingMask   = 127
	binaryEncoding = 0
)

// escapes are the characters that inspect writes with a letter, and these.
const escapes, letters = "\n\r\t\f\v\b\a\x1b\"\\", `nrtfvbae"\`

// quoted writes a string in quotes, in one line: text are those whose bytes are characters.
func quoted(s string, text bool) string {
	var b strings.Builder
	b.WriteByte('"')
	for len(s) > 0 {
		c, n := utf8.DecodeRuneInString(s)
		if !text && c >= utf8.RuneSelf {
			c, n = utf8.RuneError, 1
		}
		part, rest := s[:n], s[n:]
		switch {
		case c == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02X`, s[0])
		case c == '#' && rest != "" && strings.IndexByte("{$@", rest[0]) >= 0:
			b.WriteString(`\#`)
		case strings.Contains(escapes, part):
			b.WriteByte('\\')
			b.WriteByte(letters[strings.Index(escapes, part)])
		case c == 0x7f:
			b.WriteString(`\x7F`)
		case strconv.IsPrint(c):
			b.WriteString(part)
		case !text:
			fmt.Fprintf(&b, `\x%02X`, c)
		case c > 0xffff:
			fmt.Fprintf(&b, `\u{%X}`, c)
		default:
			fmt.Fprintf(&b, `\u%04X`, c)
		}
		s = rest
	}
	b.WriteByte('"')
	return b.String()
}

// symbol writes a Symbol; what is no name is in quotes.
func symbol(name string) string {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == '"' || c == 0x7f || strings.IndexByte("()[]{},;:#'`.", c) >= 0 && name != "[]" && name != "[]=" {
			return ":" + quoted(name, true)
		}
	}
	return ":" + name
}

// symbolKey writes a Symbol, ":a", as Ruby 3.4 has it before its value in a Hash, "a": what could not be read there again is in quotes.
func symbolKey(s string) string {
	name := strings.TrimPrefix(s, ":")
	switch {
	case strings.HasPrefix(name, `"`): // it is in quotes
		return name
	case name == "" || strings.IndexByte("@$!", name[0]) >= 0 || strings.IndexByte("+-*/`%^&|]<=>~@", name[len(name)-1]) >= 0:
		return quoted(name, true)
	}
	return name
}
