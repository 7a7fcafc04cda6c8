package signature

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
)

const (
	maxNameIn  = 16 << 10 // longest name, in bytes, that is normalised whole
	maxNameOut = 256
)

// Normalize removes from a function's name, mangled or not, what depends on the compiler, on optimisation and
// on instantiation: template and generic arguments, parameters and return types, hashes, numbers of closures,
// clone suffixes, ABI tags. Normalising a normalised name does not change it.
func Normalize(name string) string {
	s := demangle.Func(name[:min(len(name), maxNameIn)])
	if strings.HasPrefix(s, "-[") || strings.HasPrefix(s, "+[") {
		return bounded(s) // an Objective-C method
	}
	if strings.HasPrefix(s, MonoWrapper) {
		return bounded(s)
	}
	if name, ok := normalizeSwift(s); ok {
		return bounded(name)
	}
	if isGo(s) {
		return bounded(normalizeGo(s))
	}
	s = replaceOddParts(strings.TrimPrefix(s, "[thunk]:"))
	n := normalizer{in: s}
	out := n.path(0)
	if out = strings.TrimPrefix(out, "::"); out == "" {
		out = s
	}
	return bounded(out)
}

// MonoWrapper is how the names begin of what Mono makes to lead from one kind of code to another.
const MonoWrapper = "(wrapper "

func bounded(s string) string {
	if len(s) > maxNameOut {
		s = strings.ToValidUTF8(s[:maxNameOut], "")
	}
	return report.Clean(strings.ToValidUTF8(s, "?"))
}

// An oddPart is some compiler's spelling of a part of a name that has no name in the source, with the common
// spelling used here.
type oddPart struct {
	pattern *regexp.Regexp
	to      string
}

var oddParts = lazy.Value[[]oddPart]{Make: func() []oddPart {
	var list []oddPart
	for _, p := range [...][2]string{
		{`::h[0-9a-f]{16}$`, ``},                   // Rust's hash
		{`\[abi:[^\]]*\]`, ``},                     //
		{` ?\[clone [^\]]*\]`, ``},                 //
		{`\bstd::__(?:cxx11|1|2|ndk1)::`, `std::`}, // inline namespaces of ABIs
		{`\(anonymous namespace\)|\{anonymous\}|\(anonymous class\)`, `{anonymous}`},
		{"`anonymous[- ]namespace'|<unnamed-tag>|<unnamed-type-[^>]*>|\\{unnamed type#\\d+\\}|'unnamed\\d*'", `{anonymous}`},
		{`(\(anonymous\)|\{anonymous\})::operator\(\)`, `{lambda}::operator()`},       // GCC's debugging information
		{"`(?:scalar|vector) deleting (?:destructor|dtor)'", `{deleting-destructor}`}, // Microsoft
		{`<lambda_[0-9a-f]+>|\$_\d+|'lambda\d*'`, `{lambda}`},                         // Microsoft; LLVM
		{`\{\{closure\}\}|\{closure(_env)?#\d+\}`, `{closure}`},
		{`\{(\w+)#\d+\}`, `{$1}`}, // {impl#3}, {async_fn_env#0}
		{`\{shim:[^}]*\}`, `{shim}`},
		{`^@?([A-Za-z_]\w*)@@?\d+$`, `$1`}, // stdcall, fastcall, vectorcall
		{`^_cgo_[0-9a-f]{12}_`, `_cgo_`},
		{`\$\$Lambda(?:\$\d+)?(?:[+/]0x[0-9a-f]+)?\.`, `$$$$Lambda.`}, // Java: classes made at run time
		{`(\$\w+)[+/]0x[0-9a-f]{8,}\.`, `$1.`},
		{`\b(lambda\$[\w$]+)\$\d+\(`, `$1(`},
		{`\$Proxy\d+\.`, `$$Proxy.`},
	} {
		list = append(list, oddPart{regexp.MustCompile(p[0]), p[1]})
	}
	return list
}}

// replaceOddParts replaces the spellings of anonymous things. Most names have none.
func replaceOddParts(s string) string {
	if strings.ContainsAny(s, "{}`'$@[") || strings.Contains(s, "<lambda") || strings.Contains(s, "<unnamed") ||
		strings.Contains(s, "(anon") || strings.Contains(s, "::h") || strings.Contains(s, "std::__") || strings.HasPrefix(s, "_cgo_") {
		s = replaceLambdas(s)
		for _, p := range oddParts.Get() {
			s = p.pattern.ReplaceAllString(s, p.to)
		}
	}
	return s
}

// replaceLambdas replaces "{lambda(int)#1}" and "<lambda(int)>", whose parameters may have brackets of every
// kind, by {lambda}.
func replaceLambdas(s string) string {
	for _, b := range [...]string{"{lambda", "<lambda("} {
		for from := 0; ; {
			i := strings.Index(s[from:], b)
			if i < 0 {
				break
			}
			i += from
			end := skipBracket(s, i)
			s = s[:i] + "{lambda}" + s[end:]
			from = i + len("{lambda}")
		}
	}
	return s
}

