package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestFirstFrame: the frame to look at first.
func TestFirstFrame(t *testing.T) {
	frame := func(module, function, file string) report.Frame {
		return report.Frame{Module: module, Function: function, Source: report.Source{File: file}}
	}
	const app, libc, libstdcxx = "/srv/app", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/libstdc++.so.6.0.30"
	for _, c := range []struct {
		name   string
		frames []report.Frame
		want   int // -1 for none
	}{
		{"nothing", nil, -1},
		{"own", []report.Frame{frame(app, "visit", "q.c"), frame(app, "main", "q.c")}, 0},
		{"abort, libc with lines", []report.Frame{frame(libc, "raise", "raise.c"), frame(libc, "abort", "abort.c"), frame(app, "give_up", "q.c")}, 2},
		{"static libc", []report.Frame{frame(app, "raise", "raise.c"), frame(app, "abort", "abort.c"), frame(app, "give_up", "q.c")}, 2},
		{"uncaught", []report.Frame{frame(libc, "abort", ""), frame(libstdcxx, "std::terminate", ""), frame(libstdcxx, "__cxa_throw", ""), frame(app, "parse", "p.cc")}, 3},
		{"template of the library", []report.Frame{frame(app, "std::vector<int>::operator[]", "stl_vector.h"), frame(app, "sum", "p.cc")}, 1},
		{"Rust", []report.Frame{frame(app, "core::panicking::panic", "panicking.rs"), frame(app, "<alloc::vec::Vec<T> as core::ops::index::Index<I>>::index", "mod.rs"), frame(app, "app::pick", "main.rs")}, 2},
		{"Go", []report.Frame{frame(app, "runtime.raise", "sys.s"), frame(app, "runtime.sigpanic", "signal.go"), frame(app, "main.(*queue).pop", "main.go")}, 2},
		{"a thread that Go does not know", []report.Frame{frame(app, caughtForeign, "foreign.s"), {Signal: "SIGSEGV"}, frame(app, "store", "c.c")}, 2},
		{"Go's library", []report.Frame{frame(app, "runtime.fatal", "/opt/go/src/runtime/panic.go"), frame(app, "internal/sync.fatal", "/opt/go/src/runtime/panic.go"), frame(app, "sync.(*Mutex).Unlock", "sync/mutex.go"), frame(app, "bytes.Repeat", "/opt/go/src/bytes/bytes.go"), frame(app, "main.fill", "/home/go/src/x/main.go")}, 4},
		{"what cgo generated", []report.Frame{frame(libc, "abort", ""), frame(app, "runtime.cgocall", "/opt/go/src/runtime/cgocall.go"), frame(app, "main._Cfunc_visit", "_cgo_gotypes.go"), frame(app, "main.ask", "main.go")}, 3},
		{"C that cgo calls", []report.Frame{frame(app, "_cgo_1_Cfunc_visit", "cgo-gcc-prolog"), frame(app, "runtime.cgocall", "x.go"), frame(app, "visit", "my_cgo_.c")}, 2},
		{"no Go, but a directory like its", []report.Frame{frame(app, "runtime_init", "/opt/go/src/runtime/x.c"), frame(app, "main", "m.c")}, 0},
		{"after a signal", []report.Frame{{Signal: "SIGSEGV", Module: libc, Function: "__restore_rt", Source: report.Source{File: "x.S"}}, frame(app, "crash", "q.c")}, 1},
		{"inlined from the system's headers", []report.Frame{frame(app, "_mm_add_ps", "/usr/lib/gcc/x86_64-linux-gnu/12/include/xmmintrin.h"), frame(app, "add4", "/usr/src/sse.c")}, 1},
		{"nothing but headers", []report.Frame{frame(app, "strcpy", "/usr/include/bits/string_fortified.h"), frame(app, "main", "")}, 1},
		{"own header", []report.Frame{frame(app, "get", "/usr/local/src/include/own.h"), frame(app, "main", "q.c")}, 0},
		{"sanitizer", []report.Frame{frame("/lib/libasan.so.8", "f", "x.cpp"), frame(app, "handleIntegerOverflowImpl<__ubsan::Value>", "../src/libsanitizer/ubsan/ubsan_handlers.cpp"),
			frame(app, "__ubsan_handle_add_overflow_abort", "x.cpp"), frame(app, "inc", "q.c")}, 3},
		{"no name, then one", []report.Frame{frame(libc, "abort", "abort.c"), frame(app, "", ""), frame(app, "give_up", ""), frame(app, "main", "")}, 1},
		{"a line further out", []report.Frame{frame("/lib/libz.so.1", "inflate", ""), frame(app, "load", "q.c")}, 0},
		{"no names", []report.Frame{frame(libc, "abort", "abort.c"), frame(app, "", ""), frame(app, "main", "")}, 1},
		{"libc alone", []report.Frame{frame(libc, "abort", "abort.c"), frame(libc, "", "")}, -1},
		{"Rust's library, compiled into the program", []report.Frame{frame(app, "<usize as core::slice::index::SliceIndex<[T]>>::index", "/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/core/src/slice/index.rs"), frame(app, "app::pick", "src/main.rs")}, 1},
		{"a joined call, of what was inlined", []report.Frame{frame(app, "core::result::unwrap_failed", "/rustc/1/library/core/src/result.rs"),
			{Module: app, Function: "app::main", Source: report.Source{File: "/rustc/1/library/core/src/result.rs"}, Merged: &report.Merged{Lost: true}}, frame(app, "app::start", "src/main.rs")}, 1},
		{"a library of the system", []report.Frame{frame("/usr/lib/x86_64-linux-gnu/libuv.so.1", "uv__run_timers", "timer.c"), frame(app, "loop", "q.c")}, 0},
		{"a library of the system alone", []report.Frame{frame("/usr/lib/x86_64-linux-gnu/libuv.so.1", "uv__run_timers", "timer.c"), frame(libc, "", "")}, 0},
		{"a plug-in", []report.Frame{frame("/srv/plugins/sound.so", "play", "sound.c"), frame(app, "call", "q.c")}, 0},
		{"a package's own directory", []report.Frame{frame("/usr/lib/postgresql/15/lib/plpgsql.so", "exec_stmt", "pl_exec.c"), frame(app, "call", "q.c")}, 0},
		{"vendored", []report.Frame{frame(app, "uv__run_timers", "../deps/uv/src/timer.c"), frame(app, "loop", "src/node.cc")}, 0},
		{"vendored, with a line", []report.Frame{frame(app, "strcpy", "/usr/include/bits/string_fortified.h"), frame(app, "g", "vendor/g.c")}, 1},
		{"no line, but it failed", []report.Frame{frame(app, "f", ""), frame(app, "strcpy", "/usr/include/bits/string_fortified.h")}, 0},
		{"no names but main and the start", []report.Frame{frame(app, "", ""), frame(app, "main", ""), frame(app, "_start", "")}, 0},
		{"no names but the start", []report.Frame{frame(app, "", ""), frame(app, "_start", "")}, 0},
		{"a static libc's trampoline", []report.Frame{{Signal: "SIGSEGV", Module: app, Function: "__restore_rt", Source: report.Source{File: "x.S"}}, frame(app, "crash", "q.c")}, 1},
		{"no module", []report.Frame{frame("", "", ""), frame("", "", "")}, 0},
	} {
		got := -1
		if p := firstFrame(c.frames, true, false); p != nil {
			got = *p
		}
		if got != c.want {
			t.Errorf("%s: frame %d, want %d", c.name, got, c.want)
		}
	}
}

