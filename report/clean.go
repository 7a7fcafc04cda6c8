package report

import (
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Limits, in characters, on how much of a string from the dump the text shows.
const (
	maxName  = 64  // a thread's, module's, file's or register's name
	maxValue = 120 // a variable's value
	maxWords = 400 // a sentence: reason, message or warning

	unlimited = 1 << 30
)

// clean makes s safe for one line of a terminal or a log: what does not show as itself becomes a backslash escape.
// See escaper. Most strings come back unchanged, and so does what clean returned.
func clean(s string) string {
	i := 0
	for i < len(s) && s[i] >= ' ' && s[i] < 0x7f {
		i++
	}
	if i == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)+16), s[:i]...)
	e := newEscaper()
	if i > 0 {
		e.shows(rune(s[i-1]), 1)
	}
	for i < len(s) {
		r, n := decode(s[i:])
		if e.shows(r, n) {
			b = append(b, s[i:i+n]...)
		} else {
			b = appendEscape(b, r, s[i:i+n])
		}
		i += n
	}
	return string(b)
}

// Clean makes a text of any origin safe to print on one line of a terminal. Escapes with a backslash take the place
// of control characters, of those that change the direction or the place of others, of characters that nobody sees,
// of combining marks beyond a few, of surrogates, and of bytes that are not UTF-8: `\x1b`, `\xff`, `\u{202e}`, `\n`.
// A backslash stays as it is. Cleaning twice is cleaning once.
func Clean(s string) string { return clean(s) }

// BriefValue makes a value safe to print and shortens it to limit characters. Of a pointer and what it points to, the pointer stays.
func BriefValue(value string, limit int) string { return briefValue(value, limit) }

// BriefFunction makes a function's name safe to print and shortens it to limit characters: it drops template
// arguments, innermost first, then the middle of the name.
func BriefFunction(name string, limit int) string { return briefFunction(name, limit) }

// Base returns the last part of a path, of any operating system.
func Base(path string) string { return base(path) }

// Size formats a number of bytes for people: "1.2 MB".
func Size(n uint64) string { return sizeText(n) }

// terminal says how many columns characters take. It does not depend on the locale: "…" takes one.
var terminal = runewidth.Condition{StrictEmojiNeutral: true}

// width returns how many columns of a terminal the clean string s takes: two for wide characters, none for
// combining marks.
func width(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			for _, r := range s[i:] {
				n += terminal.RuneWidth(r)
			}
			return n
		}
		n++
	}
	return n
}

// brief is clean(s), with … in the middle if it is longer than limit characters.
func brief(s string, limit int) string {
	limit = max(limit, 3)
	return cut(clean(bound(s, limit)), limit)
}

// bound drops the middle of a very long s before it is cleaned. It keeps more bytes than limit characters can
// need.
func bound(s string, limit int) string {
	if most := limit * utf8.UTFMax; len(s) > 2*most+2 {
		return s[:most] + s[len(s)-most:]
	}
	return s
}

// cut shortens the clean string s to limit columns, at least 3: the first two thirds, …, and the end.
func cut(s string, limit int) string {
	limit = max(limit, 3)
	n := width(s)
	if n <= limit {
		return s
	}
	tail := (limit - 1) / 3
	head := limit - 1 - tail
	return s[:runeOffset(s, head)] + "…" + lastColumns(s, tail)
}

// runeOffset returns the byte offset of the first character of s that does not fit into n columns.
func runeOffset(s string, n int) int {
	for i, r := range s {
		if n -= terminal.RuneWidth(r); n < 0 {
			return i
		}
	}
	return len(s)
}

// lastColumns returns as much of the end of s as fits into n columns. It begins with no combining mark.
func lastColumns(s string, n int) string {
	from := len(s)
	for i := len(s); i > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		w := terminal.RuneWidth(r)
		if n -= w; n < 0 {
			break
		}
		if i -= size; w > 0 {
			from = i
		}
	}
	return s[from:]
}

// maxTemplate is the longest function name, in bytes, whose template arguments briefFunction shortens.
const maxTemplate = 32 << 10

// briefFunction shortens a function's name to limit characters: it drops template arguments, innermost first,
// then the middle of the name; of the namespaces and classes before the last part if that fits.
func briefFunction(name string, limit int) string {
	if len(name) > maxTemplate {
		return brief(name, limit)
	}
	name = clean(name)
	if len(name) <= limit {
		return name
	}
	for depth := 3; depth >= 0 && width(name) > limit; depth-- {
		name = collapse(name, depth)
	}
	if last := name[lastPart(name):]; width(name) > limit && last != name && width(last) < limit {
		return name[:runeOffset(name, limit-1-width(last))] + "…" + last
	}
	return cut(name, limit)
}

// lastPart returns where the part of a function's name begins that tells most: the last "::" with what follows, or
// the last "/" of Go's package paths. It is 0 if there is neither outside of brackets, and for lambdas and closures.
func lastPart(name string) int {
	level, slash := 0, 0
	for i := len(name) - 1; i >= 0; i-- {
		switch name[i] {
		case '>', ')', '}', ']':
			level++
		case '<', '(', '{', '[':
			level--
		case ':':
			if level != 0 || i == 0 || name[i-1] != ':' {
				continue
			}
			if last := name[i+1:]; strings.HasPrefix(last, "{") || strings.HasPrefix(last, "operator()") {
				return 0 // of a lambda or closure what is before tells more
			}
			return i - 1
		case '/':
			if level == 0 {
				slash = max(slash, i)
			}
		}
	}
	return slash
}

// collapse replaces each <...> at nesting depth depth by <…>. A name with unbalanced brackets stays as it is.
func collapse(name string, depth int) string {
	b := make([]byte, 0, len(name))
	level := 0
	for i := 0; i < len(name); i++ {
		c := name[i]
		if n := operatorLen(name[i:]); n > 0 { // operator< and the like open no bracket
			if level <= depth {
				b = append(b, name[i:i+n]...)
			}
			i += n - 1
			continue
		}
		arrow := c == '>' && i > 0 && name[i-1] == '-'
		switch {
		case c == '<':
			if level == depth {
				b = append(b, "<…>"...)
			}
			level++
		case c == '>' && !arrow:
			level--
			if level == depth {
				continue // already <…>
			}
		}
		if level < 0 {
			return name
		}
		if level <= depth {
			b = append(b, c)
		}
	}
	if level != 0 {
		return name
	}
	return string(b)
}

// operatorLen returns the length of the C++ operator name with angle brackets at the start of s, 0 if there is
// none.
func operatorLen(s string) int {
	rest, ok := strings.CutPrefix(s, "operator")
	if !ok {
		return 0
	}
	n := 0
	for n < len(rest) && n < 3 && strings.IndexByte("<>-=*", rest[n]) >= 0 {
		n++
	}
	if n == 0 {
		return 0
	}
	return len(s) - len(rest) + n
}

// base returns the last part of a path, of any operating system.
func base(path string) string {
	if i := strings.LastIndexAny(path, `/\`); i >= 0 && i+1 < len(path) {
		return path[i+1:]
	}
	return path
}

// briefBase is the last part of a path, safe to print.
func briefBase(path string) string { return brief(base(path), maxName) }
