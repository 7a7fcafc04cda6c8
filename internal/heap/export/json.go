package export

import "unicode/utf8"

// appendString adds a string of JSON (RFC 8259, section 7) in ASCII, in which nothing ends the script of a page.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r >= ' ' && r < 0x7f && r != '"' && r != '\\' && r != '<' && r != '>' && r != '&':
			b = append(b, byte(r))
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r > 0xffff:
			r -= 0x10000
			b = appendUnit(appendUnit(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
		case r == utf8.RuneError:
			b = append(b, '?') // what cleans has left no such bytes
		default:
			b = appendUnit(b, r)
		}
	}
	return append(b, '"')
}

func appendUnit(b []byte, u rune) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[u>>12&15], digits[u>>8&15], digits[u>>4&15], digits[u&15])
}
