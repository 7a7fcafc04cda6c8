package demangle

import (
	"strconv"
	"strings"
)

// haskellName is the name of what GHC compiled: module and name, with the package before them where it is not the program, and what the symbol is of
// the closure behind them: base_GHCziBase_map_info. It is understood if it has an escape of GHC's, or is the program's main module.
func haskellName(s string) (string, bool) {
	switch s[strings.LastIndexByte(s, '_')+1:] {
	case "info", "closure", "entry", "slow", "fast", "ret":
	default:
		return "", false
	}
	parts := strings.Split(s, "_") // others are escaped
	last := len(parts) - 1
	if last > 1 && parts[last-1] == "con" {
		last--
	}
	if last < 2 || last > 3 || parts[0] != "Main" && !hasZCode(s) {
		return "", false
	}
	module, ok1 := zDecoded(parts[last-2])
	name, ok2 := zDecoded(parts[last-1])
	if !ok1 || !ok2 || name == "" {
		return "", false
	}
	for m := range strings.SplitSeq(module, ".") {
		if m == "" || m[0] < 'A' || m[0] > 'Z' {
			return "", false
		}
	}
	return module + "." + name, true
}

// zCode is what two characters stand for (GHC's Z-encoding); "" if they are none.
func zCode(c, next byte) string {
	const lower, of = "abcdeghilmnpqrstuvz", "&|^$=>#.<-!+'\\/*_%z"
	const upper, to = "LRMNCZ", "()[]:Z"
	if i := strings.IndexByte(lower, next); c == 'z' && i >= 0 {
		return of[i : i+1]
	}
	if i := strings.IndexByte(upper, next); c == 'Z' && i >= 0 {
		return to[i : i+1]
	}
	return ""
}

func hasZCode(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if zCode(s[i], s[i+1]) != "" {
			return true
		}
	}
	return false
}

// zDecoded decodes a part of a name; false if it is not one. Z0T is (), Z3T a tuple of three, Z1H one that is not boxed, z3bbU a character.
func zDecoded(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == 'z' || c == 'Z':
			if i+1 == len(s) {
				return "", false
			}
			if r := zCode(c, s[i+1]); r != "" {
				b.WriteString(r)
				i++
				continue
			}
			r, n := zNumber(c, s[i+1:])
			if n == 0 {
				return "", false
			}
			b.WriteString(r)
			i += n
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '\'':
			b.WriteByte(c)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// zNumber decodes what follows z or Z and begins with a digit, and how long that is; 0 if it is none.
func zNumber(c byte, s string) (string, int) {
	end := strings.IndexAny(s, "UTH")
	if end <= 0 || end > 6 {
		return "", 0
	}
	if c == 'z' {
		n, err := strconv.ParseUint(s[:end], 16, 21)
		if err != nil || s[end] != 'U' || n < 0x80 && n != 0x7f || n > 0x10ffff {
			return "", 0
		}
		return string(rune(n)), end + 1
	}
	n, err := strconv.ParseUint(s[:end], 10, 6)
	if err != nil || s[end] == 'U' {
		return "", 0
	}
	commas := strings.Repeat(",", max(int(n)-1, 0))
	if s[end] == 'H' {
		return "(#" + commas + "#)", end + 1
	}
	return "(" + commas + ")", end + 1
}
