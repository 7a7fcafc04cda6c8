package demangle

import (
	"strconv"
	"strings"
)

// rustHash ends a legacy Rust name: 'h' and sixteen hexadecimal digits.
const rustHash = len("17h0123456789abcdefE")

// keepUnderscores doubles the underscore that a part of a legacy Rust name begins
// with, since the demangler takes one for a separator after the part's length. An
// underscore before an escape ("_$LT$") is meant to be dropped. Other names are
// returned as they are.
func keepUnderscores(s string) string {
	if n := len(s) - rustHash; n < 0 || !strings.HasPrefix(s, "_ZN") || !strings.HasPrefix(s[n:], "17h") || s[len(s)-1] != 'E' {
		return s
	}
	var b strings.Builder
	b.WriteString("_ZN")
	for rest := s[len("_ZN"):]; rest != "E"; {
		digits := 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n > len(rest)-digits {
			return s
		}
		part := rest[digits : digits+n]
		rest = rest[digits+n:]
		if strings.HasPrefix(part, "_") && !strings.HasPrefix(part, "_$") {
			part = "_" + part
		}
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteString(part)
	}
	return b.String() + "E"
}
