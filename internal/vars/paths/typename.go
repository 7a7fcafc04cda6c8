package paths

import (
	"fmt"
	"slices"
	"strings"
)

// Names of types, as C, C++, Rust and Go write them.

// The words that begin or are the name of a type only.
const typeWords = " struct union class enum const volatile unsigned signed char short int long float double bool void _Bool wchar_t char8_t char16_t char32_t "

func typeWord(s string) bool { return strings.Contains(typeWords, " "+s+" ") }

// typeName parses the name of a type. sure says that it cannot be a variable.
func (p *parser) typeName() (t TypeName, sure, ok bool) {
	if p.in == Go && (p.is("[") || p.word("map") || p.word("chan")) {
		t, ok = p.goType()
		return t, true, ok
	}
	if p.take("*") { // Go: *main.node
		t, _, ok = p.typeName()
		t = t.Pointer()
		return t, p.is(")") && p.i+1 < len(p.tokens) && p.tokens[p.i+1].text == "(", ok
	}
	var words []string
	for p.peek().kind == name && typeWord(p.peek().text) {
		sure = true
		if w := p.next().text; w != "const" && w != "volatile" {
			words = append(words, w)
		}
	}
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	if last == "" || slices.Contains([]string{"struct", "union", "class", "enum"}, last) {
		n, isName := p.scoped()
		if !isName {
			return t, false, false
		}
		words = append(words, n)
	}
	t.Name = strings.Join(words, " ")
	for {
		switch {
		case p.plain == 0 && p.take("*"):
			t.Pointers++
			sure = sure || p.is(")") || p.is("*")
		case p.word("const") || p.word("volatile"):
			p.i++
		case (p.is("&") || p.is("&&")) && !t.Reference && p.closes(p.i+1):
			p.i++
			t.Reference, sure = true, true
		default:
			if p.dims(&t) {
				sure = true
			}
			return t, sure, true
		}
	}
}

// dims parses what makes an array of a type: (*)[16], [3][4]. It takes nothing, and returns false, if that does not come next.
func (p *parser) dims(t *TypeName) bool {
	from, outer := p.i, 0
	if p.is("(") && strings.HasPrefix(p.tokens[p.i+1].text, "*") && p.tokens[p.i+1].kind == operator {
		p.i++
		for p.take("*") {
			outer++
		}
		if !p.take(")") || !p.is("[") && !p.is("(") {
			p.i = from
			return false
		}
		if p.is("(") {
			if t.Function = p.signature(); t.Function == nil {
				p.i = from
				return false
			}
			t.Outer = outer
			return true
		}
	}
	var list []uint64
	for p.is("[") && len(list) < maxDims {
		n := &p.tokens[p.i+1]
		if n.kind != number || p.tokens[p.i+2].text != "]" {
			p.i = from
			return false
		}
		list = append(list, n.value)
		p.i += 3
	}
	if len(list) == 0 {
		return false
	}
	t.Dims, t.Outer = list, outer
	return true
}

// signature parses the parameters of the type of a function: (int, char *), (void), (). It returns nil if they are none.
func (p *parser) signature() *Signature {
	if p.depth >= maxDepth {
		return nil
	}
	p.depth++
	defer func() { p.depth-- }()
	p.i++
	s := new(Signature)
	if p.take(")") {
		return s
	}
	for len(s.Params) < maxSignature {
		if s.Variadic = p.take("..."); !s.Variadic {
			from := p.i
			t, _, ok := p.typeName()
			if !ok || slices.ContainsFunc(p.tokens[from:p.i], func(t token) bool { return t.text == "const" || t.text == "volatile" }) {
				return nil // names of types leave these out: it would be another type
			}
			s.Params = append(s.Params, t)
		}
		if p.take(")") {
			if len(s.Params) == 1 && s.Params[0].String() == "void" {
				s.Params = nil
			}
			return s
		}
		if s.Variadic || !p.take(",") {
			return nil
		}
	}
	return nil
}

// maxSignature is how many parameters the name of a type has at most.
const maxSignature = 32

// maxDims is how many dimensions an array has at most that the name of a type makes.
const maxDims = 8

// goType parses []T, [n]T, map[K]V and chan T, which the compiler names by their text, but the second.
func (p *parser) goType() (t TypeName, ok bool) {
	if err := p.deeper(); err != nil {
		return t, false
	}
	defer func() { p.depth-- }()
	from := p.peek().where
	if p.is("[") && p.tokens[p.i+1].kind == number {
		n := p.tokens[p.i+1].value
		p.i += 2
		if !p.take("]") {
			return t, false
		}
		t, _, ok = p.typeName()
		t.Dims = append([]uint64{n}, t.Dims...)
		return t, ok && t.Outer == 0 && len(t.Dims) <= maxDims
	}
	if p.word("map") || p.word("chan") {
		p.i++
	}
	if p.is("[") {
		to := p.closing()
		if to == 0 {
			return t, false
		}
		p.i = to + 1
	}
	if _, _, ok = p.typeName(); !ok {
		return t, false
	}
	last := &p.tokens[p.i-1]
	return TypeName{Name: p.s[from : last.where+len(last.text)]}, true
}

// closes reports whether a token ends the name of a type in brackets.
func (p *parser) closes(i int) bool {
	t := &p.tokens[i]
	if t.kind != operator {
		return false
	}
	if p.angle > 0 {
		return t.text == ">"
	}
	return t.text == ")" && p.tokens[i+1].kind != end && (p.tokens[i+1].kind != operator || slices.Contains([]string{"*", "(", "&", "-", "~", "!"}, p.tokens[i+1].text))
}

