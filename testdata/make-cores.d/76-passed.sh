# What callers know about the parameters of their callees, and what signals save.

make_passed-O2() { simple passed -O2 -g; }
make_passed-deep-O2() { simple passed_deep -O2 -g; }
make_kept-O2() { simple kept -O2 -g; }
make_kept-clang-O2() {
	need clang-19 || return $?
	clang kept.c -O2 -g -o kept && run kept && ship kept && finish kept
}
make_tail-bad-O2() { simple tail_bad -O2 -g; }
make_tail-main-O2() { simple tail_main -O2 -g; }
make_tail-stale-O2() { simple tail_stale -O2 -g; }

# clang claims to describe all calls, but not those of fclose.
make_tail-main-clang() {
	need clang-19 || return $?
	clang tail_main.c -O2 -g -DLIBRARY -o tail_main && run tail_main && ship tail_main && finish tail_main
}

# Without debug information: the code tells what main left to.
make_tail-main-musl() {
	need musl-gcc || return $?
	compile musl-gcc tail_main.c -O2 -static -o tail_main && run tail_main && ship tail_main && finish tail_main
}

# Types that a program only declares and its library defines.
make_widget() {
	local flags=(-O0 -g -x c++ -fno-rtti -fno-exceptions)
	need clang-19 || return $?
	clang "${flags[@]}" widget.cpp -shared -fPIC -Wl,-soname,libwidget.so -o libwidget.so &&
		clang "${flags[@]}" widget_user.cpp -o widget_user -x none "$dir/libwidget.so" -Wl,-rpath,'$ORIGIN' &&
		run widget_user && ship widget_user && ship libwidget.so && finish widget_user
}

# Thread-local storage of libraries with musl.
make_musl-tls() {
	need musl-gcc || return $?
	compile musl-gcc tls_other.c -O0 -g -shared -fPIC -Wl,-soname,libother.so -o libother.so &&
		compile musl-gcc tls_lib.c -O0 -g -shared -fPIC -Wl,-soname,libtls.so -o libtls.so &&
		compile musl-gcc tls_user.c "$dir/libother.so" "$dir/libtls.so" -O0 -g -Wl,-rpath,'$ORIGIN' -o tls_user &&
		run tls_user && ship tls_user && ship libtls.so && ship libother.so && finish tls_user
}
