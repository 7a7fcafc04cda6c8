package paths

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A kind is what a token is.
type kind uint8

const (
	end kind = iota
	name
	quoted // a name in quotes
	number
	float
	text
	register
	operator
)

type token struct {
	kind  kind
	text  string
	value uint64
	real  float64
	where int

	unsigned bool   // it is a number with the suffix u
	wide     bool   // with the suffix l
	radix    bool   // with another base than 10
	typ      string // of a number of Rust: u8
	char     bool   // it is written as a character
	bytes    bool   // a string of Rust's bytes
	space    bool   // space comes before it
}

// operand reports whether a token ends an operand.
func (t *token) operand() bool {
	return t.kind != end && (t.kind != operator || t.text == ")" || t.text == "]")
}

// access reports whether the name of a member or of what is in a scope follows.
func (t *token) access() bool {
	return t.kind == operator && (t.text == "." || t.text == "->" || t.text == "::")
}

// The operators, the longest first.
var operators = [...]string{
	"<<=", ">>=", "...", "..=", "..", "->", "::", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
	":=", "(", ")", "[", "]", "{", "}", ".", ",", ":", ";", "?", "*", "&", "-", "+", "~", "!", "/", "%", "<", ">", "|", "^", "=", "@",
}

// lex splits an expression into tokens.
func lex(s string, in Dialect) ([]token, error) {
	var out []token
	var last token
	for i := 0; ; {
		from := i
		for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
			i++
		}
		t := token{where: i, space: i > from}
		if i == len(s) {
			return append(out, t), nil
		}
		n, ok := t.special(s[i:], in, &last)
		if !ok {
			var err error
			if n, err = t.read(s[i:], &last, in); err != nil {
				return nil, err
			}
		}
		i += n
		out, last = append(out, t), t
	}
}

// read reads the token at the start of s, and returns its length. last is the one before: after "." and "->" the name of a
// member is expected, and 0.1 are two numbers.
func (t *token) read(s string, last *token, in Dialect) (int, error) {
	member := last.kind == operator && (last.text == "." || last.text == "->")
	switch c := s[0]; {
	case c == '"':
		return t.quote(s, text)
	case c == '\'':
		return t.single(s)
	case in == Plain && !member && wideMark(s) > 0:
		return t.ofWide(s, wideMark(s))
	case in == Rust && c == 'b' && len(s) > 1 && (s[1] == '"' || s[1] == '\''):
		return t.ofBytes(s)
	case c == '$':
		n := 1
		if n < len(s) && s[n] == '$' {
			n++
		}
		from := n
		for n < len(s) && digit(s[n]) {
			n++
		}
		if n == from && n == 1 {
			n += nameLength(s[n:])
		}
		t.kind, t.text = register, s[1:n]
		return n, nil
	case digit(c), c == '.' && !last.operand() && len(s) > 1 && digit(s[1]):
		return t.number(s, member, in)
	}
	if n := nameLength(s); n > 0 {
		t.kind, t.text = name, s[:n]
		return n, nil
	}
	for _, o := range operators {
		if strings.HasPrefix(s, o) {
			t.kind, t.text = operator, o
			return len(o), nil
		}
	}
	r, _ := utf8.DecodeRuneInString(s)
	return 0, &Error{t.where, fmt.Sprintf("%q is not part of an expression", r)}
}