// skipBracket returns the offset after the bracket that closes the one at i, len(s) if none does. Brackets of
// all kinds nest inside.
func skipBracket(s string, i int) int {
	stack := []byte{s[i]}
	for i++; i < len(s); i++ {
		switch c := s[i]; c {
		case '<', '(', '[', '{':
			if c == '<' && strings.HasSuffix(s[:i], "operator") {
				if strings.HasPrefix(s[i+1:], "<") {
					i++
				}
				continue // brackets in an operator's name open nothing
			}
			stack = append(stack, c)
		case '>', ')', ']', '}':
			if c == '>' && (s[i-1] == '-' || s[i-1] == '=') {
				continue // an arrow, or "<=>"
			}
			// An unpaired angle bracket is a comparison.
			for len(stack) > 1 && stack[len(stack)-1] == '<' && c != '>' {
				stack = stack[:len(stack)-1]
			}
			if c == '>' && stack[len(stack)-1] != '<' {
				continue
			}
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// A normalizer normalises a qualified name in one pass.
type normalizer struct {
	in  string
	out []byte
	// word is the offset in out of the last word after a space: return types and qualifiers before it are
	// removed.
	word int
}

// maxDepth limits how deep qualified names may nest.
const maxDepth = 8

func (n *normalizer) path(depth int) string {
	s := n.in
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case n.atOperator(i):
			i = n.operator(i)
		case c == '<':
			i = n.angle(i, depth)
		case c == '(' || c == '[':
			i = skipBracket(s, i)
		case c == ' ' || c == '*' || c == '&':
			i++
			if qualifier(s[i:]) {
				i = len(s)
			} else if s[i] != '<' { // "operator< <int>"
				n.word = len(n.out)
			}
		default:
			n.out = append(n.out, c)
			i++
		}
	}
	return string(n.out[n.word:])
}

// qualifier reports whether only the qualifiers of a member function are left.
func qualifier(rest string) bool {
	for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '&' }) {
		switch word {
		case "const", "volatile", "noexcept":
		default:
			return false
		}
	}
	return true
}

// atOperator reports whether the word "operator" is at i, or a word that starts so, which operator copies too.
func (n *normalizer) atOperator(i int) bool {
	rest, ok := strings.CutPrefix(n.in[i:], "operator")
	return ok && rest != "" && (i == 0 || !isWord(n.in[i-1]))
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// operator copies the name of an operator: a symbol, new or delete, or the type of a conversion.
func (n *normalizer) operator(i int) int {
	s := n.in
	n.out = append(n.out, "operator"...)
	i += len("operator")
	switch {
	case strings.HasPrefix(s[i:], "()"), strings.HasPrefix(s[i:], "[]"):
		n.out = append(n.out, s[i:i+2]...)
		return i + 2
	case s[i] == '"' || s[i] == ' ':
		end := i
		for end < len(s) && s[end] != '(' && s[end] != '<' {
			end++
		}
		n.out = append(n.out, strings.TrimRight(s[i:end], " ")...)
		return end
	}
	end := i
	for end < len(s) && end < i+3 && strings.IndexByte("<>=+-*/%^&|~!,", s[end]) >= 0 {
		// "operator<<int>" is << or < with arguments; only << has no arguments here.
		if s[end] == '<' && s[i] != '<' {
			break
		}
		end++
	}
	n.out = append(n.out, s[i:end]...)
	return end
}

// angle removes template arguments. Of Rust's qualified types, in the position of a name, it keeps the type and
// the trait.
func (n *normalizer) angle(i, depth int) int {
	s := n.in
	end := skipBracket(s, i)
	start := len(n.out) == n.word
	after := bytes.HasSuffix(n.out[n.word:], []byte("::"))
	inner := strings.TrimSuffix(s[i+1:end], ">")
	if depth < maxDepth && (start && (end < len(s) || strings.Contains(inner, " as ")) || after && strings.HasPrefix(inner, "impl ")) {
		t := qualifiedType(inner, depth)
		if !strings.Contains(t, " ") && strings.Contains(t, "::") {
			n.out = append(n.out, t...) // "<a::B>::c" is "a::B::c"
		} else {
			n.out = append(append(append(n.out, '<'), t...), '>')
		}
		return end
	}
	if after { // a turbofish
		n.out = n.out[:len(n.out)-2]
	}
	return end
}

// qualifiedType normalises the text between the brackets of "<T as Trait>".
func qualifiedType(inner string, depth int) string {
	for _, sep := range [...]string{" as ", " for "} {
		if t, trait, ok := cutOutside(inner, sep); ok {
			return typeName(t, depth) + sep + typeName(trait, depth)
		}
	}
	return typeName(inner, depth)
}

func typeName(s string, depth int) string {
	prefix := ""
	for _, p := range [...]string{"impl ", "&", "*const ", "*mut ", "mut ", "dyn "} {
		if rest, ok := strings.CutPrefix(s, p); ok {
			prefix, s = prefix+p, rest
		}
	}
	if strings.HasPrefix(s, "[") || strings.HasPrefix(s, "(") {
		return prefix + s[:1] + s[len(s)-1:]
	}
	n := normalizer{in: s}
	return prefix + n.path(depth+1)
}

// cutOutside is like strings.Cut for the first sep outside of all brackets.
func cutOutside(s, sep string) (before, after string, found bool) {
	for i := 0; i < len(s); {
		switch s[i] {
		case '<', '(', '[', '{':
			i = skipBracket(s, i)
		default:
			if strings.HasPrefix(s[i:], sep) {
				return s[:i], s[i+len(sep):], true
			}
			i++
		}
	}
	return s, "", false
}
