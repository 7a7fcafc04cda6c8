package paths

import "strings"

// ParseTyped parses the name of a type, or an expression whose type is meant: "struct tile *", "q->head", and, as it may be either, "tile". X of
// what it returns is nil for the name of a type. The error is an *Error.
func ParseTyped(s string, in Dialect) (*Sizeof, error) {
	if len(s) > maxText {
		_, err := ParseIn(s, in)
		return nil, err
	}
	tokens, err := lex(s, in)
	if err != nil {
		return nil, err
	}
	p := parser{s: s, tokens: tokens, in: in}
	if in == Rust && (p.is("&") || p.is("*") || p.is("[") || p.is("(")) {
		if typ, ok := p.rustType(); ok && p.peek().kind == end {
			n, err := ParseIn(s, in)
			if err != nil {
				return &Sizeof{Type: typ}, nil
			}
			return &Sizeof{X: n, Type: typ}, nil
		}
		p.i = 0
	}
	if in == Fortran {
		if name, ok := typeOfFortran(s); ok {
			return &Sizeof{Type: TypeName{Name: name}}, nil
		}
	}
	typ, sure, ok := p.typeName()
	sure = sure && !(in == Go && p.tokens[0].text == "*")
	whole := ok && p.peek().kind == end
	if whole && sure {
		return &Sizeof{Type: typ}, nil
	}
	n, err := ParseIn(s, in)
	if err != nil && whole { // a template
		return &Sizeof{Type: typ}, nil
	}
	if err != nil {
		return nil, err
	}
	return &Sizeof{X: n, Type: typ}, nil
}

// typeOfFortran returns the name of a type as a declaration of Fortran has it: integer*8, real(kind=8), type(item).
func typeOfFortran(s string) (string, bool) {
	name := strings.ToLower(strings.Join(strings.Fields(s), ""))
	for _, word := range [...]string{"integer", "real", "logical", "complex", "character", "doubleprecision"} {
		rest, ok := strings.CutPrefix(name, word)
		if !ok || strings.Trim(rest, "()*=kind0123456789") != "" {
			continue
		}
		return name, rest == "" || rest[0] == '*' || rest[0] == '(' && rest[len(rest)-1] == ')'
	}
	if rest, ok := strings.CutPrefix(name, "type("); ok && strings.HasSuffix(rest, ")") {
		return strings.TrimSuffix(rest, ")"), true
	}
	return "", false
}
