package paths

import (
	"fmt"
	"slices"
	"strings"
)

// Limits on an expression.
const (
	maxText  = 4096
	maxDepth = 100
)

// Parse parses an expression. The error is an *Error.
func Parse(s string) (Node, error) { return ParseIn(s, Plain) }

// ParseIn parses an expression in a dialect.
func ParseIn(s string, in Dialect) (Node, error) {
	if len(s) > maxText {
		return nil, &Error{maxText, fmt.Sprintf("an expression of more than %d bytes", maxText)}
	}
	tokens, err := lex(s, in)
	if err != nil {
		return nil, err
	}
	p := parser{s: s, tokens: tokens, in: in}
	if p.peek().kind == end {
		return nil, &Error{0, "an empty expression"}
	}
	n, err := p.sequence()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != end {
		return nil, p.unexpected(t)
	}
	return n, nil
}

// sequence parses x, y of C, which is y if x has a value.
func (p *parser) sequence() (Node, error) {
	x, err := p.expression()
	for n := 0; err == nil && p.in == Plain && n < maxDepth && p.take(","); n++ {
		var y Node
		y, err = p.expression()
		x = &Binary{at: at(x.At()), Op: ",", X: x, Y: y}
	}
	return x, err
}

type parser struct {
	s      string
	tokens []token
	in     Dialect
	i      int
	depth  int
	plain  int // of how many types of Rust the name is being read: what follows it is no mark of C's, but an operator
	angle  int // of how many casts of C++ the type is being read: ">>" ends two pairs of brackets then
}

func (p *parser) peek() *token { return &p.tokens[p.i] }

func (p *parser) next() *token {
	t := &p.tokens[p.i]
	if t.kind != end {
		p.i++
	}
	return t
}

// is reports whether an operator comes next.
func (p *parser) is(op string) bool {
	t := p.peek()
	return t.kind == operator && t.text == op
}

// take skips an operator, if it comes next.
func (p *parser) take(op string) bool {
	if p.is(op) {
		p.i++
		return true
	}
	return false
}

// word reports whether a name comes next.
func (p *parser) word(w string) bool {
	t := p.peek()
	return t.kind == name && t.text == w
}

func (p *parser) expect(op string) error {
	if !p.take(op) {
		t := p.peek()
		if t.kind == end {
			return &Error{t.where, fmt.Sprintf("%q is missing at the end", op)}
		}
		return &Error{t.where, fmt.Sprintf("%q expected before %q", op, p.s[t.where:])}
	}
	return nil
}

func (p *parser) unexpected(t *token) error {
	switch {
	case t.kind == end:
		return &Error{t.where, "the expression ends too early"}
	case t.kind != operator:
	case t.text == "=" || t.text == ":=" || t.text == "++" || t.text == "--" || len(t.text) > 1 && strings.HasSuffix(t.text, "=") && !strings.Contains("<=>===!=", t.text):
		return &Error{t.where, fmt.Sprintf("%q would change the process, which is only read", t.text)}
	case t.text == ",":
		return &Error{t.where, "a comma: one expression is evaluated at a time"}
	}
	return &Error{t.where, fmt.Sprintf("%q is not expected here", p.s[t.where:])}
}

// deeper counts nesting.
func (p *parser) deeper() error {
	if p.depth++; p.depth > maxDepth {
		return &Error{p.peek().where, "an expression that nests too deep"}
	}
	return nil
}

// unary parses an operand, and Rust's conversions of it, which bind less than the operators before it.
func (p *parser) unary() (Node, error) {
	x, err := p.prefix()
	if err != nil {
		return nil, err
	}
	for p.word("as") {
		p.i++
		typ, ok := p.rustType()
		if !ok {
			return nil, &Error{p.peek().where, `a type is expected after "as"`}
		}
		x = &Cast{at: at(x.At()), Type: typ, X: x}
	}
	return x, nil
}

