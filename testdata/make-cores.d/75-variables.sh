# Programs with variables of every kind, as several compilers describe them.

# vars_c COMPILER FLAG...: compiles vars.c with a function of 00-helpers.sh.
vars_c() { "$@" vars.c -o vars && run vars && ship vars && finish vars; }

make_vars-c-O0() { vars_c cc -O0 -g -w; }
make_vars-c-O2() { vars_c cc -O2 -g -w; }
make_vars-c-dwarf4-O1() { vars_c cc -O1 -g -gdwarf-4 -gstrict-dwarf -w; }
make_vars-c-clang-O0() { need clang-19 || return $?; vars_c clang -O0 -g -w; }
make_vars-c-clang-O2() { need clang-19 || return $?; vars_c clang -O2 -g -w; }

# vars_cxx COMPILER FLAG...: the same for vars.cpp.
vars_cxx() { "$@" -std=c++20 vars.cpp -o vars && run vars && ship vars && finish vars; }

make_vars-cxx-O0() { vars_cxx cxx -O0 -g -w; }
make_vars-cxx-O2() { vars_cxx cxx -O2 -g -w; }

# vars_rust FLAG...: the same for vars.rs.
vars_rust() {
	need rustc || return $?
	(cd "$src" && rustc --edition 2021 -g -C panic=abort -C codegen-units=1 --remap-path-prefix "$src=/src" \
		--remap-path-prefix "$dir=/src" -C linker=gcc "$@" vars.rs -o "$dir/vars") &&
		run vars && ship vars && finish vars
}

make_vars-rust-O0() { vars_rust -C opt-level=0; }
make_vars-rust-O2() { vars_rust -C opt-level=2; }

# vars_go FLAG...: the same for govars.
vars_go() {
	need go || return $?
	launcher=(GOTRACEBACK=crash GOMAXPROCS=1)
	CGO_ENABLED=0 go_build govars "$@" && run govars && ship govars && finish govars
}

make_vars-go-O0() { vars_go -gcflags=all=-N\ -l; }

# libc++ is linked in, so that no library has to be shipped.
make_vars-libcxx() {
	need clang++-19 || return $?
	[ -e /usr/lib/llvm-19/include/c++/v1/vector ] || { say "skip $case: libc++-19-dev is not installed"; return $skipped; }
	vars_cxx compile clang++-19 -fdebug-compilation-dir=/src -stdlib=libc++ -static-libstdc++ -fstandalone-debug -O0 -g -w
}
