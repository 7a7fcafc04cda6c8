# Programs with musl, whose own functions have no unwind tables in Debian's build.

make_musl() {
	need musl-gcc || return $?
	compile musl-gcc pack.c -O2 -g -o pack && run pack && ship pack && finish pack
}

make_musl-static() {
	need musl-gcc || return $?
	compile musl-gcc pack.c -O2 -g -static -o pack && run pack && ship pack && finish pack
}

make_musl-abort() {
	need musl-gcc || return $?
	compile musl-gcc ends.c -O0 -g -o ends && run ends abort && ship ends && finish ends
}
