package find

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// BaseName is what follows the last / or \ of a path: dumps name modules as the
// system that they are from does, and where they are read is another.
func BaseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// stem is a base name without its last extension.
func stem(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return name
}

// maxComponent bounds a part of a path, in bytes; file systems have 255, and the
// files that are being written need some for themselves.
const maxComponent = 200

// component reports whether a name of a dump may be a part of a path or a URL:
// one that means a file of just this name on every system, is not hidden, and is
// none that stores give to files of their own.
func component(name string) bool {
	if name == "" || len(name) > maxComponent || name[0] == '.' || !utf8.ValidString(name) {
		return false
	}
	if last := name[len(name)-1]; last == '.' || last == ' ' {
		return false // Windows leaves it out
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

// isDevice reports whether Windows opens a device by this name, in lower case,
// whatever its extension and directory.
func isDevice(lower string) bool {
	name, _, _ := strings.Cut(lower, ".")
	name = strings.TrimRight(name, " ")
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '0' && name[3] <= '9'
}

// isHex reports whether s has hexadecimal digits only, lo to hi of them.
func isHex(s string, lo, hi int) bool {
	return len(s) >= lo && len(s) <= hi && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
