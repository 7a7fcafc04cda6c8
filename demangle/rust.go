package demangle

import (
	"strconv"
	"strings"
)

// rustHash is the length of the suffix of a legacy Rust name: 'h' and sixteen hexadecimal
// digits.
const rustHash = len("17h0123456789abcdefE")

// keepUnderscores doubles the underscore at the start of a component of a legacy Rust name,
// because the demangler takes it for a separator after the component's length. An
// underscore before an escape ("_$LT$") is meant to be dropped and stays single. Other
// names are returned unchanged.
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
