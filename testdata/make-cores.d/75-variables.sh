# Programs with variables of every kind, as several compilers describe them.
#
# Each fixture has a printed.txt: a second, unoptimised build of the same source prints
# its own variables (vars_show.h and the like).

# printed PROGRAM: keeps what a program prints before it dies.
printed() {
	(cd "$dir" && ulimit -c 0 && clean_env "./$1" </dev/null) 2>/dev/null >"$stage/printed.txt"
	rm -f "$dir/$1"
	[ -s "$stage/printed.txt" ] || { say "$case: the program printed nothing"; return 1; }
}

# vars_c COMPILER FLAG...: compiles vars.c with a function of 00-helpers.sh.
vars_c() {
	"$@" vars.c -o vars && run vars && ship vars &&
		"$1" -O0 -w -DSHOW vars.c -o show && printed show
}

make_vars-c-O0() { vars_c cc -O0 -g -w && finish vars; }
make_vars-c-O2() { vars_c cc -O2 -g -w && finish vars; }
make_vars-c-lto-O2() { vars_c cc -O2 -g -flto -w && finish vars; }
make_vars-c-dwarf4-O1() { vars_c cc -O1 -g -gdwarf-4 -gstrict-dwarf -w && finish vars; }
make_vars-c-clang-O0() { need clang-19 || return $?; vars_c clang -O0 -g -w && finish vars; }
make_vars-c-clang-O2() { need clang-19 || return $?; vars_c clang -O2 -g -w && finish vars; }

# split COMPILER SOURCE FLAG...: compiles and links separately, in $dir, so that the
# debug information stays in vars.dwo, which the program names without a directory.
split() {
	local compiler=$1 source=$2
	shift 2
	(cd "$dir" && "$compiler" "$@" -gsplit-dwarf -w -ffile-prefix-map="$src"=/src -ffile-prefix-map="$dir"=/src \
		-c "$src/$source" -o vars.o && "$compiler" vars.o -o vars) && run vars && ship vars
}

make_vars-c-split-O2() {
	split gcc vars.c -O2 -g && ship vars.dwo && cc -O0 -w -DSHOW vars.c -o show && printed show && finish vars
}

# The package of a DWARF 5 program, as made by llvm-dwp.
make_vars-c-dwp-O1() {
	need llvm-dwp-19 || return $?
	split gcc vars.c -O1 -g && (cd "$dir" && llvm-dwp-19 vars.dwo -o vars.dwp && rm vars.dwo) && ship vars.dwp &&
		cc -O0 -w -DSHOW vars.c -o show && printed show && finish vars
}

# vars_cxx COMPILER FLAG...: the same for vars.cpp. show_flags are for the build that
# prints.
vars_cxx() {
	"$@" -std=c++20 vars.cpp -o vars && run vars && ship vars &&
		"${show_flags[@]}" -std=c++20 -O0 -w -DSHOW vars.cpp -o show && printed show && finish vars
}
show_flags=(cxx)

# Small classes of the C++ library that wrap a value.
make_cxx-wrappers() { cxx -std=c++20 -O0 -g -w wrappers.cpp -o wrappers && run wrappers && ship wrappers && finish wrappers; }

make_cxx-errors() { cxx -std=c++20 -O0 -g -w errors.cpp -o errors && run errors && ship errors && finish errors; }

# containers LIBRARY HEADER FLAG...: containers of a library beside the C++ one, if its headers are
# there. The names of functions in templates would be most of the program: they are left out.
containers() {
	local library=$1 header=$2
	shift 2
	need clang++-19 || return $?
	echo "#include <$header>" | g++ -E "$@" -x c++ - >/dev/null 2>&1 || { say "skip $case: no $header, of the Debian package that src/$library.cpp names"; return $skipped; }
	compile clang++-19 -fdebug-compilation-dir=/src -mllvm -dwarf-linkage-names=Abstract -std=c++17 -O0 -g -w "$library.cpp" -o "$library" "$@" &&
		objcopy -w --strip-symbol='_Z*' -R .debug_aranges "$dir/$library" && run "$library" && ship "$library" && finish "$library"
}

make_boost() { containers boost boost/dynamic_bitset.hpp; }
# Abseil has many small libraries, which name one another.
make_absl() {
	containers absl absl/types/span.h -ffunction-sections -Wl,--gc-sections \
		-Wl,--start-group /usr/lib/x86_64-linux-gnu/libabsl_*.a -Wl,--end-group
}

# own_libraries PROGRAM: runs a program with copies of the libraries that are not shipped, which no machine has
# where its core says, so that its report is the same everywhere. Link it with "${own[@]}".
own=(-Wl,--disable-new-dtags '-Wl,-rpath,$ORIGIN/lib')
own_libraries() {
	local lib
	mkdir -p "$dir/lib"
	ldd "$dir/$1" | awk '$3 ~ "^/" { print $3 }' | while read -r lib; do
		[ -e "$sysroot$lib" ] || [ -e "$sysroot$(realpath "$lib")" ] || cp -L "$lib" "$dir/lib/"
	done
}

