package remote

import (
	"strconv"
	"strings"
)

// Quote writes characters in quotes as Python and JavaScript do: in double ones if there is a single one among them and no double one. plain
// reports whether a character stands for itself, and escape writes those that do not.
func Quote(chars []rune, plain func(rune) bool, escape func(rune) string) string {
	q := '\''
	if s := string(chars); strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = '"'
	}
	var b strings.Builder
	b.WriteRune(q)
	for _, c := range chars {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\\' || c == q:
			b.WriteByte('\\')
			b.WriteRune(c)
		case plain(c):
			b.WriteRune(c)
		default:
			b.WriteString(escape(c))
		}
	}
	b.WriteRune(q)
	return b.String()
}

// QuoteBytes writes bytes in double quotes, in one line: a backslash is before those of escaped, and control characters are numbers or have letters.
func QuoteBytes(s, escaped string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case strings.IndexByte(escaped, c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c == 0x7f:
			b.WriteString(`\x` + strconv.FormatUint(uint64(c)+0x100, 16)[1:])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
