package report

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds, in characters, on what text shows of strings from the dump.
const (
	maxName  = 64  // a thread's, module's, file's or register's name
	maxValue = 120 // a variable's value
	maxWords = 400 // a sentence: a reason, a message, a warning
)

// clean returns s fit for a terminal and a log, on one line: what is not
// printable, ASCII controls and direction marks included, and bytes that are no
// UTF-8 become backslash escapes. Other strings, nearly all, come back as they are.
func clean(s string) string {
	i := 0
	for i < len(s) && s[i] >= ' ' && s[i] < 0x7f {
		i++
	}
	if i == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)+16), s[:i]...)
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		b = appendClean(b, r, s[i:i+n])
		i += n
	}
	return string(b)
}

// Clean makes a string from the process fit to be printed on one line: what is not
// printable becomes backslash escapes.
func Clean(s string) string { return clean(s) }

// BriefFunction makes a function's name fit to be printed in limit characters: it leaves out
// template arguments, innermost first, then the middle.
func BriefFunction(name string, limit int) string { return briefFunction(name, limit) }

// Base is the last part of a path of any system.
func Base(path string) string { return base(path) }

// Size is a number of bytes for people: "1.2 MB".
func Size(n uint64) string { return sizeText(n) }

// appendClean appends the character r, spelled raw.
func appendClean(b []byte, r rune, raw string) []byte {
	switch {
	case strconv.IsPrint(r) && (r != utf8.RuneError || len(raw) > 1):
		return append(b, raw...)
	case r == '\n':
		return append(b, `\n`...)
	case r == '\t':
		return append(b, `\t`...)
	case len(raw) == 1:
		const digits = "0123456789abcdef"
		return append(b, '\\', 'x', digits[raw[0]>>4], digits[raw[0]&15])
	}
	return append(strconv.AppendInt(append(b, `\u{`...), int64(r), 16), '}')
}

// width is the number of columns that the clean string s takes. It counts
// characters: wide ones and combining marks are rare in names of code.
func width(s string) int { return utf8.RuneCountInString(s) }

// brief is clean(s), with … in the middle when it is longer than limit.
func brief(s string, limit int) string {
	limit = max(limit, 3)
	return cut(clean(bound(s, limit)), limit)
}

// bound drops the middle of an absurdly long s before it is cleaned: more bytes
// than limit characters can need.
func bound(s string, limit int) string {
	if most := limit * utf8.UTFMax; len(s) > 2*most+2 {
		return s[:most] + s[len(s)-most:]
	}
	return s
}

// cut shortens the clean string s to limit characters, at least 3: the first two thirds, …,
// and the end.
func cut(s string, limit int) string {
	limit = max(limit, 3)
	n := width(s)
	if n <= limit {
		return s
	}
	tail := (limit - 1) / 3
	head := limit - 1 - tail
	return s[:runeOffset(s, head)] + "…" + s[runeOffset(s, n-tail):]
}

// runeOffset is the byte offset of s's n-th character.
func runeOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// maxTemplate is the longest function name, in bytes, whose template arguments
// are taken apart.
const maxTemplate = 32 << 10

// briefFunction makes a function's name fit limit characters: it leaves out
// template arguments, innermost first, then the middle.
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
	return cut(name, limit)
}

// collapse replaces each <...> that is nested in depth others by <…>. A name
// whose brackets do not pair stays as it is.
func collapse(name string, depth int) string {
	b := make([]byte, 0, len(name))
	level := 0
	for i := 0; i < len(name); i++ {
		c := name[i]
		if n := operatorLen(name[i:]); n > 0 { // operator< and its kin open nothing
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
				continue // <…> is complete
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

// operatorLen is the length of the C++ operator name with angle brackets that s
// begins with; 0 when it begins with none.
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

// base is the last part of a path of any system.
func base(path string) string {
	if i := strings.LastIndexAny(path, `/\`); i >= 0 && i+1 < len(path) {
		return path[i+1:]
	}
	return path
}

// briefBase is the last part of a path, fit to print.
func briefBase(path string) string { return brief(base(path), maxName) }
