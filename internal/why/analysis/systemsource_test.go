package analysis

import "testing"

func TestSystemSource(t *testing.T) {
	for file, want := range map[string]bool{
		"/usr/include/x86_64-linux-gnu/bits/stdio2.h":                                     true,
		"/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/stl_vector.h":   true,
		"/usr/lib/llvm-19/lib/clang/19/include/xmmintrin.h":                               true,
		"/opt/gcc-14/include/c++/14/bits/unique_ptr.h":                                    true,
		"/usr/share/mingw-w64/include/stdio.h":                                            true,
		`C:\Program Files\Microsoft Visual Studio\VC\Tools\MSVC\14.38\include\xutility`:   true,
		"../../../../src/libsanitizer/asan/asan_report.cpp":                               true,
		"/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/core/src/slice/index.rs": true,
		"/usr/lib/rustlib/src/rust/library/alloc/src/vec/mod.rs":                          true,
		"library/std/src/panicking.rs":                                                    true,
		"/home/me/rustc-tools/src/main.rs":                                                false,
		"/home/me/library/src/main.rs":                                                    false,
		"/usr/src/app/include/own.h":                                                      false,
		"/home/me/include/own.h":                                                          false,
		"/usr/lib/app/main.c":                                                             false,
		"main.c":                                                                          false,
		"":                                                                                false,
	} {
		if got := systemSource(file); got != want {
			t.Errorf("%q: %v, want %v", file, got, want)
		}
	}
}

func TestVendoredSource(t *testing.T) {
	for file, want := range map[string]bool{
		"/home/me/.cargo/registry/src/index.crates.io-6f17d22bba15001f/hyper-1.4.1/src/lib.rs": true,
		"/root/go/pkg/mod/github.com/a/b@v1.2.3/c.go":                                          true,
		"../deps/uv/src/timer.c":                true,
		`C:\src\app\Third_Party\zlib\inflate.c`: true,
		"/home/me/app/vendored.c":               false,
		"/home/me/mydeps/x.c":                   false,
		"":                                      false,
	} {
		if got := vendoredSource(file); got != want {
			t.Errorf("%q: %v, want %v", file, got, want)
		}
	}
}