func (p *parser) prefix() (Node, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	t := p.peek()
	if t.kind == operator && (slices.Contains([]string{"*", "&", "-", "+", "~", "!", "abs"}, t.text) || p.in == Go && t.text == "^") {
		p.i++
		x, err := p.prefix()
		op := t.text
		if op == "^" {
			op = "~"
		}
		return &Unary{at: at(t.where), Op: op, X: x}, err
	}
	if t.kind == operator && t.text == "{" {
		return p.braced()
	}
	if p.in == D && t.kind == name && t.text == "cast" && p.tokens[p.i+1].text == "(" {
		p.i++
		if c, err := p.castTo(true); c != nil || err != nil {
			return c, err
		}
		return nil, p.unexpected(p.peek())
	}
	if t.kind == name && p.in.Calls() && (t.text == "sizeof" || p.in == Plain && p.tokens[p.i+1].text == "(" && (t.text == "alignof" || t.text == "_Alignof")) {
		return p.sizeof()
	}
	if p.is("(") {
		if c, err := p.cast(); c != nil || err != nil {
			return c, err
		}
	}
	x, err := p.primary()
	if err != nil {
		return nil, err
	}
	if x, err = p.postfix(x); err != nil || p.in != Fortran && p.in != Ada && p.in != D || !p.take("**") {
		return x, err
	}
	y, err := p.prefix()
	return &Binary{at: at(x.At()), Op: "**", X: x, Y: y}, err
}

// braced parses gdb's {type} address.
func (p *parser) braced() (Node, error) {
	where := p.next().where
	typ, _, ok := p.typeName()
	if !ok {
		return nil, &Error{p.peek().where, `a type is expected after "{"`}
	}
	if err := p.expect("}"); err != nil {
		return nil, err
	}
	x, err := p.prefix()
	if err != nil {
		return nil, err
	}
	typ.Reference = false
	return &Unary{at: at(where), Op: "*", X: &Cast{at: at(where), Type: typ.Pointer(), X: x}}, nil
}

func (p *parser) sizeof() (Node, error) {
	t := p.next()
	n := &Sizeof{at: at(t.where), Align: t.text != "sizeof"}
	if p.is("(") {
		from := p.i
		p.i++
		only := typeWord(p.peek().text) // what begins so is no expression
		typ, sure, ok := TypeName{}, false, false
		if p.in == Rust {
			typ, ok = p.rustType()
			sure = typ.Pointers+len(typ.Dims) > 0
		} else {
			typ, sure, ok = p.typeName()
		}
		if ok && p.take(")") {
			after := p.i
			if !only {
				if p.i = from; sure { // v[2] may be an element, or an array of a type
					p.i++
				}
				if x, err := p.unary(); err == nil && (!sure || p.take(")") && p.i == after) {
					if n.X = x; p.i == after {
						n.Type = typ
					}
					return n, nil
				}
			}
			p.i, n.Type = after, typ // a template has no other meaning
			return n, nil
		}
		p.i = from
	}
	var err error
	n.X, err = p.unary()
	return n, err
}

// cast parses (type)x. It returns nil, and takes nothing, if that does not come next.
func (p *parser) cast() (Node, error) { return p.castTo(false) }

// castTo is cast; known says that it is one.
func (p *parser) castTo(known bool) (Node, error) {
	from := p.i
	where := p.next().where
	typ, sure, ok := p.typeName()
	if !ok || !p.take(")") {
		p.i = from
		return nil, nil
	}
	next := p.peek()
	if !sure && !known { // (x) * y is no cast, (x) y is one
		operand := next.kind != operator && next.kind != end && !(next.kind == name && next.text == "as") || next.kind == operator && (next.text == "(" || next.text == "~" || next.text == "!")
		if !operand {
			p.i = from
			return nil, nil
		}
	}
	x, err := p.prefix()
	if err != nil {
		return nil, err
	}
	return &Cast{at: at(where), Type: typ, X: x}, nil
}

