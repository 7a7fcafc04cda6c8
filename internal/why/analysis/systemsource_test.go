package analysis

import "testing"

func TestSystemSource(t *testing.T) {
	for file, want := range map[string]bool{
		"/usr/include/x86_64-linux-gnu/bits/stdio2.h":                                     true,
		"/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/stl_vector.h":   true,
		"/usr/lib/llvm-19/lib/clang/19/include/xmmintrin.h":                               true,
		"/opt/gcc-14/include/c++/14/bits/unique_ptr.h":                                    true,
		"/usr/lib64/ghc/include/Rts.h":                                                    true,
		"/usr/share/mingw-w64/include/stdio.h":                                            true,
		"/usr/i686-w64-mingw32/include/stdio.h":                                           true,
		"/usr/x86_64-w64-mingw32/include/stdio.h":                                         true,
		"/opt/llvm/lib/clang/19/include/xmmintrin.h":                                      true,
		"/opt/cross/lib/gcc/arm-none-eabi/13/include/stdint.h":                            true,
		`C:\Program Files (x86)\Windows Kits\10\Include\10.0.22621.0\um\winnt.h`:          true,
		"/build/llvm/compiler-rt/lib/asan/asan_report.cpp":                                true,
		`C:\Program Files\Microsoft Visual Studio\VC\Tools\MSVC\14.38\include\xutility`:   true,
		"../../../../src/libsanitizer/asan/asan_report.cpp":                               true,
		"/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/core/src/slice/index.rs": true,
		"/usr/lib/rustlib/src/rust/library/alloc/src/vec/mod.rs":                          true,
		"library/std/src/panicking.rs":                                                    true,
		"library/core/src/option.rs":                                                      true,
		"library/alloc/src/raw_vec.rs":                                                    true,
		"/build/rust/library/std/src/panicking.rs":                                        true,
		"library/test/src/lib.rs":                                                         false,
		"mylibrary/std/src/panicking.rs":                                                  false,
		"/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/notes.c":                         false,
		"/usr/lib/rustlibs/src/main.rs":                                                   false,
		"/home/me/compiler-rt/library/a.cpp":                                              false,
		"/home/me/mylibsanitizer/a.cpp":                                                   false,
		"/home/me/lib/gcc/main.c":                                                         false,
		"/opt/app/vc/tools/include/own.h":                                                 false,
		"/opt/usr/include/own.h":                                                          false,
		"/usr/lib32/app/include/own.h":                                                    false,
		"/home/me/rustc-tools/src/main.rs":                                                false,
		"/home/me/library/src/main.rs":                                                    false,
		"/usr/src/app/include/own.h":                                                      false,
		"/home/me/include/own.h":                                                          false,
		"/usr/lib/app/main.c":                                                             false,
		"_cgo_gotypes.go":                                                                 true,
		"/tmp/b001/_cgo_export.c":                                                         true,
		"cgo-gcc-prolog":                                                                  true,
		"my_cgo_gotypes.go":                                                               false,
		"/src/_cgo_x/main.go":                                                             false,
		"main.c":                                                                          false,
		"":                                                                                false,
	} {
		if got := systemSource(file); got != want {
			t.Errorf("%q: %v, want %v", file, got, want)
		}
	}
}
