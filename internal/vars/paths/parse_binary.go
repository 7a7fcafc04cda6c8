package paths

import "slices"

// Operators between operands, and how much they bind in each language.

// levels are the binary operators, those that bind least first.
var levels = [...][]string{{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", "<=", ">", ">="}, {"<<", ">>"}, {"@"}, {"+", "-"}, {"*", "/", "%"}}

// Those of languages in which they bind otherwise.
var (
	levelsOfRust    = [...][]string{{"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">="}, {"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"@"}, {"+", "-"}, {"*", "/", "%"}}
	levelsOfGo      = [...][]string{{"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">="}, {"@"}, {"+", "-", "|", "^"}, {"*", "/", "%", "<<", ">>", "&", "&^"}}
	levelsOfFortran = [...][]string{{"eqv", "neqv"}, {"||"}, {"&&"}, {"!"}, {"==", "!=", "<", "<=", ">", ">="}, {"@"}, {"+", "-"}, {"*", "/"}}
	levelsOfPascal  = [...][]string{{"==", "!=", "<", "<=", ">", ">=", "in"}, {"@"}, {"+", "-", "|", "^"}, {"*", "/", "div", "%", "&", "<<", ">>"}}
	levelsOfAda     = [...][]string{{"||", "&&", "^"}, {"==", "!=", "<", "<=", ">", ">="}, {"@"}, {"+", "-"}, {"*", "/", "%", "mod"}}
)

// levels are those of the dialect.
func (p *parser) levels() [][]string {
	switch p.in {
	case Rust:
		return levelsOfRust[:]
	case Go:
		return levelsOfGo[:]
	case Fortran:
		return levelsOfFortran[:]
	case Ada:
		return levelsOfAda[:]
	case Pascal:
		return levelsOfPascal[:]
	}
	return levels[:]
}

// expression parses x, or x ? y : z.
func (p *parser) expression() (Node, error) {
	x, err := p.binary(0)
	if err != nil || !p.take("?") {
		return x, err
	}
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	y, err := p.expression()
	if err != nil {
		return nil, err
	}
	if err := p.expect(":"); err != nil {
		return nil, err
	}
	z, err := p.expression()
	return &Ternary{at: at(x.At()), If: x, X: y, Y: z}, err
}

func (p *parser) binary(level int) (Node, error) {
	all := p.levels()
	if level == len(all) {
		return p.unary()
	}
	if not := p.peek(); p.in == Fortran && all[level][0] == "!" { // which binds less than comparisons
		if !p.take("!") {
			return p.binary(level + 1)
		}
		if err := p.deeper(); err != nil {
			return nil, err
		}
		defer func() { p.depth-- }()
		x, err := p.binary(level)
		return &Unary{at: at(not.where), Op: "!", X: x}, err
	}
	sign := p.peek()
	signed := p.in == Ada && all[level][0] == "+" && (p.take("-") || p.take("+")) // -7 mod 3 is -(7 mod 3)
	x, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
	if signed {
		x = &Unary{at: at(sign.where), Op: sign.text, X: x}
	}
	for {
		t := p.peek()
		if p.in == Ada && all[level][0] == "==" && p.word("in") {
			p.i++
			if x, err = p.membership(x, level+1); err != nil {
				return nil, err
			}
			continue
		}
		if t.kind != operator || !slices.Contains(all[level], t.text) {
			return x, nil
		}
		p.i++
		if p.in == Ada && (p.word("then") || p.word("else")) { // and then, or else
			p.i++
		}
		y, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		if t.text == "@" {
			x = &Slice{at: at(x.At()), X: x, To: y, Run: true}
		} else {
			x = &Binary{at: at(x.At()), Op: t.text, X: x, Y: y}
		}
	}
}

// membership parses a .. b behind x in.
func (p *parser) membership(x Node, level int) (Node, error) {
	from, err := p.binary(level)
	if err != nil {
		return nil, err
	}
	if err := p.expect(".."); err != nil {
		return nil, err
	}
	to, err := p.binary(level)
	if err != nil {
		return nil, err
	}
	return &Binary{at: at(x.At()), Op: "&&", X: &Binary{at: at(x.At()), Op: ">=", X: x, Y: from}, Y: &Binary{at: at(x.At()), Op: "<=", X: x, Y: to}}, nil
}