func nameLength(s string) int {
	for i, r := range s {
		if r == '_' || r == utf8.RuneError || unicode.IsLetter(r) || i > 0 && (unicode.IsDigit(r) || r == '$') {
			continue
		}
		return i
	}
	return len(s)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// number reads a number as C, Go and Rust write them.
func (t *token) number(s string, member bool, in Dialect) (int, error) {
	n := 0
	for n < len(s) && (s[n] == '_' || digit(s[n]) || s[n]|0x20 >= 'a' && s[n]|0x20 <= 'z') {
		n++
	}
	t.kind, t.text = number, s[:n]
	if member {
		return n, nil
	}
	if m := floatLength(s, in); m > 0 {
		return t.float(s, m, in)
	}
	written, base := s[:n], 0
	switch in {
	case Rust:
		written, t.typ = suffixOfRust(written)
		if t.typ == "f32" || t.typ == "f64" {
			return t.float(s, len(written), in)
		}
	case Fortran: // 7_8 is one of kind 8
		digits, kind, ok := strings.Cut(written, "_")
		if ok && kind != "1" && kind != "2" && kind != "4" && kind != "8" {
			return 0, &Error{t.where, fmt.Sprintf("%s: a kind is 1, 2, 4 or 8", written)}
		}
		if written = digits; ok {
			t.typ = "integer*" + kind
		}
	case Ada:
		if m := t.based(s); m > 0 {
			return m, nil
		}
		base = 10
	case Pascal:
		base = 10
	}
	digits := strings.ReplaceAll(written, "_", "")
	if len(digits) < 2 || digits[0] != '0' || digits[1]|0x20 != 'x' {
		if strings.HasSuffix(digits, "i") {
			return 0, &Error{t.where, fmt.Sprintf("%s: imaginary numbers are not computed with", s[:n])}
		}
		digits = strings.TrimRight(digits, "uUlLzZ") // 1ull
	} else {
		base = 0
	}
	if in == Fortran {
		base = 10
	}
	v, err := strconv.ParseUint(strings.TrimRight(digits, "uUlL"), base, 64)
	if err != nil {
		return 0, &Error{t.where, fmt.Sprintf("%s is not an integer of 64 bits", s[:n])}
	}
	suffix := written[len(strings.TrimRight(written, "uUlL")):]
	t.value, t.unsigned, t.wide = v, strings.ContainsAny(suffix, "uU"), strings.ContainsAny(suffix, "lL")
	t.radix = len(digits) > 1 && digits[0] == '0' && base == 0
	return n, nil
}

// suffixOfRust parts a number of Rust and the type that is written behind it: 7u8.
func suffixOfRust(s string) (digits, typ string) {
	hex := strings.HasPrefix(s, "0x")
	for _, suffix := range [...]string{"u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64"} {
		if rest, ok := strings.CutSuffix(s, suffix); ok && rest != "" && rest != "0x" && !(hex && suffix[0] == 'f') {
			return strings.TrimRight(rest, "_"), suffix
		}
	}
	return s, ""
}

// based reads a number of Ada with a base: 16#ff#. It returns its length, or 0 if it is none.
func (t *token) based(s string) int {
	base, rest, ok := strings.Cut(s, "#")
	digits, _, closed := strings.Cut(rest, "#")
	b, err := strconv.Atoi(base)
	if !ok || !closed || err != nil || b < 2 || b > 16 {
		return 0
	}
	v, err := strconv.ParseUint(strings.ReplaceAll(digits, "_", ""), b, 64)
	if err != nil {
		return 0
	}
	t.kind, t.value = number, v
	return len(base) + len(digits) + 2
}

// ofBytes reads b'x' and b"text" of Rust.
func (t *token) ofBytes(s string) (int, error) {
	if s[1] == '"' {
		n, err := t.quote(s[1:], text)
		t.bytes = true
		return n + 1, err
	}
	n, err := t.single(s[1:])
	if err == nil && (t.kind != number || t.value > 0x7f && !strings.Contains(s[:n+1], `\x`)) {
		err = &Error{t.where, "b'...' is one byte"}
	}
	t.typ, t.char = "u8", false
	return n + 1, err
}

// wideMark is how long the mark of a character is at the start of s that is not of one byte: L'a', u8'a'; 0 if there is none.
func wideMark(s string) int {
	n := nameLength(s)
	if n == 0 || n == len(s) || s[n] != '\'' || wideTypes(s[:n]) == "" || strings.IndexByte(s[n+1:], '\'') < 0 {
		return 0
	}
	return n
}

// wideTypes is the type that a mark gives to a character.
func wideTypes(mark string) string {
	switch mark {
	case "L":
		return "wchar_t"
	case "u":
		return "char16_t"
	case "U":
		return "char32_t"
	case "u8":
		return "char8_t"
	}
	return ""
}

// ofWide reads L'a' behind the mark of n bytes.
func (t *token) ofWide(s string, n int) (int, error) {
	m, err := t.single(s[n:])
	if err == nil && t.kind != number {
		err = &Error{t.where, "one character is between the quotes"}
	}
	t.typ, t.char = wideTypes(s[:n]), false
	return n + m, err
}

// floatLength returns how long the floating-point number at the start of s is, without what follows it: 1.5, 1e3, .5, 2. ;
// 0 if there is none.
func floatLength(s string, in Dialect) int {
	digits := func(n int) int {
		for n < len(s) && (digit(s[n]) || s[n] == '_' && n > 0 && digit(s[n-1])) {
			n++
		}
		return n
	}
	n := digits(0)
	point := false
	if n < len(s) && s[n] == '.' {
		after := digits(n + 1)
		if point = after > n+1 || n > 0 && !(n+1 < len(s) && (s[n+1] == '.' || s[n+1]|0x20 >= 'a' && s[n+1]|0x20 <= 'z' || s[n+1] == '_')); point {
			n = after
		}
	}
	if n < len(s) && (s[n]|0x20 == 'e' || in == Fortran && s[n]|0x20 == 'd') {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if after := digits(m); after > m && digit(s[m]) {
			return after
		}
	}
	if !point {
		return 0
	}
	return n
}

// float reads a floating-point number of n bytes, and the letters after it that say its size.
func (t *token) float(s string, n int, in Dialect) (int, error) {
	body := strings.ReplaceAll(s[:n], "_", "")
	if in == Fortran {
		if i := strings.IndexByte(s[:n], '_'); i > 0 { // 1.5_8
			if kind := s[i:n]; kind != "_4" && kind != "_8" {
				return 0, &Error{t.where, fmt.Sprintf("%s: a kind is 4 or 8", s[:n])}
			}
			body, n = s[:i], i
		}
		body = strings.NewReplacer("d", "e", "D", "e").Replace(body)
	}
	v, err := strconv.ParseFloat(body, 64)
	if err != nil && !math.IsInf(v, 0) {
		return 0, &Error{t.where, fmt.Sprintf("%s is not a floating-point number of 64 bits", s[:n])}
	}
	end := n
	for end < len(s) && (s[end] == '_' || digit(s[end]) || s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z') {
		end++
	}
	t.kind, t.text, t.real = float, "", v
	switch strings.ToLower(s[n:end]) {
	case "", "l", "f64", "_f64", "_8":
	case "f", "f32", "_f32", "_4":
		t.text, t.real = "f", float64(float32(v))
	default:
		return 0, &Error{t.where, fmt.Sprintf("%s is not a floating-point number", s[:end])}
	}
	return end, nil
}

// special reads a token that only a dialect has.
func (t *token) special(s string, in Dialect, last *token) (int, bool) {
	is := func(op string, n int) (int, bool) {
		t.kind, t.text = operator, op
		return n, true
	}
	switch in {
	case Plain: // of C++
		n := nameLength(s)
		if op := wordOfCXX(s[:n], last.operand()); op != "" && !last.access() && (last.operand() || begins(strings.TrimLeft(s[n:], " \t"))) {
			return is(op, n)
		}
	case Go:
		if s[0] == '`' && strings.IndexByte(s[1:], '`') >= 0 {
			t.kind, t.text = text, s[1:1+strings.IndexByte(s[1:], '`')]
			return len(t.text) + 2, true
		}
		if strings.HasPrefix(s, "&^") && last.operand() && !strings.HasPrefix(s, "&^=") {
			return is("&^", 2)
		}
	case D:
		n := nameLength(s)
		switch {
		case s[0] == '`' && strings.IndexByte(s[1:], '`') >= 0:
			t.kind, t.text = text, s[1:1+strings.IndexByte(s[1:], '`')]
			return len(t.text) + 2, true
		case strings.HasPrefix(s, "^^"):
			return is("**", 2)
		case s[:n] == "is" && last.operand():
			return is("==", 2)
		case strings.HasPrefix(s, "!is") && nameLength(s[1:]) == 2:
			return is("!=", 3)
		}
	case Fortran:
		switch {
		case s[0] == '%':
			return is(".", 1)
		case strings.HasPrefix(s, "/="):
			return is("!=", 2)
		case strings.HasPrefix(s, "**"):
			return is("**", 2)
		case s[0] == '\'':
			n, ok := t.quotedOfPascal(s)
			t.kind = text
			return n, ok
		case s[0] == '.':
			if n := strings.IndexByte(s[1:], '.'); n > 0 {
				return t.dotted(strings.ToLower(s[1:n+1]), n+2)
			}
		}
	case Ada:
		switch {
		case strings.HasPrefix(s, ".."):
			return is("..", 2)
		case strings.HasPrefix(s, "**"):
			return is("**", 2)
		case strings.HasPrefix(s, "/="):
			return is("!=", 2)
		case s[0] == '=' && !strings.HasPrefix(s, "=="):
			return is("==", 1)
		case s[0] == '\'' && last.operand() && len(s) > 1 && (nameLength(s[1:]) > 0 || s[1] == '('):
			return is("'", 1)
		}
		n := nameLength(s)
		if last.kind == operator && (last.text == "." || last.text == "'") {
			break
		}
		switch strings.ToLower(s[:n]) {
		case "and":
			return is("&&", n)
		case "or":
			return is("||", n)
		case "not":
			return is("!", n)
		case "xor":
			return is("^", n)
		case "mod":
			return is("mod", n)
		case "rem":
			return is("%", n)
		case "abs":
			return is("abs", n)
		}
	case Pascal:
		return t.ofPascal(s, last)
	}
	return 0, false
}

// wordOfCXX is the operator that C++ writes as a word, behind an operand or before one.
func wordOfCXX(word string, behind bool) string {
	switch {
	case !behind && word == "not":
		return "!"
	case !behind && word == "compl":
		return "~"
	case !behind:
		return ""
	}
	return map[string]string{"and": "&&", "or": "||", "bitand": "&", "bitor": "|", "xor": "^", "not_eq": "!="}[word]
}

// begins reports whether a text begins as an operand does.
func begins(s string) bool {
	return nameLength(s) > 0 || s != "" && (digit(s[0]) || strings.IndexByte("(!~-*", s[0]) >= 0)
}

// dotted reads what Fortran writes between two points.
func (t *token) dotted(word string, n int) (int, bool) {
	t.kind = operator
	switch word {
	case "true":
		t.kind, t.text = name, "true"
	case "false":
		t.kind, t.text = name, "false"
	case "and":
		t.text = "&&"
	case "or":
		t.text = "||"
	case "not":
		t.text = "!"
	case "eq":
		t.text = "=="
	case "ne":
		t.text = "!="
	case "eqv":
		t.text = "eqv"
	case "neqv", "xor":
		t.text = "neqv"
	case "lt":
		t.text = "<"
	case "le":
		t.text = "<="
	case "gt":
		t.text = ">"
	case "ge":
		t.text = ">="
	default:
		return 0, false
	}
	return n, true
}

// quote reads what is between two quotes.
func (t *token) quote(s string, k kind) (int, error) {
	q := s[0]
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case q:
			body := s[1:i]
			if strings.Contains(body, `\`) {
				if u, err := strconv.Unquote(`"` + strings.ReplaceAll(body, `"`, `\"`) + `"`); err == nil && q == '\'' {
					body = u
				} else if u, err := strconv.Unquote(s[:i+1]); err == nil {
					body = u
				} else {
					return 0, &Error{t.where, "an escape in quotes that is not known"}
				}
			}
			t.kind, t.text = k, body
			return i + 1, nil
		}
	}
	return 0, &Error{t.where, "a quote is not closed"}
}

// single reads a character, or a name in quotes.
func (t *token) single(s string) (int, error) {
	n, err := t.quote(s, quoted)
	if err != nil {
		return 0, err
	}
	if r, size := utf8.DecodeRuneInString(t.text); size > 0 && size == len(t.text) && !(r == utf8.RuneError && size == 1) {
		t.kind, t.value, t.char = number, uint64(r), true
	} else if len(t.text) == 1 {
		t.kind, t.value, t.char = number, uint64(t.text[0]), true
	}
	if t.text == "" {
		return 0, &Error{t.where, "nothing between quotes"}
	}
	return n, nil
}
