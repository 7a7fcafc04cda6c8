package analysis

import "testing"

func TestSystemSource(t *testing.T) {
	for file, want := range map[string]bool{
		"/usr/include/x86_64-linux-gnu/bits/stdio2.h":                                   true,
		"/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/stl_vector.h": true,
		"/usr/lib/llvm-19/lib/clang/19/include/xmmintrin.h":                             true,
		"/opt/gcc-14/include/c++/14/bits/unique_ptr.h":                                  true,
		"/usr/share/mingw-w64/include/stdio.h":                                          true,
		`C:\Program Files\Microsoft Visual Studio\VC\Tools\MSVC\14.38\include\xutility`: true,
		"../../../../src/libsanitizer/asan/asan_report.cpp":                             true,
		"/usr/src/app/include/own.h":                                                    false,
		"/home/me/include/own.h":                                                        false,
		"/usr/lib/app/main.c":                                                           false,
		"main.c":                                                                        false,
		"":                                                                              false,
	} {
		if got := systemSource(file); got != want {
			t.Errorf("%q: %v, want %v", file, got, want)
		}
	}
}
