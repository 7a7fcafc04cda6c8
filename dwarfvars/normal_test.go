package dwarfvars_test

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	cast       = regexp.MustCompile(`\((?:[A-Za-z_][^(){}"]*|[^(){}"]*\([*&][^(){}"]*\)\([^{}"]*?\))\) (0x|@0x)`)
	floats     = regexp.MustCompile(`-?\b\d+\.\d+(?:e[-+]\d+)?\b|-?\b\d+e[-+]\d+\b`)
	nulls      = regexp.MustCompile(`(?:\\000)+"`)
	manyNull   = regexp.MustCompile(`, '\\000' <repeats \d+ times>`)
	onlyNull   = regexp.MustCompile(`'\\000' <repeats \d+ times>`)
	noMemory   = regexp.MustCompile(`<error: Cannot access memory at address 0x[0-9a-f]+>|<no memory at 0x[0-9a-f]+>|<memory not in the dump: 0x[0-9a-f]+>|<invalid address>`)
	optimised  = regexp.MustCompile(`<optimi[sz]ed out>|<points to an object that was optimised away>|<[a-z0-9]+ not recovered>|<value on entry not known>`)
	clones     = regexp.MustCompile(`<([^<>+@]*?)(?:\.\d+|@[^<>+]*)(\+\d+)?>`)
	memberCast = regexp.MustCompile(`\([^(){}"]*\([A-Za-z_:<>, ]+::\*\)\([^"{}]*?\)\) (0x)`)
	emptyBase  = regexp.MustCompile(`<[^=<>]*(?:<[^=]*>)?> = \{\}(?:, )?`)
	dLanguage  = regexp.MustCompile(`<(\w+)\[(\w+)\]`)
	synthetic  = regexp.MustCompile(`\(synthetic pointer\).*`)
	element    = regexp.MustCompile(`\[\d+\] = `)
)

// normal brings a value's text, gdb's or ours, to what both would write.
func normal(s string) string {
	s = optimised.ReplaceAllString(s, "<optimized out>")
	s = memberCast.ReplaceAllString(s, "$1")
	s = cast.ReplaceAllString(s, "$1")
	s = noMemory.ReplaceAllString(s, "<no memory>")
	s = manyNull.ReplaceAllString(s, "")
	s = onlyNull.ReplaceAllString(s, `""`)
	s = nulls.ReplaceAllString(s, `"`)
	s = synthetic.ReplaceAllString(s, "(synthetic pointer)")
	s = clones.ReplaceAllString(s, "<$1$2>")
	s = floats.ReplaceAllStringFunc(s, func(n string) string {
		f, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return n
		}
		if f > -1e-37 && f < 1e-37 { // subnormal, where it is a float
			return strconv.FormatFloat(f, 'g', 3, 64)
		}
		return strconv.FormatFloat(f, 'g', 8, 64)
	})
	s = dLanguage.ReplaceAllString(s, "<$1.$2")
	s = strings.ReplaceAll(s, "{<No data fields>}", "{}")
	s = strings.ReplaceAll(s, "<synthetic pointer>", "<optimized out>")
	for {
		next := emptyBase.ReplaceAllString(s, "")
		if next == s {
			break
		}
		s = next
	}
	s = strings.ReplaceAll(s, ", }", "}")
	return strings.TrimSpace(s)
}

var (
	lostBase  = regexp.MustCompile(`<[\w:]+> = <no memory>(?:, )?`) // gdb shows a virtual base once
	listTitle = regexp.MustCompile(`std::(?:__cxx11::)?(list|forward_list)(?: of length \d+)? =`)
	reference = regexp.MustCompile(`@?0x[0-9a-f]+(?: <[^<>]*>)?: `)
)

// plain leaves out what only one of the two shows: numbers of elements, and what
// references within a value refer to.
func plain(s string) string {
	s = element.ReplaceAllString(lostBase.ReplaceAllString(s, ""), "")
	s = listTitle.ReplaceAllString(s, "$1 =")
	for {
		at := reference.FindStringIndex(s)
		if at == nil {
			return s
		}
		s = s[:at[1]-2] + s[at[1]+valueLen(s[at[1]:]):]
	}
}

// valueLen is how long the value is that s begins with.
func valueLen(s string) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '(' || c == '<':
			depth++
		case c == '}' || c == ')' || c == '>':
			if depth == 0 {
				return i
			}
			depth--
		case c == ',' && depth == 0:
			return i
		}
	}
	return len(s)
}

var (
	rustPath   = regexp.MustCompile(`\b[a-z_][a-z0-9_]*::`)
	rustEnum   = regexp.MustCompile(`\b(?:Option|Result)::`)
	rustSize   = regexp.MustCompile(`\(size=\d+\) = `)
	rustSpace  = regexp.MustCompile(`(\w) \(`)
	rustBrace  = regexp.MustCompile(`(\w)\{`)
	hexEscape  = regexp.MustCompile(`\\x([0-9a-f]{2})`)
	referenced = regexp.MustCompile(`(&(?:mut )?\[[^\]]*\]|Box) \[`)
)

// normalRust brings Rust's values to what gdb, which writes whole paths, and we
// would both write.
func normalRust(s string) string {
	s = rustSize.ReplaceAllString(s, " ")
	s = referenced.ReplaceAllString(s, "[")
	s = rustPath.ReplaceAllString(withoutGenerics(s), "")
	s = rustEnum.ReplaceAllString(s, "")
	s = rustSpace.ReplaceAllString(s, "$1(")
	s = rustBrace.ReplaceAllString(s, "$1 {")
	return hexEscape.ReplaceAllStringFunc(s, func(e string) string {
		n, _ := strconv.ParseUint(e[2:], 16, 8)
		return string(rune(n))
	})
}

// withoutGenerics leaves out <...> where it follows a name.
func withoutGenerics(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '<' && i > 0 && (isWord(s[i-1]) || s[i-1] == ':') {
			if n := genericsLen(s[i:]); n > 0 {
				i += n - 1
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// genericsLen is how long the <...> is that s begins with; 0 when it does not end.
func genericsLen(s string) int {
	depth := 0
	for i := range len(s) {
		switch {
		case s[i] == '<':
			depth++
		case s[i] == '>' && s[i-1] != '-':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
