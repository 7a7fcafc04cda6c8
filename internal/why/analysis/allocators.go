package analysis

import (
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/unwind"
)

// allocatorMarks returns what a process with an allocator has: words in the names of its modules, and symbols of its program,
// if it is linked into that.
func allocatorMarks(which reason.Allocator) (modules, symbols []string) {
	switch which {
	case reason.JEMalloc:
		return []string{"jemalloc"}, []string{"mallocx", "je_mallocx", "_rjem_mallocx", "je_malloc", "_rjem_malloc"}
	case reason.MozillaAllocator:
		return []string{"libmozglue", "mozglue.dll", "libxul"}, nil
	case reason.AddressSanitizer:
		return []string{"libasan.so", "libclang_rt.asan", "libclang_rt.hwasan"}, []string{"__asan_init"}
	}
	return nil, nil
}

// hasAllocator reports whether the process has an allocator.
func (in *question) hasAllocator(which reason.Allocator) bool {
	switch {
	case which == reason.MacOS:
		return in.Dump.OS == "macos" || in.Dump.OS == "darwin" || in.Dump.OS == "ios"
	case which == reason.JEMalloc && in.Dump.OS == "freebsd":
		return true // it is in its C library
	}
	modules, symbols := allocatorMarks(which)
	libs := in.Proc.LibraryTracker()
	if libs == nil {
		return false
	}
	list, _ := libs.Libraries(false)
	for i, lib := range list {
		name := filepath.Base(lib.Path)
		for _, m := range modules {
			if strings.Contains(name, m) {
				return true
			}
		}
		if i > 0 || len(symbols) == 0 {
			continue
		}
		if look, ok := in.Walker.SymbolLookup().(unwind.SymbolReader); ok {
			for _, name := range symbols {
				if _, ok := look.SymbolByName(lib, name); ok {
					return true
				}
			}
		}
	}
	return false
}
