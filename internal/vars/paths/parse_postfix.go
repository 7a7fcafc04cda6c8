package paths

import (
	"fmt"
	"strings"
)

// What follows an operand: members, elements, calls, attributes.

func (p *parser) postfix(x Node) (Node, error) {
	for n := 0; ; n++ {
		if n > maxText/2 {
			return nil, &Error{p.peek().where, "an expression that is too long"}
		}
		t := p.peek()
		if t.kind != operator {
			return x, nil
		}
		switch t.text {
		case "p^":
			p.i++
			x = &Unary{at: at(x.At()), Op: "*", X: x}
		case "(":
			var err error
			if x, err = p.call(x); err != nil {
				return nil, err
			}
		case "'":
			p.i++
			if p.is("(") { // a qualified expression: colour'(green)
				var err error
				if x, err = p.qualified(x); err != nil {
					return nil, err
				}
				continue
			}
			a := p.next()
			if a.kind != name {
				return nil, &Error{a.where, "the name of an attribute is expected after \"'\""}
			}
			x = &Attribute{at: at(x.At()), X: x, Name: a.text}
		case ".", "->":
			p.i++
			if p.is("(") && t.text == "." && p.in.Calls() {
				var err error
				if x, err = p.assertion(x); err != nil {
					return nil, err
				}
				continue
			}
			m := p.next()
			if p.in == Ada && m.kind == name && strings.EqualFold(m.text, "all") {
				x = &Unary{at: at(x.At()), Op: "*", X: x}
				continue
			}
			if m.kind == operator && m.text == "*" && p.in == Plain { // x.*member
				if err := p.deeper(); err != nil {
					return nil, err
				}
				y, err := p.prefix()
				p.depth--
				if err != nil {
					return nil, err
				}
				x = &Binary{at: at(x.At()), Op: t.text + "*", X: x, Y: y}
				continue
			}
			if m.kind != name && m.kind != quoted && (m.kind != number || t.text == "->") {
				return nil, &Error{m.where, fmt.Sprintf("the name of a member is expected after %q", t.text)}
			}
			full := m.text
			if m.kind == name { // Base::member
				for p.is("::") && p.tokens[p.i+1].kind == name {
					p.i++
					full += "::" + p.next().text
				}
			}
			x = &Member{at: at(x.At()), X: x, Name: full, Arrow: t.text == "->"}
		case "[":
			p.i++
			var err error
			if x, err = p.index(x); err != nil {
				return nil, err
			}
		default:
			return x, nil
		}
	}
}

// qualified parses (y) of x'(y), which is a conversion.
func (p *parser) qualified(x Node) (Node, error) {
	open := p.peek().where
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	p.i++
	y, err := p.expression()
	if err != nil {
		return nil, err
	}
	return &Call{at: at(x.At()), Fun: x, Args: []Node{y}, Open: open}, p.expect(")")
}

// call parses what is in the parentheses after an operand.
func (p *parser) call(x Node) (Node, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	c := &Call{at: at(x.At()), Fun: x, Open: p.next().where}
	if p.take(")") {
		return c, nil
	}
	for {
		a, err := p.argument()
		if err != nil {
			return nil, err
		}
		if c.Args = append(c.Args, a); p.take(")") {
			return c, nil
		}
		if p.peek().kind == end {
			return nil, p.expect(")")
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

// argument parses one of a call: in Fortran 1:3, in Ada 1 .. 3 may be one.
func (p *parser) argument() (a Node, err error) {
	between := ""
	switch p.in {
	case Fortran:
		between = ":"
	case Ada:
		between = ".."
	}
	where := p.peek().where
	if p.in == Fortran && p.take("::") { // a(::2)
		r := &Range{at: at(where)}
		if !p.is(")") && !p.is(",") {
			r.Step, err = p.expression()
		}
		return r, err
	}
	if between == "" || !p.is(between) {
		if a, err = p.expression(); err != nil || between == "" {
			return a, err
		}
	}
	if !p.take(between) {
		return a, nil
	}
	r := &Range{at: at(where), From: a}
	if !p.is(")") && !p.is(",") && !p.is(":") {
		if r.To, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if p.in == Fortran && p.take(":") {
		r.Step, err = p.expression()
	}
	return r, err
}

// assertion parses (T) after x. of Go.
func (p *parser) assertion(x Node) (Node, error) {
	open := p.next()
	for depth := 1; ; {
		t := p.next()
		switch {
		case t.kind == end:
			return nil, &Error{t.where, "\")\" is missing at the end"}
		case t.kind != operator:
		case t.text == "(":
			depth++
		case t.text == ")":
			if depth--; depth == 0 {
				name := strings.TrimSpace(p.s[open.where+1 : t.where])
				if name == "" {
					return nil, &Error{t.where, "a type is expected in .(T)"}
				}
				return &Assertion{at: at(x.At()), X: x, Type: name}, nil
			}
		}
	}
}

// index parses what is in brackets.
func (p *parser) index(x Node) (Node, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	var from, to Node
	var err error
	between := func() bool { return p.take(":") || p.take("..") || p.take("..=") }
	if !p.is(":") && !p.is("..") && !p.is("..=") {
		if from, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if !between() {
		x = &Index{at: at(x.At()), X: x, I: from}
		for n := 1; p.in == Pascal && n < maxDepth && p.take(","); n++ { // a[1, 2] is a[1][2]
			if from, err = p.expression(); err != nil {
				return nil, err
			}
			x = &Index{at: at(x.At()), X: x, I: from}
		}
		return x, p.expect("]")
	}
	whole := p.tokens[p.i-1].text == "..=" || p.in == Pascal && p.tokens[p.i-1].text == ".."
	if !p.is("]") {
		if to, err = p.expression(); err != nil {
			return nil, err
		}
		if whole { // with the last one
			to = &Binary{at: at(to.At()), Op: "+", X: to, Y: &Number{at: at(to.At()), Value: 1}}
		}
	}
	return &Slice{at: at(x.At()), X: x, From: from, To: to}, p.expect("]")
}
