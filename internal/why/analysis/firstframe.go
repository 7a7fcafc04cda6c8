package analysis

import (
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// firstFrame picks the frame to look at first: the innermost that is in the program's own
// source. The C library, a language's runtime and library, other libraries of the system
// and vendored code mostly only noticed that something was wrong. Where no line is the
// program's own, these come in turn: the innermost frame with a line, with a name, in a
// module. The answer is nil when none of the program's code is on the stack. program is
// the path of the main module.
func firstFrame(frames []report.Frame, program string) *int {
	root := goSources(frames)
	systemSource := func(file string) bool {
		return systemSource(file) || root != "" && strings.HasPrefix(file, root)
	}
	for _, known := range []func(*report.Frame) bool{
		func(f *report.Frame) bool {
			return f.Source.File != "" && !systemSource(f.Source.File) && !vendoredSource(f.Source.File) && !installed(f.Module, program)
		},
		func(f *report.Frame) bool { return f.Source.File != "" && !systemSource(f.Source.File) },
		func(f *report.Frame) bool { return f.Source.File != "" },
		func(f *report.Frame) bool { return f.Function != "" && f.Function != "main" && f.Function != "_start" },
		func(f *report.Frame) bool { return f.Module != "" },
	} {
		for i := range frames {
			f := &frames[i]
			if known(f) && f.Signal == "" && !systemModule(f.Module) && !runtimeFunction(f.Function) {
				return &i
			}
		}
	}
	return nil
}

// goSources returns the directory of the sources of Go's library, which the paths of its runtime tell; "" if none
// of its functions has a path.
func goSources(frames []report.Frame) string {
	for i := range frames {
		if f := &frames[i]; strings.HasPrefix(f.Function, "runtime.") {
			if before, _, ok := strings.Cut(f.Source.File, "/src/runtime/"); ok {
				return before + "/src/"
			}
		}
	}
	return ""
}

// installed reports whether a module is a library of the system that a program from
// elsewhere uses: it lies in a directory of shared libraries, the program does not.
func installed(module, program string) bool {
	return libraryDir(module) && !libraryDir(program)
}

// libraryDir reports whether a path lies where distributions install shared libraries,
// and not in a directory of one package below (/usr/lib/postgresql).
func libraryDir(path string) bool {
	dir := filepath.Dir(path)
	for _, root := range []string{"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib", "/usr/local/lib64"} {
		rest, below := strings.CutPrefix(dir, root)
		if below && (rest == "" || strings.Count(rest, "/") == 1 && strings.Contains(rest, "-linux-")) {
			return true
		}
	}
	return false
}

// systemModules are prefixes of the names of libraries that every program has.
var systemModules = []string{
	"libc.so", "libc-2.", "ld-linux", "ld-2.", "ld-musl", "libpthread", "libstdc++.so", "libc++.so", "libc++abi", "libgcc_s", "[vdso]",
	"libasan.so", "libubsan.so", "libtsan.so", "libmsan.so", "liblsan.so", "libhwasan.so", "libclang_rt.",
}

func systemModule(path string) bool {
	name := filepath.Base(path)
	for _, s := range systemModules {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	return false
}

// runtimePrefixes are prefixes of functions of language runtimes that are linked into programs: of C++, Rust,
// Go, and of sanitizers.
var runtimePrefixes = []string{
	"std::", "__gnu_cxx::", "__cxxabiv1::", "__cxa_",
	"core::", "alloc::", "<core::", "<alloc::", "<std::", "__rustc::", "rust_begin_unwind", "__rust_",
	"runtime.", "internal/runtime/", "internal/sync.", "sync.(*", caughtForeign,
	"__asan", "__ubsan", "__tsan", "__msan", "__lsan", "__hwasan", "__sanitizer", "__interceptor_", "___interceptor_",
}

func runtimeFunction(name string) bool {
	for _, p := range runtimePrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	switch name {
	case "raise", "abort", "gsignal", "__assert_fail", "__assert_fail_base", "__stack_chk_fail", "__fortify_fail", "__libc_message", "__pthread_kill_implementation",
		"abort_message", "demangling_terminate_handler":
		return true // of a C library or libc++abi, linked in
	}
	return false
}
