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
	if l, ok := libs.Libc(); ok {
		if strings.Contains(l.Path, "musl") {
			return musl
		}
		return glibc
	}
	all, _ := libs.Libraries(false)
	for _, l := range all {
		if strings.Contains(l.Path, "musl") {
			return musl
		}
	}
	if exe, ok := libs.AOut(); ok && r.p.Symbols != nil {
		if _, ok := r.p.Symbols.SymbolByName(exe, "__init_libc"); ok {
			return musl
		}
		if _, ok := r.p.Symbols.SymbolByName(exe, "__libc_setup_tls"); ok {
			return glibc
		}
	}
	return otherLibc
}
