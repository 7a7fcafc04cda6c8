package demangle

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

// Names mangled by Microsoft's C++ compiler. There is no specification. The grammar is
// known from compiler output and described in
// https://clang.llvm.org/doxygen/MicrosoftMangle_8cpp_source.html. The output is that of
// undname.

const (
	msvcDepth    = 100            // nesting of names and types
	msvcBackrefs = 10             // names, and parameter types, that digits refer to
	msvcList     = 512            // scopes, parameters or arguments in one list
	msvcWork     = 64 * MaxOutput // bytes assembled for one name, including intermediate results
)

// An msvc demangles one name. fail empties s, so that nothing is read after a failure.
type msvc struct {
	s      string
	o      Options
	failed bool
	depth  int
	names  []string
	params []msvcType
}

// An msvcType is a type in two halves: what precedes a name and what follows it.
type msvcType struct {
	pre, post string
	kind      byte   // 'p' pointer, 'f' function, 'a' array, 0 others
	own       string // qualifiers of a pointer itself
	conv      string // calling convention of a function: goes inside the parentheses of a pointer to it
}

// An msvcSymbol is a demangled symbol: its qualified name, and what precedes and follows
// it.
type msvcSymbol struct{ pre, name, post string }

func (s msvcSymbol) String() string { return joined(s.pre, s.name) + s.post }

// msvcName demangles a name that begins with "?".
func msvcName(linkage string, o Options) (string, bool) {
	if len(linkage) > MaxInput {
		return "", false
	}
	d := msvc{s: linkage, o: o}
	sym := d.symbol()
	if d.failed || d.s != "" {
		return "", false
	}
	out := sym.String()
	if o.NoParams {
		out = sym.name
	}
	return out, out != "" && len(out) < MaxOutput
}

func (d *msvc) fail() { d.s, d.failed = "", true }

// enter limits the nesting depth; leave undoes it.
func (d *msvc) enter() bool {
	if d.depth++; d.depth > msvcDepth {
		d.fail()
	}
	return !d.failed
}

func (d *msvc) leave() { d.depth-- }

// bounded fails if a text is too long: a back reference repeats text that may contain back
// references itself.
func (d *msvc) bounded(s string) string {
	if len(s) >= MaxOutput {
		d.fail()
		return ""
	}
	return s
}

func (d *msvc) take(prefix string) bool {
	rest, ok := strings.CutPrefix(d.s, prefix)
	d.s = rest
	return ok
}

// next consumes one character; it returns 0 at the end.
func (d *msvc) next() byte {
	if d.s == "" {
		d.fail()
		return 0
	}
	c := d.s[0]
	d.s = d.s[1:]
	return c
}

func (d *msvc) peek() byte {
	if d.s == "" {
		return 0
	}
	return d.s[0]
}

// joined concatenates two texts, with a space where two words would run together.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	if c := a[len(a)-1]; c == '>' || isAlnum(c) {
		return a + " " + b
	}
	return a + b
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number reads a number: either one digit, which is the value minus one, or hexadecimal
// digits A to P ended by "@".
func (d *msvc) number() (v uint64, neg bool) {
	neg = d.take("?")
	if isDigit(d.peek()) {
		return uint64(d.next()-'0') + 1, neg
	}
	for i := 0; ; i++ {
		c := d.next()
		switch {
		case c == '@' && !d.failed:
			return v, neg
		case c >= 'A' && c <= 'P' && i < 16:
			v = v<<4 | uint64(c-'A')
		default:
			d.fail()
			return 0, false
		}
	}
}

// symbol reads a complete mangled name.
func (d *msvc) symbol() (out msvcSymbol) {
	if !d.enter() {
		return out
	}
	defer d.leave()
	if !d.take("?") {
		d.fail()
		return out
	}
	if special, ok := d.special(); ok {
		return special
	}
	name, conversion := d.qualified()
	if d.failed {
		return out
	}
	if c := d.peek(); c >= '0' && c <= '4' {
		return d.variable(name)
	}
	return d.function(name, conversion)
}

var msvcStorage = [...]string{"private: static ", "protected: static ", "public: static ", "", ""}

func (d *msvc) variable(name string) msvcSymbol {
	storage := msvcStorage[d.next()-'0']
	t := d.typ()
	if t.kind == 'p' {
		t = t.qualified(d.extended())
		switch d.next() { // the pointee already has its qualifiers
		case 'A', 'B', 'C', 'D':
		case 'Q', 'R', 'S', 'T':
			d.qualifiedType()
		default:
			d.fail()
		}
	} else {
		t = t.qualified(d.qualifiers())
	}
	return msvcSymbol{storage + t.pre, name, t.post}
}

var msvcAccess = [...]string{"private: ", "protected: ", "public: "}