func (p *parser) primary() (Node, error) {
	if t := p.peek(); t.kind == name && slices.Contains([]string{"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast"}, t.text) && p.tokens[p.i+1].text == "<" {
		return p.castNamed()
	}
	t := p.next()
	switch t.kind {
	case number:
		return &Number{at: at(t.where), Value: t.value, Unsigned: t.unsigned, Wide: t.wide, Based: t.radix, Char: t.char, Type: t.typ}, nil
	case float:
		return &Float{at(t.where), t.real, t.text == "f"}, nil
	case text:
		whole := t.text
		for p.in == Plain && p.peek().kind == text { // "a" "b"
			whole += p.next().text
		}
		return &Text{at(t.where), whole, t.bytes}, nil
	case register:
		return &Register{at(t.where), t.text}, nil
	case quoted:
		full := t.text
		for p.is("::") && p.tokens[p.i+1].kind == name { // 'libc.so.6'::rc, 'file.c'::function::counter
			p.i++
			full += "::" + p.next().text
		}
		return &Ident{at: at(t.where), Name: full, Quoted: true}, nil
	case name:
		switch t.text {
		case "true":
			return &Number{at: at(t.where), Value: 1, Bool: true}, nil
		case "false":
			return &Number{at: at(t.where), Bool: true}, nil
		case "null":
			if p.in == Ada || p.in == D {
				return &Number{at: at(t.where)}, nil
			}
		case "nullptr", "NULL", "nil":
			return &Number{at: at(t.where)}, nil
		}
		if typeWord(t.text) && p.in != Fortran && p.is("(") && !slices.Contains([]string{"struct", "union", "class", "enum", "const", "volatile"}, t.text) {
			p.i++
			x, err := p.expression()
			if err != nil {
				return nil, err
			}
			return &Cast{at: at(t.where), Type: TypeName{Name: t.text}, X: x}, p.expect(")")
		}
		return p.ident(t), nil
	case operator:
		switch t.text {
		case "::":
			if first := p.peek(); first.kind == name {
				p.i++
				x := p.ident(first)
				x.Global = true
				return x, nil
			}
		case "(":
			if err := p.deeper(); err != nil {
				return nil, err
			}
			defer func() { p.depth-- }()
			x, err := p.sequence()
			if err != nil {
				return nil, err
			}
			switch x := x.(type) {
			case *Ident:
				x.Bracketed = true
			case *Binary:
				x.Bracketed = true
			}
			return x, p.expect(")")
		case "[":
			if p.in == Rust || p.in == D || p.in == Pascal {
				return p.list(t.where)
			}
		}
	}
	return nil, p.unexpected(t)
}

// list parses [1, 2, 3] and [0; 4] behind the bracket.
func (p *parser) list(where int) (Node, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	l := &List{at: at(where)}
	if p.in == Pascal && p.take("]") { // a set of nothing
		return l, nil
	}
	for {
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		if p.in == Pascal && p.take("..") {
			to, err := p.expression()
			if err != nil {
				return nil, err
			}
			x = &Range{at: at(x.At()), From: x, To: to}
		}
		l.Items = append(l.Items, x)
		if p.in == Rust && len(l.Items) == 1 && p.take(";") {
			if l.Count, err = p.expression(); err != nil {
				return nil, err
			}
		}
		if p.take("]") {
			return l, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

// ident parses the rest of a name with scopes: ns::tile<int>::count.
func (p *parser) ident(first *token) *Ident {
	last := first
	for {
		from := p.i
		if p.is("<") && !p.peek().space { // template arguments, if a scope or nothing to compare with follows
			if to := p.matching(); to >= 0 && p.tokens[to+1].text == "::" && p.tokens[to+1].kind == operator {
				p.i = to + 1
			} else if to >= 0 && p.in == Plain && (p.tokens[to+1].kind == end || p.tokens[to+1].kind == operator && slices.Contains([]string{")", "]", ","}, p.tokens[to+1].text)) {
				last, p.i = &p.tokens[to], to+1
				return &Ident{at: at(first.where), Name: p.s[first.where : last.where+len(last.text)]}
			}
		}
		if p.is("::") && p.tokens[p.i+1].kind == name {
			p.i++
			last = p.next()
			continue
		}
		p.i = from
		return &Ident{at: at(first.where), Name: p.s[first.where : last.where+len(last.text)]}
	}
}
