package signature

import (
	"regexp"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
)

// moduleName returns a module's name without directory and version numbers: "libfoo.so" for
// "/usr/lib/libfoo-2.1.so.3.0", "app" for "C:\app.exe", "_json.so" for "_json.cpython-311-x86_64-linux-gnu.so".
func moduleName(p string) string {
	if p == "" {
		return ""
	}
	name := strings.TrimSuffix(strings.ToLower(baseName(p)), " (deleted)")
	name = strings.TrimSuffix(name, ".exe")
	if so := strings.Index(name, ".so."); so > 0 {
		name = name[:so+len(".so")]
	}
	stem, ext := name, ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && !isVersion(name[dot+1:]) {
		stem, ext = name[:dot], name[dot:]
	}
	if ext == ".so" || ext == ".pyd" {
		stem = pythonTag.Get().ReplaceAllString(stem, "")
	}
	if v := interpreter.Get().FindStringSubmatch(stem); v != nil {
		stem = v[1]
	}
	if dash := strings.LastIndexAny(stem, "-_"); dash > 0 && isVersion(stem[dash+1:]) {
		stem = stem[:dash]
	}
	return report.Clean(stem + ext)
}

// pythonTag is what the file of an extension has between its name and its ending: for which interpreter and which system it was built.
var pythonTag = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`\.(?:cpython-[0-9]+[a-z]*(?:-[a-z0-9_-]+)?|pypy[0-9]+-pp[0-9]+(?:-[a-z0-9_-]+)?|graalpy[0-9a-z]*-[a-z0-9_-]+|abi3|cp[0-9]+[a-z]*-[a-z0-9_]+|(?:x86_64|i386|aarch64|arm|powerpc64le|s390x)-linux-(?:gnu|musl)[a-z]*)$`)
}}

// interpreter is the name of CPython or its library with its version: "python3.11", "libpython3.8m".
var interpreter = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`^((?:lib)?python)[23](?:\.?[0-9]+)?[a-z]{0,2}$`)
}}

// rustSymbol reports whether a linkage name is one of Rust, by either of its schemes.
func rustSymbol(s string) bool { return strings.HasPrefix(s, "_R") || rustHash.Get().MatchString(s) }

// rustHash is the hash at the end of a linkage name of Rust's older scheme; a clone's suffix may follow.
var rustHash = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp { return regexp.MustCompile(`^_ZN.*17h[0-9a-f]{16}E`) }}

// isVersion reports whether s consists of numbers separated by dots.
func isVersion(s string) bool {
	digits := false
	for i := range len(s) {
		switch {
		case s[i] >= '0' && s[i] <= '9':
			digits = true
		case s[i] != '.':
			return false
		}
	}
	return digits
}

// inlinedHeader reports whether a call is of a header of CPython or Ruby, or was inlined from one of V8: a reference counted, the type of an object
// asked for. Whether a report has it depends on debugging information and on the version.
func inlinedHeader(f *report.Frame) bool {
	file := strings.ReplaceAll(f.Source.File, `\`, "/")
	switch {
	case strings.HasSuffix(file, "-inl.h"):
		return f.Inlined && strings.Contains(file, "/v8/") || strings.HasPrefix(f.Function, "v8::")
	case !strings.HasSuffix(file, ".h"):
		return false
	}
	return strings.Contains(file, "/include/python") || strings.HasPrefix(file, "Include/") || strings.Contains(file, "/Include/") ||
		strings.Contains(file, "/include/ruby")
}

// ofRust reports whether a function of Rust is of the library that comes with the language, by its file: of the compiler's own sources.
func ofRust(f *report.Frame) bool {
	file := strings.ReplaceAll(f.Source.File, `\`, "/")
	_, rest, ok := strings.Cut(file, "/rustc/")
	if !ok {
		_, rest, _ = strings.Cut(file, "/rustlib/src/rust")
	}
	return strings.Contains(rest, "/library/")
}

// ofLibrary reports whether a function of a language is of the library that comes with the language: of Python's, Node's or Perl's.
func ofLibrary(f *report.Frame) bool {
	file := strings.ReplaceAll(f.Source.File, `\`, "/")
	switch f.Language {
	case "javascript":
		return strings.HasPrefix(file, "node:")
	case "python":
		if strings.HasPrefix(file, "<frozen ") {
			return true
		}
		dir := pythonLibrary.Get().FindStringIndex(file)
		return dir != nil && !strings.Contains(file[dir[1]:], "-packages/")
	case "perl":
		return perlLibrary.Get().MatchString(file)
	}
	return false
}

// perlLibrary is the directory of Perl's library in a path, not that of modules that a site installed.
var perlLibrary = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`^/usr/(?:share/perl/5|lib/(?:[a-z0-9_]+-[a-z0-9_-]+/)?(?:perl/5|perl-base/))|/lib/perl5/5\.[0-9]`)
}}

// perlInterprets reports whether a native function is Perl's own, as interprets does.
func perlInterprets(f *report.Frame) bool {
	if f.Language != "" {
		return false
	}
	stem, _, _ := strings.Cut(strings.ToLower(baseName(f.Module)), ".so")
	return perlProgram.Get().MatchString(strings.TrimSuffix(strings.TrimSuffix(stem, ".exe"), ".dll"))
}

// perlProgram is the name of Perl or its library with its version: "perl5.36.0", "libperl".
var perlProgram = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:lib)?perl)(?:5[0-9.]*)?$`)
}}

// pythonLibrary is the directory of Python's library in a path: of Unix, an archive or Windows.
var pythonLibrary = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`/lib/(?:python|pypy)[23][0-9.]*t?(?:\.zip)?/|(?i:/python[23][0-9]+(?:-32)?/lib/|/python[23][0-9]+\.zip/)`)
}}

// interprets reports whether a native function is CPython's own: of the interpreter's program or library. Which of them fails on a bad value depends on its
// version; the function of Python that runs says more.
func interprets(f *report.Frame) bool {
	if f.Language != "" {
		return false
	}
	stem, _, _ := strings.Cut(strings.ToLower(baseName(f.Module)), ".so")
	return interpreter.Get().MatchString(strings.TrimSuffix(strings.TrimSuffix(stem, ".exe"), ".dll"))
}
