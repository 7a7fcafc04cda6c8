// Package demangle turns linkage names into source names: C++ (Itanium C++ ABI,
// https://itanium-cxx-abi.github.io/cxx-abi/abi.html, and Microsoft's) and Rust (legacy,
// and v0 as in RFC 2603), Swift, D and others. Except for those and Microsoft's it wraps
// github.com/ianlancetaylor/demangle. It adds limits, since names come from untrusted
// files, and what a stack trace needs: short names, and clone and version suffixes kept
// apart.
//
// All functions are pure and safe for concurrent use. None of them caches.
package demangle

import (
	"strings"
	"unicode/utf8"

	itanium "github.com/ianlancetaylor/demangle"

	"github.com/corewalk/corewalk/internal/format/swiftname"
	"github.com/corewalk/corewalk/internal/recovered"
)

const (
	// MaxInput is the maximum length in bytes of a linkage name that is demangled; longer
	// names are returned unchanged. The time to demangle grows with the square of the
	// length, to some tenths of a second at this limit.
	MaxInput = 8 << 10
	// MaxOutput limits a demangled name, in bytes. A few bytes of input can describe a name
	// of any length; what exceeds the limit is replaced by "...".
	MaxOutput = 1 << maxOutputLog

	maxOutputLog = 15
)

// Options select parts of a name to leave out.
type Options struct {
	NoParams          bool // parameter and return types: "f" for "int f(int)"
	NoTemplateParams  bool // template and generic arguments: "vector<>" for "vector<int>"
	NoEnclosingParams bool // parameter types of enclosing functions of local names: "f()::x" for "f(int)::x"
	NoClones          bool // the compiler's clone suffix: "f" for "f [clone .isra.0]"
}

// Name demangles a linkage name in full. C++ and Rust names are as in c++filt:
// "ns::f(int)", "core::fmt::Write::write_fmt"; Microsoft's are as in undname, with access
// and calling convention: "public: int __cdecl C::f(void)". A clone suffix follows in
// brackets, a symbol version unchanged. A name that is not mangled, or cannot be demangled
// within the package's limits, is returned unchanged.
func Name(linkage string) string { return NameWith(linkage, Options{}) }

// NameWith is Name with the parts in o left out.
func NameWith(linkage string, o Options) string {
	if isMSVC(linkage) {
		if name, ok := msvcName(linkage, o); ok {
			return name
		}
		return linkage
	}
	if !Mangled(linkage) || swiftname.Mangled(linkage) {
		if name, ok := otherName(linkage, o); ok {
			return name
		}
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

// Func returns a function's name as a stack trace shows it: with template arguments, but
// without parameter types, return type, clone suffix, Rust hash and symbol version. An
// example is "std::vector<int>::push_back". The suffix "@plt" stays, since that code is not
// the function's. SplitClone returns the clone suffix. A name that is not mangled only
// loses its suffixes.
func Func(linkage string) string {
	if isMSVC(linkage) {
		return NameWith(linkage, Options{NoParams: true})
	}
	if name, ok := otherName(linkage, Options{NoParams: true}); ok {
		return name
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
		return short // the linker's suffix for Go assembly functions: runtime.raise.abi0
	}
	return name
}

// Mangled reports whether a name looks mangled. It is cheap, and right for nearly all C
// names.
func Mangled(s string) bool {
	if isMSVC(s) || swiftname.Mangled(s) {
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

// isMSVC reports whether a name looks mangled by Microsoft's compiler.
func isMSVC(s string) bool { return len(s) > 2 && s[0] == '?' }

// demangled calls the demangler. It returns false if s is not a mangled name or is too
// long, or if the demangler fails.
func demangled(s string, o Options) (name string, ok bool) {
	if len(s) > MaxInput || tooMuchWork(s) {
		return "", false
	}
	defer func() {
		if recover() != nil {
			recovered.Note()
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
		return "", false // a length that splits a UTF-8 character is invalid
	}
	if len(name) >= MaxOutput {
		name = strings.ToValidUTF8(name[:MaxOutput-3], "") + "..."
	}
	return name, true
}
