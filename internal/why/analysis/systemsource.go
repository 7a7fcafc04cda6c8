package analysis

import "strings"

// systemSource reports whether a source file came with the compiler or the system: a header whose functions are
// inlined into the program's own code or instantiated there (_FORTIFY_SOURCE checks, vector instructions), the
// code of a sanitizer or of Rust's library, or what cgo generated.
func systemSource(file string) bool {
	file = strings.ToLower(strings.ReplaceAll(file, `\`, "/"))
	if strings.Contains(file, "/libsanitizer/") || strings.Contains(file, "/compiler-rt/lib/") {
		return true
	}
	for _, name := range []string{"_cgo_", "cgo-gcc-", "cgo-generated-"} {
		if strings.HasPrefix(file[strings.LastIndexByte(file, '/')+1:], name) {
			return true
		}
	}
	// Rust's library is built from /rustc/COMMIT/library, or from a distribution's own
	// directory; generic functions of it are compiled into the program.
	if strings.HasSuffix(file, ".rs") {
		for _, part := range []string{"/rustc/", "/lib/rustlib/src/", "/library/core/src/", "/library/alloc/src/", "/library/std/src/"} {
			if strings.Contains("/"+file, part) {
				return true
			}
		}
		return false
	}
	if !strings.Contains(file, "/include/") {
		return false
	}
	for _, root := range []string{"/usr/include/", "/usr/lib/", "/usr/lib64/", "/usr/share/mingw-w64/", "/usr/i686-w64-mingw32/", "/usr/x86_64-w64-mingw32/"} {
		if strings.HasPrefix(file, root) {
			return true
		}
	}
	for _, part := range []string{"/lib/gcc/", "/lib/clang/", "/include/c++/", "/vc/tools/msvc/", "/windows kits/"} {
		if strings.Contains(file, part) {
			return true
		}
	}
	return false
}
