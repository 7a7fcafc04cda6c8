package analysis

import (
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// firstFrame picks the frame to look at first: the innermost one with a source line in the program's own code,
// not in the C library, a language's runtime or its standard library, which only noticed that something was
// wrong. If there is none, it takes the innermost with a line in a system header, then the innermost with a
// name, then the innermost in a module; nil if the program's own code is not on the stack.
func firstFrame(frames []report.Frame) *int {
	for _, known := range []func(*report.Frame) bool{
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
	"runtime.", "internal/runtime/",
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
