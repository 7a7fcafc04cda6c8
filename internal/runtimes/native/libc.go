package native

import "strings"

// A libc is the C library whose locks are read.
type libc uint8

const (
	glibc libc = iota
	musl
	otherLibc
)

// findLibc says which C library a process has, by the name of its file or, in a static
// program, by functions that only one of them has.
func (r *runtime) findLibc() libc {
	libs := r.p.State.LibraryTracker()
	if libs == nil {
		return otherLibc
	}
	exe, ok := libs.AOut()
	if l, found := libs.Libc(); found && (!ok || l != exe) {
		if kind := byName(l.Path); kind != otherLibc {
			return kind
		}
	}
	all, _ := libs.Libraries(false)
	for _, l := range all {
		if kind := byName(l.Path); l != exe && kind != otherLibc {
			return kind
		}
	}
	if ok && r.p.Symbols != nil { // a static program
		if _, ok := r.p.Symbols.SymbolByName(exe, "__init_libc"); ok {
			return musl
		}
		if _, ok := r.p.Symbols.SymbolByName(exe, "__libc_setup_tls"); ok {
			return glibc
		}
	}
	return otherLibc
}

// byName says which C library a file is: libc.so.6 or libc-2.31.so is glibc's; musl's is ld-musl-ARCH.so.1, or libc.so in a directory of musl's.
func byName(path string) libc {
	base := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case strings.HasPrefix(base, "libc.so.6") || strings.HasPrefix(base, "libc-2."):
		return glibc
	case strings.HasPrefix(base, "ld-musl-") || base == "libc.so" && strings.Contains(path, "musl"):
		return musl
	}
	return otherLibc
}
