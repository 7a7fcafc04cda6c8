package demangle

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/swiftname"
)

// otherName demangles a name of a language whose names no prefix of the Itanium C++ ABI marks: D, Swift, OCaml, Free Pascal,
// Crystal, Haskell, Objective-C. It returns false unless it understands the whole name.
func otherName(s string, o Options) (string, bool) {
	if len(s) < 5 || len(s) > MaxInput {
		return "", false
	}
	switch {
	case s[0] == '_' && s[1] == 'D':
		return dName(s, o)
	case strings.HasPrefix(s, "_i_") || strings.HasPrefix(s, "_c_"):
		return objcName(s)
	case swiftname.Mangled(s):
		base, _ := SplitVersion(s)
		return swiftname.Name(base, swiftname.Options{NoParams: o.NoParams})
	case strings.HasPrefix(s, "caml"):
		return ocamlName(s[4:])
	case s[0] == '*':
		return crystalName(s[1:], o)
	case s[0] >= 'A' && s[0] <= 'Z' && strings.Contains(s, "_$$_"):
		return pascalName(s, o)
	case s[0] >= 'A' && s[0] <= 'z':
		return haskellName(s)
	}
	return "", false
}

// objcName is the name of a method of Objective-C that GCC compiled for GNU's runtime: -[Circle crashAt:total:] of
// _i_Circle__crashAt_total_, +[Circle(Extra) make] of _c_Circle_Extra_make. A method with arguments ends in ":", and so has one for
// each "_"; one without keeps them. Classes begin with an upper-case letter: other names may be C's.
func objcName(s string) (string, bool) {
	class, rest, ok := strings.Cut(s[3:], "_")
	category, method, ok2 := strings.Cut(rest, "_")
	upper := func(s string) bool { return s != "" && s[0] >= 'A' && s[0] <= 'Z' && plainWord(s) }
	if !ok || !ok2 || !upper(class) || category != "" && !upper(category) || !plainWord(strings.TrimLeft(method, "_")) {
		return "", false
	}
	if strings.HasSuffix(method, "_") {
		method = strings.ReplaceAll(method, "_", ":")
	}
	if category != "" {
		category = "(" + category + ")"
	}
	return map[bool]string{true: "-", false: "+"}[s[1] == 'i'] + "[" + class + category + " " + method + "]", true
}

// ocamlName is the name of a function that ocamlopt compiled: module and nested modules, the name, and a number that makes it
// unique: Stdlib__List__map_42.
func ocamlName(s string) (string, bool) {
	if s == "" || s[0] < 'A' || s[0] > 'Z' {
		return "", false
	}
	stamp := strings.LastIndexByte(s, '_')
	if stamp <= 0 || stamp+1 == len(s) || !isNumber(s[stamp+1:]) {
		return "", false
	}
	parts := strings.Split(strings.ReplaceAll(s[:stamp], ".", "__"), "__")
	for i, p := range parts {
		name, ok := ocamlEscapes(p)
		last := i == len(parts)-1
		if !ok || name == "" || last && i == 0 || !last && (p[0] < 'A' || p[0] > 'Z') {
			return "", false
		}
		parts[i] = name
	}
	return strings.Join(parts, "."), true
}

// ocamlEscapes decodes the characters of operators: $2b is "+".
func ocamlEscapes(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '$':
			if i+2 >= len(s) {
				return "", false
			}
			high, low := hexDigit(s[i+1]), hexDigit(s[i+2])
			if v := 16*high + low; high < 0 || low < 0 || v < 0x21 || v > 0x7e {
				return "", false
			} else {
				b.WriteByte(byte(v))
			}
			i += 2
		case c == '_' || c == '\'' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			b.WriteByte(c)
		default:
			return "", false
		}
	}
	return b.String(), true
}

func hexDigit(c byte) int { return strings.IndexByte("0123456789abcdef", c) }

// pascalName is the name of a routine that Free Pascal compiled, without the letters' case, which is lost: of a program
// P$SHOP_$$_SELL$LONGINT$$BOOLEAN, of a method of a unit STOCK$_$TSHELF_$__$$_PUT$LONGINT.
func pascalName(s string, o Options) (string, bool) {
	path, rest, _ := strings.Cut(strings.TrimPrefix(s, "P$"), "_$$_")
	path, class, nested := strings.Cut(path, "$_$")
	if !pascalWord(path) {
		return "", false
	}
	if nested {
		var ok bool
		if class, ok = strings.CutSuffix(class, "_$_"); !ok || !pascalWord(class) {
			return "", false
		}
		path += "." + class
	}
	rest, result, function := strings.Cut(rest, "$$")
	parts := strings.Split(rest, "$")
	for _, p := range parts {
		if !pascalWord(strings.TrimPrefix(p, "array_of_")) {
			return "", false
		}
	}
	if function && !pascalWord(result) {
		return "", false
	}
	name := path + "." + parts[0]
	if o.NoParams {
		return name, true
	}
	name += "(" + strings.Join(parts[1:], ", ") + ")"
	if function {
		name += ": " + result
	}
	return name, true
}

// LostCase reports whether a linkage name is one of Free Pascal, which wrote it in upper case whatever the source has.
func LostCase(s string) bool {
	if !strings.Contains(s, "_$$_") {
		return false
	}
	_, ok := pascalName(s, Options{})
	return ok
}

func pascalWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; !(c >= 'A' && c <= 'Z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// crystalName is the name of a method that Crystal compiled: Shop#sell<Int32>:Nil, without the result.
func crystalName(s string, o Options) (string, bool) {
	depth, colon, args := 0, -1, -1
	for i := range len(s) {
		switch c := s[i]; {
		case c == '<' || c == '(' || c == '{':
			if c == '<' && depth == 0 && i > 0 && isWordByte(s[i-1]) {
				args = i
			}
			depth++
		case c == '>' || c == ')' || c == '}':
			if depth--; depth < 0 {
				return "", false
			}
		case c == ':' && depth == 0 && (i+1 < len(s) && s[i+1] != ':') && s[max(i-1, 0)] != ':':
			colon = i
		case c <= ' ' && depth == 0 || c >= 0x7f:
			return "", false
		}
	}
	if depth != 0 || colon <= 0 || colon+1 == len(s) || !isWordByte(s[colon+1]) || !isWordByte(s[0]) {
		return "", false
	}
	if args > colon {
		args = -1
	}
	if o.NoParams && args > 0 {
		return s[:args], true
	}
	return s[:colon], true
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '?' || c == '!'
}

// lengthOf reads the decimal number at the start of s, and how many digits it has.
func lengthOf(s string) (n, digits int) {
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		if n = 10*n + int(s[digits]-'0'); n > MaxInput {
			return 0, digits
		}
		digits++
	}
	return n, digits
}

// adaOrUpper reports whether s is an identifier of ASCII letters, digits and underscores.
func adaOrUpper(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') && !(i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}