// TestFailedFrame: what failed, and not what has debug information, a guess, or a handler that was told of it.
func TestFailedFrame(t *testing.T) {
	frame := func(module, function, file string) report.Frame {
		return report.Frame{Module: module, Function: function, Source: report.Source{File: file}, Trust: report.TrustCFI}
	}
	guess := func(f report.Frame) report.Frame { f.Trust = report.TrustScan; return f }
	const app, lib, libc, libstdcxx = "/srv/app", "/srv/libeach.so", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/libstdc++.so.6.0.30"
	thrown := []report.Frame{frame(libc, "abort", "abort.c"), frame(app, "on_terminate", "t.cc"), frame(libstdcxx, "", ""), frame(libstdcxx, "std::terminate", ""),
		frame(libstdcxx, "__cxa_throw", ""), frame(app, "read_row", "t.cc")}
	hook := []report.Frame{frame(app, "std::process::abort", "/rustc/1/library/std/src/process.rs"), frame(app, "app::main::{{closure}}", "main.rs"), frame(app, "std::panicking::rust_panic_with_hook", "/rustc/1/library/std/src/panicking.rs"),
		frame(app, "core::panicking::panic_fmt", "/rustc/1/library/core/src/panicking.rs"), frame(app, "core::option::unwrap_failed", "/rustc/1/library/core/src/option.rs"), frame(app, "app::load", "main.rs")}
	handled := []report.Frame{frame(libc, "raise", ""), frame(app, "bugReportEnd", "debug.c"), frame(app, "sigsegvHandler", "debug.c"), {Signal: "SIGSEGV", Module: libc}, frame(app, "lookup", "db.c")}
	for _, c := range []struct {
		name          string
		frames        []report.Frame
		ended, called bool
		want          int // -1 for none
	}{
		{"a program without symbols that a library with lines called", []report.Frame{frame(app, "", ""), frame(app, "", ""), frame(lib, "each", "cb.c"), frame(app, "", "")}, false, false, 0},
		{"a terminate handler", thrown, true, false, 5},
		{"a fault in a terminate handler", thrown[1:], false, false, 0},
		{"a panic hook", hook, true, false, 5},
		{"a fault in a panic hook", hook[1:], false, false, 0},
		{"a handler that tells of a fault and passes it on", handled, true, false, 4},
		{"the same, as seen by the function that ended", handled, false, false, 4},
		{"a fault in a handler", handled[1:], false, false, 0},
		{"a handler of another signal", []report.Frame{frame(libc, "abort", ""), frame(app, "on_alarm", "a.c"), {Signal: "SIGALRM", Module: libc}, frame(libc, "raise", ""), frame(app, "work", "a.c")}, true, false, 1},
		{"a guess", []report.Frame{frame(libc, "free", ""), guess(frame(app, "stale", "s.c"))}, false, false, -1},
		{"a guess in machinery", []report.Frame{frame(libc, "", ""), guess(frame(libc, "abort", "")), frame(app, "stale", "s.c")}, true, false, -1},
		{"a call of no code", []report.Frame{frame("", "", ""), frame(app, "call", "c.c")}, false, true, 1},
		{"a return to no code", []report.Frame{frame(app, "copy", "c.c"), frame("", "", "")}, false, false, 0},
		{"code that a rewriter moved", []report.Frame{frame(app, "work_dyninst", ""), {Module: app, Function: "work", Trust: report.TrustInstrumentation}}, false, false, 1},
		{"a probe of the stack", []report.Frame{frame(app, "___chkstk_ms", ""), frame(app, "dig", "c.c")}, false, false, 1},
		{"code without a module", []report.Frame{frame("", "", ""), frame(app, "call", "c.c")}, false, false, 0},
		{"an allocator", []report.Frame{frame(libc, "malloc_printerr", "malloc.c"), frame(libc, "_int_free", "malloc.c"), frame(libc, "free", "malloc.c"), frame(app, "drop", "")}, true, false, 3},
		{"an allocator that is linked in", []report.Frame{frame(app, "je_free", "jemalloc.c"), frame(app, "drop", "")}, false, false, 1},
		{"helpers up to the start", []report.Frame{frame(libc, "free", ""), frame(app, "_start", ""), frame(app, "wrong", "x.c")}, false, false, -1},
		{"main", []report.Frame{frame(libc, "strlen", ""), frame(app, "main", "")}, false, false, 1},
		{"a call of a language", []report.Frame{{Language: "python", Function: "free"}, frame(app, "x", "")}, false, false, 0},
	} {
		got := -1
		if p := firstFrame(c.frames, c.ended, c.called); p != nil {
			got = *p
		}
		if got != c.want {
			t.Errorf("%s: frame %d, want %d", c.name, got, c.want)
		}
	}
}

