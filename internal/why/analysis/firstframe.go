package analysis

import (
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

// firstFrame picks the frame to look at first: the one that failed (signature.Place, of which triage makes its groups). Besides the
// functions that the rules there name, headers of the system and libraries of languages, compiled into the program, only noticed that
// something was wrong. The answer is nil when helpers alone are on the stack, or lead to a frame that was guessed. ended says that the program
// ended itself, called that the innermost frame is at no code: its caller made a bad call.
func firstFrame(frames []report.Frame, ended, called bool) *int {
	library := Library(frames)
	i, ok := signature.Place(frames, ended, func(f *report.Frame) bool { return called && f == &frames[0] || library(f) })
	if !ok {
		return nil
	}
	return &i
}

// Library returns what tells, of the frames of one stack, those in the system's libraries, a language's runtime or its library. What is in
// none of them is taken for the program's own.
func Library(frames []report.Frame) func(*report.Frame) bool {
	root := goSources(frames)
	return func(f *report.Frame) bool {
		file := f.Source.File
		return runtimeFunction(f.Function) || systemModule(f.Module) || file != "" && (f.Merged == nil && systemSource(file) || root != "" && strings.HasPrefix(file, root))
	}
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
// Go, Mono, and of sanitizers.
var runtimePrefixes = []string{
	"std::", "__gnu_cxx::", "__cxxabiv1::", "__cxa_",
	"core::", "alloc::", "<core::", "<alloc::", "<std::", "__rustc::", "rust_begin_unwind", "__rust_",
	"runtime.", "internal/runtime/", "internal/sync.", "sync.(*", caughtForeign,
	"___chkstk", "__asan", "__ubsan", "__tsan", "__msan", "__lsan", "__hwasan", "__sanitizer", "__interceptor_", "___interceptor_",
	signature.MonoWrapper,
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
