# Messages that programs print before they die.
#
# Each fixture has a stderr.txt: what the program wrote to its standard error. Tests
# compare it with what is read from the core.

# said: keeps what the program wrote, without the shell's own message.
said() {
	grep -v '(core dumped)' "$dir/run.log" >"$stage/stderr.txt"
	[ -s "$stage/stderr.txt" ] || { say "$case: the program wrote nothing"; return 1; }
}

# words WAY COMPILER FLAG...: compiles lastwords, runs it, ships program and core
# compressed.
words() {
	local way=$1
	shift
	ship_plain=4096
	"$@" -o lastwords && run lastwords "$way" && said && ship lastwords
}

make_words-free() { words free cc lastwords.c -O1 -g -w && finish lastwords; }
make_words-fortify() { words fortify cc lastwords.c -O2 -D_FORTIFY_SOURCE=2 -w && finish lastwords; }
make_words-perror() { words perror cc lastwords.c -O1 -g -w && finish lastwords; }

words_cxx() { words "$1" cxx lastwords.cpp -O1 -fno-inline -DTHREADS -pthread && finish lastwords; }

make_words-nested() { words_cxx nested; }
make_words-string() { words_cxx string; }
make_words-thread() { words_cxx thread; }
make_words-pure() { words_cxx pure; }

# libc++ and libc++abi are linked in.
make_words-libcxx() {
	need clang++-19 || return $?
	[ -e /usr/lib/llvm-19/lib/libc++abi.a ] || { say "skip $case: libc++abi-19-dev is not installed"; return $skipped; }
	words several compile clang++-19 -fdebug-compilation-dir=/src -stdlib=libc++ -static-libstdc++ -Wl,--gc-sections -Wl,--strip-debug \
		lastwords.cpp -O1 && finish lastwords
}

# The standard library is optimised together with the program, so the panic hook is
# inlined. Only symbols are kept, to save space.
make_words-rust() {
	need rustc || return $?
	ship_plain=4096
	(cd "$src" && rustc --edition 2021 -C opt-level=2 -C panic=abort -C codegen-units=1 -C lto=fat -C strip=debuginfo \
		--remap-path-prefix "$src=/src" --remap-path-prefix "$dir=/src" -C linker=gcc lastwords.rs -o "$dir/lastwords") &&
		run lastwords format && said && ship lastwords && finish lastwords
}

# Without symbols, the hook and all that calls it have no names.
make_words-rust-stripped() {
	need rustc || return $?
	ship_plain=4096
	(cd "$src" && rustc --edition 2021 -C opt-level=z -C panic=abort -C codegen-units=1 -C lto=fat -C strip=symbols \
		--remap-path-prefix "$src=/src" --remap-path-prefix "$dir=/src" -C linker=gcc lastwords.rs -o "$dir/lastwords") &&
		run lastwords index && said && ship lastwords && finish lastwords
}
# raised PROGRAM WAY FLAG...: exceptions of Ada. GNAT's library is linked in.
raised() {
	need gnatmake || return $?
	local program=$1 way=$2
	shift 2
	ship_plain=4096
	extra_gdb=("set print demangle off") # it writes dots into names otherwise
	(cd "$dir" && gnatmake -q -g "$@" "-I$src" "$src/$program.adb" -cargs -ffile-prefix-map="$src"=/src -ffile-prefix-map="$dir"=/src \
		-bargs -static -largs -Wl,--gc-sections "${raised_link[@]}") && run "$program" "$way" && ship "$program" && finish "$program"
}
raised_link=()

make_raised-index() { raised raised index -O0; }
make_raised-null() { raised raised null -O0; }
make_raised-handler() { raised raised handler -O2 -fno-optimize-sibling-calls; }
make_raised-nested() { raised raised nested -O2 -fno-optimize-sibling-calls; }
make_raised-assert() { raised raised asserted -O2 -fno-optimize-sibling-calls; }
make_raised-second() { raised raised second -O2 -fno-optimize-sibling-calls; }
make_raised-stripped() { raised_link=(-s); raised raised null -O0; }
make_raised-full() { stack_limit=256; raised raised full -O0; }
make_raised-task() { raised raised_task task -O0; }

# fortran WAY FLAG...: errors of Fortran. gfortran's library is linked in. It writes no backtrace, for which it would read all debug
# information that the machine has into the core.
fortran() {
	need gfortran || return $?
	local way=$1
	shift
	ship_plain=4096
	extra_gdb=("set backtrace past-main on")
	compile gfortran -c -g -fcheck=all -fno-backtrace "$@" -J"$dir" fortran.f90 -o fortran.o && cc -c -g -O1 fortran_end.c -o fortran_end.o &&
		(cd "$dir" && gcc -Wl,--gc-sections fortran.o fortran_end.o -l:libgfortran.a -l:libquadmath.a -lm -o fortran) && run fortran "$way" &&
		case $way in bounds | twice | load | stop) grep -v '(core dumped)' "$dir/run.log" >"$stage/stderr.txt" ;; esac &&
		ship fortran && finish fortran
}

make_fortran-bounds() { fortran bounds -O0; }
make_fortran-twice() { fortran twice -O2; }
make_fortran-much() { fortran much -O0; }
make_fortran-load() { fortran load -O0; }
make_fortran-stop() { fortran stop -O2; }
make_fortran-normal() { fortran normal -O0; }
make_fortran-abort() { fortran abort -O0; }