// TestSystemModule: the libraries that every program has.
func TestSystemModule(t *testing.T) {
	for _, module := range []string{
		"/lib/libc.so.6", "/lib/libc-2.31.so", "/lib64/ld-linux-x86-64.so.2", "/lib/ld-2.31.so", "/lib/ld-musl-x86_64.so.1", "/lib/libpthread.so.0",
		"/usr/lib/libstdc++.so.6", "/usr/lib/libc++.so.1", "/usr/lib/libc++abi.so.1", "/lib/libgcc_s.so.1", "[vdso]",
		"/usr/lib/libasan.so.8", "/usr/lib/libubsan.so.1", "/usr/lib/libtsan.so.2", "/usr/lib/libmsan.so", "/usr/lib/liblsan.so.0", "/usr/lib/libhwasan.so.0",
		"/usr/lib/libclang_rt.asan-x86_64.so",
	} {
		if !systemModule(module) {
			t.Errorf("%s is not of the system", module)
		}
	}
	for _, module := range []string{
		"", "/opt/app", "/usr/lib/libcurl.so.4", "/usr/lib/libc-client.so.2007", "/opt/mylibc.so.6", "/opt/libc.so/app", "/usr/lib/libstdcxx.so", "/usr/lib/libc++filt.so",
		"/usr/lib/libgccjit.so.0", "/usr/lib/libasanto.so", "/usr/lib/libclang.so.16", "/opt/ld-3", "[vsyscall]",
	} {
		if systemModule(module) {
			t.Errorf("%s is of the system", module)
		}
	}
}

