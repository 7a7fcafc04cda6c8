package find

import (
	"iter"
	"path/filepath"
	"strings"
)

// Written proposes files that a process wrote at a path: below the sysroots, and, by its name, beside the dump. Links lead to nothing outside of these
// directories. If the process ran here, the file at the path itself is proposed, too, unless there are sysroots.
func (f *Finder) Written(path string, here bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, root := range f.sysroots() {
			if !yield(f.within(root, path)) {
				return
			}
		}
		if here && len(f.opts.Sysroots) == 0 && MayAsk(path) && !yield(within(filepath.Dir(path), filepath.Base(path))) {
			return
		}
		if base := BaseName(path); fileName(base) {
			for _, dir := range f.opts.Beside {
				if !yield(f.within(dir, base)) {
					return
				}
			}
		}
	}
}

// IsJitdump reports whether a file is called as those in which compilers record the code that they make: jit-PID.dump.
func IsJitdump(path string) bool {
	name, ok := strings.CutPrefix(BaseName(path), "jit-")
	name, dump := strings.CutSuffix(name, ".dump")
	return ok && dump && name != "" && strings.Trim(name, "0123456789") == ""
}

// IsMemory reports whether a mapping's path is that of memory that processes share, which no file system has: compilers put the code there that they make, so
// that they can map it twice. Programs may load libraries from there, too.
func IsMemory(path string) bool {
	for _, prefix := range [...]string{"/memfd:", "/SYSV", "/anon_hugepage", "/dev/zero (deleted)"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
