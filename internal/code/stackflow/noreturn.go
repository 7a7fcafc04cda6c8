package stackflow

import "github.com/corewalk/corewalk/internal/lazy"

import "strings"

// NoReturnName reports whether a function with this linkage name is known never to return.
// A version (abort@GLIBC_2.2.5) is ignored, and the mark of names within glibc (__GI_abort).
func NoReturnName(name string) bool {
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "__GI_"), "@")
	if noReturn.Get()[name] {
		return true
	}
	switch {
	case strings.HasPrefix(name, "_ZSt"): // std::__throw_length_error and similar
		return strings.Contains(name, "__throw_")
	case strings.HasPrefix(name, "_ZN"), strings.HasPrefix(name, "_R"):
		return rustPanics(name)
	case strings.HasPrefix(name, "runtime."):
		return strings.HasPrefix(name, "runtime.goPanic") || strings.HasPrefix(name, "runtime.panic")
	}
	return false
}

// rustPanics recognises the functions with which Rust's compiler and libraries end a
// program or thread, in either mangling.
func rustPanics(name string) bool {
	for _, part := range []string{"4core9panicking", "9panicking11begin_panic", "9panicking20rust_panic_with_hook", "13unwrap_failed",
		"13expect_failed", "17capacity_overflow", "18handle_alloc_error", "_len_fail", "_order_fail", "_overflow_fail", "core4cell22panic_already"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

var noReturn = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{
		"abort": true, "exit": true, "_exit": true, "_Exit": true, "quick_exit": true, "__libc_fatal": true, "pthread_exit": true, "__pthread_exit": true,
		"thrd_exit":        true,
		"__stack_chk_fail": true, "__stack_chk_fail_local": true, "__chk_fail": true, "__fortify_fail": true, "__assert": true, "__assert_fail": true,
		"__assert_perror_fail": true, "__assert_rtn": true, "__libc_assert_fail": true,
		"longjmp": true, "_longjmp": true, "siglongjmp": true, "__longjmp_chk": true, "__libc_longjmp": true, "__libc_siglongjmp": true,
		"err": true, "errx": true, "verr": true, "verrx": true,
		"__ubsan_handle_builtin_unreachable": true, "__ubsan_handle_missing_return": true,
		"_Unwind_Resume": true, "__cxa_throw": true, "__cxa_rethrow": true, "__cxa_bad_cast": true, "__cxa_bad_typeid": true, "__cxa_call_terminate": true,
		"__cxa_call_unexpected": true, "__cxa_throw_bad_array_new_length": true, "__cxa_throw_bad_array_length": true, "__cxa_pure_virtual": true,
		"__cxa_deleted_virtual": true, "__clang_call_terminate": true, "_ZSt9terminatev": true, "_ZSt10unexpectedv": true, "__gnat_raise_exception": true,
		"rust_begin_unwind": true, "rust_panic": true, "__rust_start_panic": true, "rust_oom": true, "__rust_alloc_error_handler": true,
		"runtime.throw": true, "runtime.fatal": true, "runtime.fatalthrow": true, "runtime.fatalpanic": true, "runtime.gopanic": true,
		"runtime.sigpanic": true, "runtime.goexit1": true, "runtime.goexit0": true, "runtime.throwinit": true,
		"_gfortran_stop_string": true, "_gfortran_stop_numeric": true, "_gfortran_runtime_error": true, "_gfortran_runtime_error_at": true,
		"_gfortran_error_stop_string": true, "_gfortran_os_error_at": true,
	}
}}
