package signature

import "strings"

// home returns the named function in which a lambda or closure is written, for a normalised name; other names
// as they are. A lambda is text of that function: whether its code has a frame of its own, is inlined into the
// library's algorithm or into the function itself, is the compiler's choice.
func home(name string) string {
	for _, mark := range [...]string{"::{lambda}", "::{closure}"} {
		if at := strings.Index(name, mark); at > 0 && !strings.HasSuffix(name[:at], "{anonymous}") {
			return name[:at]
		}
	}
	if isGo(name) {
		if at := strings.Index(name, ".func"); at > 0 && !strings.HasSuffix(name[:at], ".") && goClosure(name[at+1:]) {
			return name[:at]
		}
	}
	return name
}

// goClosure reports whether the parts of a name are those of closures and their wrappers only.
func goClosure(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part != "func" && part != "gowrap" && part != "deferwrap" {
			return false
		}
	}
	return true
}
