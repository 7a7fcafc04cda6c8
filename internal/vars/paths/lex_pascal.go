package paths

import (
	"strconv"
	"strings"
)

// ofPascal reads a token that Pascal writes otherwise than C. "p^" is the operator behind a pointer.
func (t *token) ofPascal(s string, last *token) (int, bool) {
	is := func(op string, n int) (int, bool) {
		t.kind, t.text = operator, op
		return n, true
	}
	switch {
	case s[0] == '=' && !strings.HasPrefix(s, "=="):
		return is("==", 1)
	case strings.HasPrefix(s, "<>"):
		return is("!=", 2)
	case s[0] == '^' && last.operand():
		return is("p^", 1)
	case s[0] == '@' && !last.operand():
		return is("&", 1)
	case s[0] == '\'':
		return t.quotedOfPascal(s)
	case s[0] == '#':
		n := 1
		for n < len(s) && digit(s[n]) {
			n++
		}
		v, err := strconv.ParseUint(s[1:n], 10, 16)
		if err != nil {
			return 0, false
		}
		t.kind, t.value, t.char = number, v, true
		return n, true
	}
	if last.access() {
		return 0, false
	}
	n := nameLength(s)
	switch word := strings.ToLower(s[:n]); word {
	case "and":
		return is("&", n)
	case "or":
		return is("|", n)
	case "xor":
		return is("^", n)
	case "not":
		return is("!", n)
	case "shl":
		return is("<<", n)
	case "shr":
		return is(">>", n)
	case "mod":
		return is("%", n)
	case "div", "in":
		if last.operand() {
			return is(word, n)
		}
	case "true", "false", "nil", "sizeof":
		t.kind, t.text = name, word
		return n, true
	}
	return 0, false
}

// quotedOfPascal reads 'text', in which two quotes are one; what stands before :: is a name, and one letter a character.
func (t *token) quotedOfPascal(s string) (int, bool) {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '\'':
			continue
		case i+1 < len(s) && s[i+1] == '\'':
			i++
			continue
		case strings.HasPrefix(s[i+1:], "::"):
			return 0, false
		}
		body := strings.ReplaceAll(s[1:i], "''", "'")
		if t.kind, t.text = text, body; len(body) == 1 {
			t.kind, t.value, t.char = number, uint64(body[0]), true
		}
		return i + 1, true
	}
	return 0, false
}