// function reads what follows a function's name. conversion says that the name ends with
// the return type (a conversion operator).
func (d *msvc) function(name string, conversion bool) msvcSymbol {
	c := d.next()
	if c == '9' && d.s == "" {
		return msvcSymbol{"", name, ""} // extern "C"
	}
	pre, quals, member := "", "", false
	adjust := ""
	switch {
	case c == 'Y' || c == 'Z':
	case c == '$':
		pre, adjust = d.vtordisp()
		member = true
	case c >= 'A' && c <= 'X':
		pre = msvcAccess[(c-'A')/8]
		switch (c - 'A') % 8 / 2 {
		case 0:
			member = true
		case 1:
			pre += "static "
		case 2:
			pre, member = pre+"virtual ", true
		case 3:
			pre, member = "[thunk]: "+pre+"virtual ", true
			v, neg := d.number()
			adjust = "`adjustor{" + decimal(v, neg) + "}'"
		}
	default:
		d.fail()
		return msvcSymbol{}
	}
	if member {
		quals = d.thisQualifiers()
	}
	ret, conv, params, suffix := d.signature()
	if conversion {
		name += ret.pre + ret.post
	}
	if ret.pre != "" {
		pre += ret.pre + " "
	}
	return msvcSymbol{d.bounded(pre + conv), name, d.bounded(adjust + params + quals + suffix + ret.post)}
}

// thisQualifiers reads the qualifiers of a member function's object.
func (d *msvc) thisQualifiers() string {
	ext := d.extended()
	ref := ""
	if d.take("G") {
		ref = " &"
	} else if d.take("H") {
		ref = " &&"
	}
	quals := d.qualifiers()
	if strings.Contains(ext, "__unaligned") {
		quals += " __unaligned"
	}
	if strings.Contains(ext, "__restrict") {
		quals += " __restrict"
	}
	return quals + ref
}

var msvcConventions = lazy.Value[map[byte]string]{Make: func() map[byte]string {
	return map[byte]string{
		'A': "__cdecl", 'B': "__cdecl", 'C': "__pascal", 'D': "__pascal", 'E': "__thiscall", 'F': "__thiscall",
		'G': "__stdcall", 'H': "__stdcall", 'I': "__fastcall", 'J': "__fastcall", 'M': "__clrcall", 'N': "__clrcall",
		'O': "__eabi", 'P': "__eabi", 'Q': "__vectorcall",
	}
}}

// signature reads calling convention, return type, parameters and exception specification.
func (d *msvc) signature() (ret msvcType, conv, params, suffix string) {
	conv = msvcConventions.Get()[d.next()]
	if conv == "" {
		d.fail()
		return
	}
	if !d.take("@") {
		quals := ""
		if d.take("?") {
			quals = d.qualifiers()
		}
		ret = d.typ()
		ret = ret.qualified(quals)
	}
	params = "(" + d.parameters() + ")"
	switch {
	case d.take("_E"):
		suffix = " noexcept"
	case !d.take("Z"):
		d.fail()
	}
	return ret, conv, params, suffix
}

func (d *msvc) parameters() string {
	if d.take("X") {
		return "void"
	}
	var list []string
	for n := 0; !d.failed; n++ {
		if n == msvcList {
			d.fail()
			break
		}
		if d.take("@") {
			return d.bounded(strings.Join(list, ", "))
		}
		if d.peek() == 'Z' {
			d.take("Z")
			return d.bounded(strings.Join(append(list, "..."), ", "))
		}
		if c := d.peek(); isDigit(c) {
			d.next()
			if int(c-'0') >= len(d.params) {
				d.fail()
				break
			}
			t := d.params[c-'0']
			list = append(list, d.bounded(t.pre+t.post))
			continue
		}
		before := len(d.s)
		t := d.typ()
		if before-len(d.s) > 1 && len(d.params) < msvcBackrefs {
			d.params = append(d.params, t)
		}
		list = append(list, d.bounded(t.pre+t.post))
	}
	return ""
}

// qualifiers reads the code A to D.
func (d *msvc) qualifiers() string {
	switch d.next() {
	case 'A':
		return ""
	case 'B':
		return " const"
	case 'C':
		return " volatile"
	case 'D':
		return " const volatile"
	}
	d.fail()
	return ""
}

// extended reads pointer attributes: __ptr64, __restrict, __unaligned.
func (d *msvc) extended() (out string) {
	for {
		switch {
		case d.take("E"):
		case d.take("I"):
			out += "__restrict"
		case d.take("F"):
			out += "__unaligned"
		default:
			return out
		}
		if len(out) > 64 {
			d.fail()
			return ""
		}
	}
}