// castNamed parses static_cast<T>(x) and its like.
func (p *parser) castNamed() (Node, error) {
	op := p.next()
	if err := p.expect("<"); err != nil {
		return nil, err
	}
	p.angle++
	from := p.peek()
	typ, _, ok := p.typeName()
	p.angle--
	if !ok {
		return nil, &Error{from.where, fmt.Sprintf("a type is expected after %s<", op.text)}
	}
	for _, b := range [...]string{">", "("} {
		if err := p.expect(b); err != nil {
			return nil, err
		}
	}
	x, err := p.expression()
	if err != nil {
		return nil, err
	}
	return &Cast{at: at(op.where), Op: op.text, Type: typ, X: x}, p.expect(")")
}

// rustType parses *const T, *mut T, &T or T.
func (p *parser) rustType() (t TypeName, ok bool) {
	if p.take("*") || p.take("&") {
		reference := p.tokens[p.i-1].text == "&"
		mut := p.word("mut")
		if p.word("const") || mut {
			p.i++
		}
		if t, ok := p.rustUnsized(mut); ok && reference {
			return t, true
		}
		if err := p.deeper(); err != nil {
			return t, false
		}
		defer func() { p.depth-- }()
		inner, ok := p.rustType()
		return inner.Pointer(), ok
	}
	if p.is("[") {
		return p.rustArray()
	}
	if p.is("(") { // a tuple is known by its text
		if to := p.closing(); to > 0 {
			from := p.peek().where
			p.i = to + 1
			return TypeName{Name: p.s[from : p.tokens[to].where+1]}, true
		}
	}
	p.plain++
	inner, _, ok := p.typeName()
	p.plain--
	return inner, ok
}

// rustUnsized parses str and [T] after "&": the compiler calls the reference &str.
func (p *parser) rustUnsized(mut bool) (TypeName, bool) {
	mark := "&"
	if mut {
		mark = "&mut "
	}
	if p.word("str") {
		p.i++
		return TypeName{Name: mark + "str"}, true
	}
	if to := p.closing(); to > 0 && p.is("[") {
		from := p.peek().where
		if text := p.s[from : p.tokens[to].where+1]; !strings.Contains(text, ";") {
			p.i = to + 1
			return TypeName{Name: mark + text}, true
		}
	}
	return TypeName{}, false
}

// rustArray parses [T; n].
func (p *parser) rustArray() (t TypeName, ok bool) {
	if err := p.deeper(); err != nil {
		return t, false
	}
	defer func() { p.depth-- }()
	p.i++
	inner, ok := p.rustType()
	if !ok || !p.take(";") || p.peek().kind != number || inner.Outer > 0 || len(inner.Dims) >= maxDims {
		return t, false
	}
	n := p.next().value
	inner.Dims = append([]uint64{n}, inner.Dims...)
	return inner, p.take("]")
}

// closing returns the token that closes the parenthesis or bracket that comes next; 0 if there is none.
func (p *parser) closing() int {
	depth := 0
	for i := p.i; i < len(p.tokens); i++ {
		if t := &p.tokens[i]; t.kind == operator {
			switch t.text {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				if depth--; depth == 0 {
					return i
				}
			}
		}
		if depth == 0 {
			return 0
		}
	}
	return 0
}

// Pointer returns the type of pointers to t.
func (t TypeName) Pointer() TypeName {
	if len(t.Dims) > 0 || t.Function != nil {
		t.Outer++
	} else {
		t.Pointers++
	}
	return t
}

// scoped parses a name with its scopes, members of packages and template arguments: ns::tile<int>, main.node.
func (p *parser) scoped() (string, bool) {
	first := p.peek()
	switch first.kind {
	case quoted:
		p.i++
		return first.text, true
	case name:
	default:
		if !p.is("::") {
			return "", false
		}
		p.i++
		first = p.peek()
	}
	if first.kind != name {
		return "", false
	}
	end := p.next()
	for {
		t := p.peek()
		switch {
		case t.kind != operator:
			return p.s[first.where : end.where+len(end.text)], true
		case (t.text == "::" || t.text == ".") && p.tokens[p.i+1].kind == name:
			p.i++
			end = p.next()
		case t.text == "<" && !t.space:
			last := p.matching()
			if last < 0 {
				return p.s[first.where : end.where+len(end.text)], true
			}
			end = &p.tokens[last]
			p.i = last + 1
		default:
			return p.s[first.where : end.where+len(end.text)], true
		}
	}
}

// matching returns the token that closes the template arguments that begin here; -1 if there is none.
func (p *parser) matching() int {
	depth := 0
	for i := p.i; i < len(p.tokens); i++ {
		t := &p.tokens[i]
		if t.kind != operator {
			continue
		}
		switch t.text {
		case "<":
			depth++
		case ">":
			depth--
		case ">>":
			if p.angle > 0 && depth == 1 {
				p.split(i)
				return i
			}
			depth -= 2
		case "::", ",", "*", "&", "[", "]", "(", ")", "-", ":":
		default:
			return -1
		}
		if depth == 0 {
			return i
		}
		if depth < 0 {
			return -1
		}
	}
	return -1
}

// split makes two tokens of ">>".
func (p *parser) split(i int) {
	first := p.tokens[i]
	first.text = ">"
	second := first
	second.where++
	second.space = false
	p.tokens = append(p.tokens[:i:i], append([]token{first, second}, p.tokens[i+1:]...)...)
}
