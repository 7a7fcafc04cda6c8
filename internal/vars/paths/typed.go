package paths

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
