package demangle

import "strings"

// cloneWords are the suffixes that compilers append to unmangled names of function clones:
// GCC's passes, LLVM's promoted locals, function multi-versioning, coroutines, OpenMP.
var cloneWords = [...]string{
	"isra", "constprop", "part", "cold", "hot", "warm", "lto_priv", "localalias", "clone", "simdclone", "llvm", "__uniq",
	"resolver", "ifunc", "default", "actor", "destroy", "resume", "cleanup", "_omp_fn", "omp_outlined", "omp_outlined_debug__",
	"coldclone", "extracted", "specialized", "thunk", "lcssa",
}

// SplitClone splits off the suffixes that mark a compiler-made clone of a function:
// "f.isra.0.cold" becomes "f" and ".isra.0.cold". Dots that belong to the name stay (Go's
// "main.main", legacy Rust's "..").
func SplitClone(s string) (base, clone string) {
	if strings.IndexByte(s, '.') < 0 {
		return s, ""
	}
	mangled := Mangled(s)
	end := len(s)
	for {
		cut := cloneStart(s[:end], mangled)
		if cut <= 0 {
			return s[:end], s[end:]
		}
		end = cut
	}
}

// cloneStart returns where the last clone suffix of s begins (a word, then any numbers), or
// 0 if there is none.
func cloneStart(s string, mangled bool) int {
	end := len(s)
	for {
		dot := strings.LastIndexByte(s[:end], '.')
		if dot <= 0 || s[dot-1] == '.' || dot+1 == end {
			return 0
		}
		word := s[dot+1 : end]
		if isNumber(word) {
			end = dot
			continue
		}
		if isCloneWord(word, mangled) {
			return dot
		}
		return 0
	}
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// isCloneWord reports whether a word between dots marks a clone. In a mangled name every
// lower-case word after a dot does.
func isCloneWord(word string, mangled bool) bool {
	for _, w := range cloneWords {
		if word == w {
			return true
		}
	}
	if !mangled {
		return strings.HasPrefix(word, "arch_")
	}
	for i := range len(word) {
		c := word[i]
		if !(c >= 'a' && c <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return true
}

// SplitVersion splits off a symbol version or a linkage table suffix: "memcpy@@GLIBC_2.14",
// "memcpy@GLIBC_2.2.5", "puts@plt". The suffix keeps its at signs. Names of
// Windows and of Crystal with at signs of their own are not split.
func SplitVersion(s string) (base, version string) {
	i := strings.IndexByte(s, '@')
	if i <= 0 || s[0] == '?' || s[0] == '*' || s[i-1] == ' ' { // Swift has attributes: "thunk for @escaping () -> ()"
		return s, ""
	}
	rest := strings.TrimLeft(s[i:], "@")
	if rest == "" || isNumber(rest) { // stdcall: size of the arguments in bytes
		return s, ""
	}
	return s[:i], s[i:]
}

// SplitScope splits a name of C++ or Rust before its last part: "ns::class<a::b>" and "method" of "ns::class<a::b>::method"; false if it has one part.
func SplitScope(name string) (scope, last string, ok bool) {
	depth := 0
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case '>', ')':
			depth++
		case '<', '(':
			depth--
		case ':':
			if depth == 0 && name[i-1] == ':' {
				return name[:i-1], name[i+1:], true
			}
		}
	}
	return "", name, false
}
