package demangle

import "strings"

// Ada returns a name as Ada writes it that GNAT has encoded (exp_dbug.ads): "shop.stock" of "shop__stock", "main" of
// "_ada_main". A name that is not understood in full, as those that the compiler makes up, is returned unchanged.
func Ada(name string) string {
	if len(name) > MaxInput {
		return name
	}
	base := strings.TrimPrefix(name, "_ada_")
	if i := strings.LastIndexAny(base, ".$"); i > 0 && i+1 < len(base) && isNumber(base[i+1:]) { // of a nested one
		base = base[:i]
	}
	parts := strings.Split(base, "__")
	if n := len(parts) - 1; n > 0 && parts[n] != "" && isNumber(parts[n]) { // of several with one name
		parts = parts[:n]
	}
	for i, p := range parts {
		if op, ok := adaOperator(p); ok && i == len(parts)-1 && i > 0 {
			parts[i] = `"` + op + `"`
			continue
		}
		if !adaIdentifier(p) {
			return name
		}
	}
	return strings.Join(parts, ".")
}

// adaIdentifier reports whether s is an identifier of Ada, in lower case as in linkage names.
func adaIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '_' && i+1 < len(s))) {
			return false
		}
	}
	return s != ""
}

func adaOperator(s string) (string, bool) {
	switch s {
	case "Oabs", "Oand", "Omod", "Onot", "Oor", "Orem", "Oxor":
		return s[1:], true
	case "Oeq":
		return "=", true
	case "One":
		return "/=", true
	case "Olt":
		return "<", true
	case "Ole":
		return "<=", true
	case "Ogt":
		return ">", true
	case "Oge":
		return ">=", true
	case "Oadd":
		return "+", true
	case "Osubtract":
		return "-", true
	case "Oconcat":
		return "&", true
	case "Omultiply":
		return "*", true
	case "Odivide":
		return "/", true
	case "Oexpon":
		return "**", true
	}
	return "", false
}