// qualified reads a name and its scopes, innermost first. conversion says that it is a
// conversion operator, whose name ends with a type read later.
func (d *msvc) qualified() (name string, conversion bool) {
	first := d.unqualified()
	scopes := d.scopes()
	switch first.what {
	case 'c', 'd': // constructor or destructor: has the name of the class
		if len(scopes) == 0 {
			d.fail()
			return "", false
		}
		class := scopes[0]
		if first.what == 'd' {
			class = "~" + class
		}
		first.text = class + first.text
	case 'v':
		first.text = "operator" + first.text + " "
	}
	slices.Reverse(scopes)
	return d.bounded(strings.Join(append(scopes, first.text), "::")), first.what == 'v'
}

// qualifiedType reads the name of a type.
func (d *msvc) qualifiedType() string {
	var first string
	switch {
	case isDigit(d.peek()):
		first = d.nameBack()
	case d.take("?$"):
		first = d.template(true).text
	default:
		first = d.simple(true)
	}
	scopes := d.scopes()
	slices.Reverse(scopes)
	return d.bounded(strings.Join(append(scopes, first), "::"))
}

func (d *msvc) scopes() (list []string) {
	for !d.take("@") {
		if d.failed || len(list) == msvcList {
			d.fail()
			return nil
		}
		for _, part := range d.scope() {
			list = append(list, d.bounded(part))
		}
	}
	return list
}

// scope reads one scope; a function's local scope has two parts.
func (d *msvc) scope() []string {
	switch {
	case isDigit(d.peek()):
		return []string{d.nameBack()}
	case d.take("?$"):
		return []string{d.template(true).text}
	case d.take("?A"):
		end := strings.IndexByte(d.s, '@')
		if end < 0 {
			d.fail()
			return nil
		}
		d.s = d.s[end+1:]
		d.memorize("`anonymous namespace'")
		return []string{"`anonymous namespace'"}
	case d.take("?"):
		v, neg := d.number()
		if neg || !d.take("?") {
			d.fail()
			return nil
		}
		sym := d.symbol()
		text := sym.String()
		if d.o.NoEnclosingParams {
			text = sym.name
		}
		return []string{"`" + decimal(v, false) + "'", "`" + text + "'"}
	}
	return []string{d.simple(true)}
}

func (d *msvc) nameBack() string {
	i := int(d.next() - '0')
	if i >= len(d.names) {
		d.fail()
		return ""
	}
	return d.names[i]
}

func (d *msvc) memorize(name string) {
	if len(d.names) < msvcBackrefs && !slices.Contains(d.names, name) {
		d.names = append(d.names, name)
	}
}

func (d *msvc) simple(memorize bool) string {
	end := strings.IndexByte(d.s, '@')
	if end <= 0 {
		d.fail()
		return ""
	}
	name := d.s[:end]
	d.s = d.s[end+1:]
	if memorize {
		d.memorize(name)
	}
	return name
}

// A msvcIdent is the last part of a name. what is 'c' for a constructor, 'd' for a
// destructor, 'v' for a conversion operator, whose text is its template arguments.
type msvcIdent struct {
	text string
	what byte
}

func (d *msvc) unqualified() msvcIdent {
	switch {
	case isDigit(d.peek()):
		return msvcIdent{text: d.nameBack()}
	case d.take("?$"):
		return d.template(false)
	case d.take("?"):
		return d.operator()
	}
	return msvcIdent{text: d.simple(true)}
}

// template reads a name with template arguments, which have their own back references.
func (d *msvc) template(memorize bool) (id msvcIdent) {
	if !d.enter() {
		return id
	}
	defer d.leave()
	names, params := d.names, d.params
	d.names, d.params = nil, nil
	id = d.unqualified()
	args := d.arguments()
	d.names, d.params = names, params
	if d.o.NoTemplateParams {
		args = ""
	}
	id.text = d.bounded(id.text + "<" + args + ">")
	if memorize {
		if id.what != 0 {
			d.fail()
		}
		d.memorize(id.text)
	}
	return id
}

func (d *msvc) arguments() string {
	var list []string
	for n := 0; !d.take("@"); n++ {
		if d.failed || n == msvcList {
			d.fail()
			return ""
		}
		switch {
		case d.take("$$V"), d.take("$$$V"), d.take("$S"), d.take("$$Z"): // an empty parameter pack, or the end of one
		case d.take("$0"):
			v, neg := d.number()
			list = append(list, decimal(v, neg))
		case d.take("$1"):
			list = append(list, "&"+d.symbol().String())
		case d.take("$E"):
			list = append(list, d.symbol().String())
		default:
			d.take("$$B") // an array that does not decay
			t := d.typ()
			list = append(list, d.bounded(t.pre+t.post))
		}
	}
	return d.bounded(strings.Join(list, ", "))
}
