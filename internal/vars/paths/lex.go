package paths

import (
	"fmt"
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
	text
	register
	operator
)

type token struct {
	kind  kind
	text  string
	value uint64
	where int
	space bool // space comes before it
}

// The operators, the longest first.
var operators = [...]string{
	"<<=", ">>=", "...", "->", "::", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
	":=", "(", ")", "[", "]", "{", "}", ".", ",", ":", ";", "?", "*", "&", "-", "+", "~", "!", "/", "%", "<", ">", "|", "^", "=", "@",
}

// lex splits an expression into tokens.
func lex(s string) ([]token, error) {
	var out []token
	for i := 0; ; {
		from := i
		for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
			i++
		}
		t := token{where: i, space: i > from}
		if i == len(s) {
			return append(out, t), nil
		}
		n, err := t.read(s[i:], len(out) > 0 && out[len(out)-1].text == ".")
		if err != nil {
			return nil, err
		}
		i += n
		out = append(out, t)
	}
}

// read reads the token at the start of s, and returns its length. member says that the name of a member is expected:
// 0.1 are then two numbers.
func (t *token) read(s string, member bool) (int, error) {
	switch c := s[0]; {
	case c == '"':
		return t.quote(s, text)
	case c == '\'':
		return t.single(s)
	case c == '$':
		n := 1 + nameLength(s[1:])
		t.kind, t.text = register, s[1:n]
		if n == 1 {
			return 0, &Error{t.where, `"$" without the name of a register`}
		}
		return n, nil
	case c >= '0' && c <= '9':
		return t.number(s, member)
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

// number reads an integer as C, Go and Rust write them.
func (t *token) number(s string, member bool) (int, error) {
	n := 1
	for n < len(s) && (s[n] == '_' || s[n] >= '0' && s[n] <= '9' || s[n]|0x20 >= 'a' && s[n]|0x20 <= 'z') {
		n++
	}
	t.kind, t.text = number, s[:n]
	if member {
		return n, nil
	}
	digits := strings.ReplaceAll(s[:n], "_", "")
	if len(digits) < 2 || digits[0] != '0' || digits[1]|0x20 != 'x' {
		digits = strings.TrimRight(digits, "uUlLizs") // 1ull, 3usize
	}
	v, err := strconv.ParseUint(strings.TrimRight(digits, "uUlL"), 0, 64)
	if n+1 < len(s) && s[n] == '.' && s[n+1] >= '0' && s[n+1] <= '9' {
		return 0, &Error{t.where, "numbers with a point are not computed with"}
	}
	if err != nil {
		return 0, &Error{t.where, fmt.Sprintf("%s is not an integer of 64 bits", s[:n])}
	}
	t.value = v
	return n, nil
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
		t.kind, t.value = number, uint64(r)
	} else if len(t.text) == 1 {
		t.kind, t.value = number, uint64(t.text[0])
	}
	if t.text == "" {
		return 0, &Error{t.where, "nothing between quotes"}
	}
	return n, nil
}