# glib FLAG...: containers of GLib. The library is not shipped.
glib() {
	need pkg-config || return $?
	pkg-config --exists glib-2.0 || { say "skip $case: libglib2.0-dev is not installed"; return $skipped; }
	# shellcheck disable=SC2046
	cc -O0 -g -w "$@" glib.c glib_strangers.c $(pkg-config --cflags --libs glib-2.0) "${own[@]}" -o glib && own_libraries glib && run glib && ship glib && finish glib
}

make_glib() { glib; }

# qt VERSION: containers of Qt. The libraries are not shipped.
qt() {
	need pkg-config clang++-19 || return $?
	pkg-config --exists "Qt$1Core" || { say "skip $case: qt$1-base-dev (qtbase5-dev) is not installed"; return $skipped; }
	# shellcheck disable=SC2046
	compile clang++-19 -fdebug-compilation-dir=/src -mllvm -dwarf-linkage-names=Abstract -std=c++17 -fPIC -O0 -g -w \
		qt.cpp qt_strangers.cpp $(pkg-config --cflags --libs "Qt$1Core") "${own[@]}" -o qt &&
		objcopy -w --strip-symbol='_Z*' -R .debug_aranges "$dir/qt" && own_libraries qt && run qt && ship qt && finish qt
}

make_qt5() { qt 5; }
make_qt6() { qt 6; }
make_glib-described() { glib -DPRIVATE; }

make_vars-cxx-O0() { vars_cxx cxx -O0 -g -w; }
make_vars-cxx-O2() { vars_cxx cxx -O2 -g -w; }
# A .dwo file next to the core must not be compressed as a file, so its sections are.
make_vars-cxx-split-O2() {
	split g++ vars.cpp -std=c++20 -O2 -g && objcopy --compress-debug-sections=zlib "$dir/vars.dwo" "$stage/vars.dwo" && cxx -std=c++20 -O0 -w -DSHOW vars.cpp -o show && printed show && finish vars
}
make_vars-cxx-clang-dwarf4-O2() {
	need clang++-19 || return $?
	show_flags=(compile clang++-19)
	vars_cxx compile clang++-19 -fdebug-compilation-dir=/src -O2 -g -gdwarf-4 -w
}

# vars_rust FLAG...: the same for vars.rs.
vars_rust() {
	need rustc || return $?
	rust_vars vars -g "$@" && run vars && ship vars && rust_vars show -A warnings --cfg show && printed show && finish vars
}

# rust_vars PROGRAM FLAG...: compiles vars.rs.
rust_vars() {
	local program=$1
	shift
	(cd "$src" && rustc --edition 2021 -C panic=abort -C codegen-units=1 --remap-path-prefix "$src=/src" \
		--remap-path-prefix "$dir=/src" -C linker=gcc "$@" vars.rs -o "$dir/$program")
}

make_vars-rust-O0() { vars_rust -C opt-level=0; }
make_vars-rust-O2() { vars_rust -C opt-level=2; }

# vars_go FLAG...: the same for govars.
vars_go() {
	need go || return $?
	CGO_ENABLED=0 go_build govars -tags show && mv "$dir/govars" "$dir/show" && printed show || return 1
	launcher=(GOTRACEBACK=crash GOMAXPROCS=1)
	CGO_ENABLED=0 go_build govars "$@" && run govars && ship govars && finish govars
}

make_vars-go-O0() { vars_go -gcflags=all=-N\ -l; }

# libc++ is linked in, so that no library has to be shipped.
make_vars-libcxx() {
	need clang++-19 || return $?
	[ -e /usr/lib/llvm-19/include/c++/v1/vector ] || { say "skip $case: libc++-19-dev is not installed"; return $skipped; }
	show_flags=(compile clang++-19 -stdlib=libc++)
	vars_cxx compile clang++-19 -fdebug-compilation-dir=/src -stdlib=libc++ -static-libstdc++ -fstandalone-debug -O0 -g -w
}

# foreign NAME START COMPILER FLAG...: a program of another language whose main program is in C. No runtime library is linked.
foreign() {
	local name=$1 start=$2 compiler=$3
	shift 3
	need "$compiler" || return $?
	compile "$compiler" -c -g -O0 "$@" -o "$name.o" && cc -g -DSTART="$start" sections_main.c "$dir/$name.o" -o "$name" &&
		run "$name" && ship "$name" && finish "$name"
}

make_sections() { foreign sections start_ gfortran sections.f90 -J"$dir"; }
make_omitted() { foreign omitted start_ gfortran omitted.f90 -O2 -fno-inline -J"$dir"; }
make_packing() { need gnatmake || return $?; foreign packing ada_start gcc -gnatp packing.adb; }
make_unbounded() { need gnatmake || return $?; foreign unbounded ada_start gcc -gnatp unbounded.adb; }
