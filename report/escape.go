package report

import (
	"encoding/base64"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// An escaper decides, one character of a string after the other, which can be shown as they are. Text for people and
// JSON escape the same characters.
type escaper struct{ marks int }

// maxMarks is how many combining marks in a row are shown. More of them pile up over other lines, and no
// language has them.
const maxMarks = 4

// newEscaper returns the escaper for the start of a string. A combining mark there would change the character
// before the string.
func newEscaper() escaper { return escaper{maxMarks} }

// shows reports whether the character r, of n bytes, can be shown as it is.
func (e *escaper) shows(r rune, n int) bool {
	switch {
	case r == utf8.RuneError && n <= 1, !strconv.IsPrint(r), unseen(r):
		e.marks = maxMarks
		return false
	case r >= utf8.RuneSelf && unicode.In(r, unicode.Mn, unicode.Me):
		e.marks++
		return e.marks <= maxMarks
	case r == ' ':
		e.marks = maxMarks
	default:
		e.marks = 0
	}
	return true
}

// unseen reports whether r, which Unicode calls a letter, mark or symbol, looks like nothing: fillers, selectors of
// variants, the empty pattern of Braille.
func unseen(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return r >= 0x180b && r <= 0x180f || r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0000 && r <= 0xe0fff
}

// decode returns the first character of s and its length in bytes: utf8.RuneError and 1 for a byte that is not UTF-8.
// Surrogates, which are not UTF-8 either, are decoded: strings of Windows may have one without the other.
func decode(s string) (rune, int) {
	if len(s) >= 3 && s[0] == 0xed && s[1] >= 0xa0 && s[1] <= 0xbf && s[2]&0xc0 == 0x80 {
		return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return utf8.DecodeRuneInString(s)
}

const hexDigits = "0123456789abcdef"

// appendEscape appends the escape of the character r, spelled raw.
func appendEscape(b []byte, r rune, raw string) []byte {
	switch {
	case r == '\n':
		return append(b, `\n`...)
	case r == '\t':
		return append(b, `\t`...)
	case len(raw) == 1:
		return append(b, '\\', 'x', hexDigits[raw[0]>>4], hexDigits[raw[0]&15])
	}
	return append(strconv.AppendInt(append(b, `\u{`...), int64(r), 16), '}')
}

// appendJSONString appends s as a JSON string. What clean escapes is escaped here, too, because JSON is also shown on
// terminals, with the escapes of JSON. JSON has none for bytes that are not UTF-8, and for surrogates: these become
// the text that clean makes of them.
func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	e := escaper{}
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			e.marks = 0
			i++
			continue
		}
		r, n := decode(s[i:])
		if i == 0 {
			e = newEscaper()
		}
		if e.shows(r, n) && c != '"' && c != '\\' {
			i += n
			continue
		}
		b = append(b, s[start:i]...)
		if c >= utf8.RuneSelf && !utf8.ValidString(s[i:i+n]) {
			b = appendEscape(append(b, '\\'), r, s[i:i+n])
		} else {
			b = appendJSONEscape(b, r)
		}
		i += n
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

func appendJSONEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\n':
		return append(b, '\\', 'n')
	case '\t':
		return append(b, '\\', 't')
	case '\r':
		return append(b, '\\', 'r')
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	}
	if r > 0xffff {
		r -= 0x10000
		return appendJSONEscape(appendJSONEscape(b, 0xd800|r>>10), 0xdc00|r&0x3ff)
	}
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// EscapeJSON escapes in a JSON document that is valid UTF-8, as encoding/json writes it, the characters that
// WriteJSON escapes. The document means the same.
func EscapeJSON(doc []byte) []byte {
	e := escaper{}
	var b []byte
	start := 0
	for i := 0; i < len(doc); {
		if c := doc[i]; c < 0x7f {
			if e.marks = 0; c == '"' {
				e = newEscaper() // strings begin
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(doc[i:])
		if !e.shows(r, n) {
			b = appendJSONEscape(append(b, doc[start:i]...), r)
			start = i + n
		}
		i += n
	}
	if start == 0 {
		return doc
	}
	return append(b, doc[start:]...)
}

// UTF8 returns s if it is UTF-8. In other strings bytes that are not UTF-8 become escapes as Clean writes them,
// and everything else stays.
func UTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	b := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); {
		r, n := decode(s[i:])
		if utf8.ValidString(s[i : i+n]) {
			b = append(b, s[i:i+n]...)
		} else {
			b = appendEscape(b, r, s[i:i+n])
		}
		i += n
	}
	return string(b)
}

// ExactBytes returns the bytes of a path in base64 (RFC 4648) if they are not UTF-8; otherwise "". JSON cannot
// hold such a path.
func ExactBytes(path string) string {
	if utf8.ValidString(path) {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte(path))
}
