package signature

import "strings"

// swiftFailure is how the names begin of the inlined calls with which Swift's compiler says why the program is ended.
const swiftFailure = "Swift runtime failure: "

// normalizeSwift normalises names of Swift that are more than names of types and functions between points: "closure #1 in Foo.bar" is
// Foo.bar.{closure}. It returns false for all others.
func normalizeSwift(s string) (string, bool) {
	s = strings.TrimPrefix(s, "partial apply for ")
	if rest, ok := strings.CutPrefix(s, "protocol witness for "); ok {
		s, _, _ = strings.Cut(rest, " in conformance ")
		return strings.TrimPrefix(s, "static "), true
	}
	for _, suffix := range [...]string{" infix", " prefix", " postfix"} {
		if strings.HasSuffix(s, suffix) {
			return strings.TrimPrefix(s, "static "), true
		}
	}
	if strings.HasPrefix(s, swiftFailure) || strings.HasPrefix(s, "thunk for @") {
		return s, true
	}
	parts := strings.Split(s, " in ")
	swift := false
	for i, p := range parts {
		if name, number, _ := strings.Cut(p, " #"); isVersion(number) {
			if parts[i], swift = name, true; name == "closure" || name == "implicit closure" {
				parts[i] = "{closure}"
			}
		}
	}
	if !swift {
		return "", false
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		if of := strings.LastIndex(p, " of "); of >= 0 {
			p = p[of+len(" of "):]
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strings.TrimPrefix(strings.TrimPrefix(p, "static "), "@objc "))
	}
	return b.String(), true
}
