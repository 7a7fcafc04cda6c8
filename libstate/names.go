package libstate

import "strings"

// VDSOName is the Path of the kernel's own library.
const VDSOName = "[vdso]"

func baseName(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}

// isLib reports whether path is a name under which C libraries install the library stem
// ("libc"): libc.so.6, libc-2.31.so, libc.so (musl, Android), libc.musl-x86_64.so.1.
func isLib(path, stem string) bool {
	rest, ok := strings.CutPrefix(baseName(path), stem)
	if !ok {
		return false
	}
	if isSOSuffix(rest) || strings.HasPrefix(rest, ".musl-") {
		return true
	}
	version, ok := strings.CutPrefix(rest, "-")
	if !ok {
		return false
	}
	end := strings.TrimLeft(version, "0123456789.-")
	// The trimming removed the dot of ".so" too.
	start := len(version) - len(end) - 1
	return start > 0 && isSOSuffix(version[start:])
}

// isSOSuffix reports whether s is ".so" or ".so." and a version.
func isSOSuffix(s string) bool {
	rest, ok := strings.CutPrefix(s, ".so")
	return ok && (rest == "" || rest[0] == '.')
}

// isLibc also recognises musl, whose C library is its dynamic linker.
func isLibc(path string) bool {
	return isLib(path, "libc") || strings.HasPrefix(baseName(path), "ld-musl-")
}

func isLibthread(path string) bool { return isLib(path, "libpthread") || isLib(path, "libthr") }
