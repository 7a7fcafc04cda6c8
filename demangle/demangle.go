// Package demangle turns linkage names into the names that programmers wrote:
// C++ (Itanium C++ ABI, https://itanium-cxx-abi.github.io/cxx-abi/abi.html, and
// Microsoft's) and Rust (legacy and v0, RFC 2603). For all but Microsoft's it
// wraps github.com/ianlancetaylor/demangle with bounds, because names come from files nobody vouches for, and adds what
// a stack trace needs: short names, and clone and version suffixes kept aside.
//
// All functions are pure and may be used concurrently. None of them caches.
package demangle

import (
	"strings"
	"unicode/utf8"

	itanium "github.com/ianlancetaylor/demangle"
)

const (
	// MaxInput is the length in bytes of the longest linkage name that is
	// demangled; a longer one is returned as it is. The time to demangle grows
	// with the square of the length, to some tenths of a second at this one.
	MaxInput = 8 << 10
	// MaxOutput bounds a demangled name, in bytes. A few bytes of input can
	// describe a name of any length; what is cut off is replaced by "...".
	MaxOutput = 1 << maxOutputLog

	maxOutputLog = 15
)

// Options say what to leave out of a name.
type Options struct {
	NoParams          bool // parameter and return types: "f" for "int f(int)"
	NoTemplateParams  bool // template and generic arguments: "vector<>" for "vector<int>"
	NoEnclosingParams bool // parameter types of functions that local names are in: "f()::x" for "f(int)::x"
	NoClones          bool // the compiler's suffix: "f" for "f [clone .isra.0]"
}

// Name demangles a linkage name in full, as c++filt does: "ns::f(int)",
// "core::fmt::Write::write_fmt"; and as undname does, with access and calling
// convention: "public: int __cdecl C::f(void)". A clone suffix follows in brackets, a symbol
// version unchanged. What is not mangled, or cannot be demangled within the
// package's bounds, is returned as it is.
func Name(linkage string) string { return NameWith(linkage, Options{}) }

// NameWith is Name with parts left out.
func NameWith(linkage string, o Options) string {
	if isMSVC(linkage) {
		if name, ok := msvcName(linkage, o); ok {
			return name
		}
		return linkage
	}
	if !Mangled(linkage) {
		if o.NoClones {
			base, version := SplitVersion(linkage)
			base, _ = SplitClone(base)
			return base + version
		}
		return linkage
	}
	base, version := SplitVersion(linkage)
	base, clone := SplitClone(base)
	name, ok := demangled(base, o)
	if !ok {
		return linkage
	}
	if clone != "" && !o.NoClones {
		name += " [clone " + clone + "]"
	}
	return name + version
}

// Func is the name of a function as a stack shows it: without parameter types,
// return type, clone suffix, Rust's hash and symbol version, with its template
// arguments: "std::vector<int>::push_back". "@plt" stays, since that code is
// not the function's. SplitClone gives the clone suffix. What is not mangled
// loses its suffixes alone.
func Func(linkage string) string {
	if isMSVC(linkage) {
		return NameWith(linkage, Options{NoParams: true})
	}
	base, version := SplitVersion(linkage)
	base, _ = SplitClone(base)
	name := base
	if Mangled(base) {
		if n, ok := demangled(base, Options{NoParams: true}); ok {
			name = n
		}
	}
	if version == "@plt" {
		name += version
	}
	if short, ok := strings.CutSuffix(name, ".abi0"); ok && strings.Contains(short, ".") {
		return short // the linker's mark of Go's assembly: runtime.raise.abi0
	}
	return name
}

// Mangled reports whether a name looks mangled: cheap, and right for nearly
// all names of C.
func Mangled(s string) bool {
	if isMSVC(s) {
		return true
	}
	if len(s) < 3 || s[0] != '_' {
		return false
	}
	switch s[1] {
	case 'Z':
		return true
	case 'R': // v0: an upper-case tag follows, after a decimal version if any
		return s[2] >= 'A' && s[2] <= 'Z' || s[2] >= '0' && s[2] <= '9'
	case 'G':
		return strings.HasPrefix(s, "_GLOBAL_")
	case '_':
		return strings.HasPrefix(s, "___Z") || strings.HasPrefix(s, "__alloc_token_")
	}
	return false
}

// isMSVC reports whether a name is mangled as Microsoft's compiler does it.
func isMSVC(s string) bool { return len(s) > 2 && s[0] == '?' }

// demangled runs the demangler proper. It answers false when s is no mangled
// name or too long, and when the demangler gives up in any way.
func demangled(s string, o Options) (name string, ok bool) {
	if len(s) > MaxInput {
		return "", false
	}
	defer func() {
		if recover() != nil {
			name, ok = "", false
		}
	}()
	opts := [5]itanium.Option{itanium.MaxLength(maxOutputLog)}
	n := 1
	for _, f := range [...]struct {
		on  bool
		opt itanium.Option
	}{
		{o.NoParams, itanium.NoParams},
		{o.NoTemplateParams, itanium.NoTemplateParams},
		{o.NoEnclosingParams, itanium.NoEnclosingParams},
	} {
		if f.on {
			opts[n] = f.opt
			n++
		}
	}
	name, err := itanium.ToString(keepUnderscores(s), opts[:n]...)
	if err != nil || name == "" || !utf8.ValidString(name) {
		return "", false // a length that cuts a character in two is no name either
	}
	if len(name) >= MaxOutput {
		name = strings.ToValidUTF8(name[:MaxOutput-3], "") + "..."
	}
	return name, true
}
