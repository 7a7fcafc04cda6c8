package demangle

import "strings"

// Names of D (https://dlang.org/spec/abi.html#name_mangling), without instances of templates.

// dName demangles a function or a variable of D: main.foo(int) of _D4main3fooFiZv.
func dName(s string, o Options) (string, bool) {
	if s == "_Dmain" {
		return "D main", true
	}
	p := dParser{s: s, i: 2, left: maxDSteps}
	name := p.qualified(o)
	if p.bad || p.i >= len(s) {
		return "", false
	}
	if name.params == "" { // a variable
		p.kind()
	} else {
		p.kind() // of the result
	}
	if p.bad || p.i != len(s) {
		return "", false
	}
	if len(name.path)+len(name.params) > MaxOutput {
		return "", false
	}
	if o.NoParams {
		return name.path, true
	}
	return name.path + name.params, true
}

const (
	maxDSteps = 1 << 12 // of types and names, with those that are referred back to
	maxDDepth = 64
)

type dParser struct {
	s     string
	i     int
	left  int
	depth int
	bad   bool
}

func (p *dParser) fail() string { p.bad = true; return "" }

func (p *dParser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

// step counts one type or name; false if there are too many.
func (p *dParser) step() bool {
	if p.left--; p.left < 0 {
		p.bad = true
	}
	return !p.bad
}

type dSymbol struct{ path, params string }

// qualified reads names, the function among which may be around the next: main.outer(int).inner.
func (p *dParser) qualified(o Options) (sym dSymbol) {
	var b strings.Builder
	for p.step() && b.Len() < MaxOutput {
		word := p.word()
		if p.bad {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(word)
		if c := p.peek(); c == 'M' || dConvention(c) {
			from := p.i
			params := p.function()
			if p.bad {
				p.bad, p.i = false, from
				break
			}
			if p.named() {
				if !o.NoParams && !o.NoEnclosingParams {
					b.WriteString(params)
				}
				continue
			}
			sym.params = params
			break
		}
		if !p.named() {
			break
		}
	}
	sym.path = b.String()
	return sym
}

// word reads a name with its length in front.
func (p *dParser) word() string {
	if p.peek() == 'Q' {
		at, next := p.target()
		if p.bad {
			return ""
		}
		p.i = at
		w := p.plainWord()
		p.i = next
		return w
	}
	return p.plainWord()
}

// named reports whether a name comes next, or a reference to one.
func (p *dParser) named() bool {
	c := p.peek()
	if c == 'Q' {
		from := p.i
		at, _ := p.target()
		ok := !p.bad
		p.bad, p.i = false, from
		return ok && p.s[at] >= '1' && p.s[at] <= '9'
	}
	return c >= '1' && c <= '9'
}

func (p *dParser) plainWord() string {
	n, digits := lengthOf(p.s[p.i:])
	at := p.i + digits
	if n == 0 || n > len(p.s)-at {
		return p.fail()
	}
	w := p.s[at : at+n]
	p.i = at + n
	switch w {
	case "__ctor":
		return "this"
	case "__dtor":
		return "~this"
	case "__postblit":
		return "this(this)"
	}
	if !adaOrUpper(w) || strings.HasPrefix(w, "__T") || strings.HasPrefix(w, "__U") || strings.HasPrefix(w, "__S") {
		return p.fail()
	}
	return w
}

func dConvention(c byte) bool { return c == 'F' || c == 'U' || c == 'W' || c == 'R' || c == 'Y' }

// function reads the type of a function without that of its result.
func (p *dParser) function() string {
	if p.peek() == 'M' { // it has this
		p.i++
		for strings.IndexByte("xyO", p.peek()) >= 0 && p.i < len(p.s) {
			p.i++
		}
	}
	if !dConvention(p.peek()) {
		return p.fail()
	}
	p.i++
	for p.peek() == 'N' && p.i+1 < len(p.s) && strings.IndexByte("abcdefijlm", p.s[p.i+1]) >= 0 {
		p.i += 2
	}
	var list []string
	for p.step() {
		mode := ""
		switch c := p.peek(); c {
		case 'X', 'Y', 'Z':
			p.i++
			if c == 'Y' {
				list = append(list, "...")
			}
			if c == 'X' && len(list) > 0 {
				list[len(list)-1] += "..."
			}
			return "(" + strings.Join(list, ", ") + ")"
		case 'J':
			mode = "out "
			p.i++
		case 'K':
			mode = "ref "
			p.i++
		case 'L':
			mode = "lazy "
			p.i++
		case 'M':
			mode = "scope "
			p.i++
		case 'I':
			mode = "in "
			p.i++
		}
		if p.bad {
			break
		}
		list = append(list, mode+p.kind())
		if p.bad || len(list) > 256 {
			break
		}
	}
	return p.fail()
}

// kind reads a type.
func (p *dParser) kind() string {
	if p.depth++; p.depth > maxDDepth || !p.step() || p.i >= len(p.s) {
		return p.fail()
	}
	defer func() { p.depth-- }()
	c := p.s[p.i]
	p.i++
	if name, ok := dBasic(c); ok {
		return name
	}
	switch c {
	case 'x':
		return "const(" + p.kind() + ")"
	case 'y':
		return "immutable(" + p.kind() + ")"
	case 'O':
		return "shared(" + p.kind() + ")"
	case 'A':
		return p.kind() + "[]"
	case 'P':
		if dConvention(p.peek()) {
			params := p.function()
			return p.kind() + params + " function"
		}
		return p.kind() + "*"
	case 'D':
		params := p.function()
		return p.kind() + params + " delegate"
	case 'G':
		_, digits := lengthOf(p.s[p.i:])
		if digits == 0 || digits > 18 {
			return p.fail()
		}
		n := p.s[p.i : p.i+digits]
		p.i += digits
		return p.kind() + "[" + n + "]"
	case 'H':
		key := p.kind()
		return p.kind() + "[" + key + "]"
	case 'C', 'S', 'E', 'I', 'T':
		sym := p.qualified(Options{})
		if sym.params != "" {
			return p.fail()
		}
		return sym.path
	case 'N':
		switch p.peek() {
		case 'g':
			p.i++
			return "inout(" + p.kind() + ")"
		case 'n':
			p.i++
			return "noreturn"
		}
	case 'z':
		switch p.peek() {
		case 'i':
			p.i++
			return "cent"
		case 'k':
			p.i++
			return "ucent"
		}
	case 'Q':
		return p.back()
	}
	return p.fail()
}

// back reads a reference to a type before.
func (p *dParser) back() string {
	p.i--
	at, next := p.target()
	if p.bad {
		return ""
	}
	p.i = at
	t := p.kind()
	p.i = next
	return t
}

// target reads a reference to what is before, whose distance is a number of base 26. It returns where that is, and what follows.
func (p *dParser) target() (at, next int) {
	from, n := p.i, 0
	for p.i++; p.i < len(p.s) && n <= MaxInput; {
		c := p.s[p.i]
		p.i++
		switch {
		case c >= 'A' && c <= 'Z':
			n = 26*n + int(c-'A')
			continue
		case c >= 'a' && c <= 'z':
			if n = 26*n + int(c-'a'); n > 0 && n <= from-2 {
				return from - n, p.i
			}
		}
		break
	}
	p.bad = true
	return 0, 0
}

func dBasic(c byte) (string, bool) {
	switch c {
	case 'v':
		return "void", true
	case 'g':
		return "byte", true
	case 'h':
		return "ubyte", true
	case 's':
		return "short", true
	case 't':
		return "ushort", true
	case 'i':
		return "int", true
	case 'k':
		return "uint", true
	case 'l':
		return "long", true
	case 'm':
		return "ulong", true
	case 'f':
		return "float", true
	case 'd':
		return "double", true
	case 'e':
		return "real", true
	case 'b':
		return "bool", true
	case 'a':
		return "char", true
	case 'u':
		return "wchar", true
	case 'w':
		return "dchar", true
	case 'n':
		return "typeof(null)", true
	}
	return "", false
}
