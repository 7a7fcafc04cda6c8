package find

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// BaseName returns what follows the last / or \ of a path. Dumps use the path syntax of the
// system that they are from, which may differ from this machine's.
func BaseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// stem returns a base name without its last extension.
func stem(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return name
}

// maxComponent limits a path component, in bytes. File systems allow 255; names of
// temporary files need the rest.
const maxComponent = 200

// component reports whether a name from a dump is safe as a component of a path or URL: it
// names the same ordinary file on every system, is not hidden, and is not reserved by
// symbol stores.
func component(name string) bool {
	if name == "" || len(name) > maxComponent || name[0] == '.' || !utf8.ValidString(name) {
		return false
	}
	if last := name[len(name)-1]; last == '.' || last == ' ' {
		return false // Windows ignores trailing dots and spaces
	}
	for _, r := range name {
		if !unicode.IsPrint(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return false
		}
	}
	switch lower := strings.ToLower(name); lower {
	case storePointer, "refs.ptr", indexed, "pingme.txt", "000admin":
		return false
	default:
		return !isDevice(lower)
	}
}

// isDevice reports whether a lower-case name opens a device on Windows, whatever its
// extension and directory.
func isDevice(lower string) bool {
	name, _, _ := strings.Cut(lower, ".")
	name = strings.TrimRight(name, " ")
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '0' && name[3] <= '9'
}

// isHex reports whether s consists of lo to hi hexadecimal digits.
func isHex(s string, lo, hi int) bool {
	return len(s) >= lo && len(s) <= hi && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
