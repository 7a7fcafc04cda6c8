package signature

import "strings"

// isGo reports whether a name is a Go name: package path, dot, function.
func isGo(s string) bool {
	dot := strings.IndexByte(s, '.')
	if dot <= 0 || strings.Contains(s, "::") || strings.ContainsAny(s, " <") {
		return false
	}
	open := strings.IndexByte(s, '(')
	return open < 0 || strings.HasSuffix(s[:open], ".") || strings.Contains(s, ".(*")
}

// normalizeGo removes the shapes of generics and the numbers of closures and wrappers.
func normalizeGo(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == '[' {
			i = skipBracket(s, i)
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	s = strings.ReplaceAll(strings.ReplaceAll(b.String(), "·", "."), "%2e", ".")
	s = strings.TrimSuffix(s, "-fm") // a method value
	slash := strings.LastIndexByte(s, '/') + 1
	parts := strings.Split(s[slash:], ".")
	out := parts[:1] // the package
	for _, part := range parts[1:] {
		part, _, _ = strings.Cut(part, "-range")
		switch word := strings.TrimRight(part, "0123456789"); {
		case word == "" && part != "":
			continue // the number of an inner closure or of an init function
		case word == "func" || word == "gowrap" || word == "deferwrap":
			part = word
			if out[len(out)-1] == word {
				continue
			}
		}
		out = append(out, part)
	}
	return s[:slash] + strings.Join(writtenInGo(out), ".")
}

// writtenInGo leaves out of a name the functions into which the one was inlined that a closure is written in: Go's compiler makes a copy of the closure
// for each, and names it by both, as "main.main.(*T).f.func1". parts begin with the package. Where the first of two names may be that of a type,
// nothing is left out.
func writtenInGo(parts []string) []string {
	from := 1
	for i := 2; i < len(parts); i++ {
		if strings.HasPrefix(parts[i], "(*") {
			from = i
		}
	}
	first := func(i int) bool { return parts[i] == "init" || parts[i] == "main" && parts[0] == "main" } // no type has that name
	if from == 1 && len(parts) > 2 && first(1) {
		switch parts[2] {
		case "func", "gowrap", "deferwrap", "":
		default:
			from = 2
		}
	}
	return append(parts[:1], parts[from:]...)
}