// TestRuntimeFunction: the functions of runtimes that are linked into programs.
func TestRuntimeFunction(t *testing.T) {
	for _, name := range []string{
		"std::terminate", "__gnu_cxx::__verbose_terminate_handler", "__cxxabiv1::__terminate", "__cxa_throw",
		"core::option::unwrap_failed", "alloc::raw_vec::capacity_overflow", "<core::fmt::Arguments as core::fmt::Display>::fmt", "<alloc::vec::Vec<T> as a::B>::c",
		"<std::io::Stdout as std::io::Write>::write", "__rustc::rust_begin_unwind", "rust_begin_unwind", "__rust_start_panic",
		"runtime.gopanic", "internal/runtime/maps.fatal", "internal/sync.fatal", "sync.(*Mutex).Unlock",
		"__asan_report_load4", "__ubsan_handle_divrem_overflow", "__tsan_read8", "__msan_warning", "__lsan::DoLeakCheck", "__hwasan_load8", "__sanitizer::Die",
		"__interceptor_memcpy", "___interceptor_malloc",
		"raise", "abort", "gsignal", "__assert_fail", "__assert_fail_base", "__stack_chk_fail", "__fortify_fail", "__libc_message", "__pthread_kill_implementation",
		"abort_message", "demangling_terminate_handler",
	} {
		if !runtimeFunction(name) {
			t.Errorf("%s is no function of a runtime", name)
		}
	}
	for _, name := range []string{
		"", "main", "std", "stdx::f", "app::std::f", "core", "corelib::f", "allocator::f", "<app::Q as core::fmt::Display>::fmt", "<corelib::Q as a::B>::c",
		"main.runtime", "runtimes.F", "github.com/a/runtime.F", "internal/run.F", "internal/syncer.F", "sync.cold", "asan_init", "sanitizer::Die", "interceptor",
		"raised", "abort_all", "raise_error", "my_abort", "assert_fail", "abort_messages",
	} {
		if runtimeFunction(name) {
			t.Errorf("%s is a function of a runtime", name)
		}
	}
}
