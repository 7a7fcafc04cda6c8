package remote

import "strings"

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
