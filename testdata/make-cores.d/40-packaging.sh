# One program, pack.c, linked and packaged in the ways that distributions do.

# packed NAME FLAG...: compiles pack.c as `pack` and makes its core.
packed() { cc pack.c -O2 -g "$@" -o pack && run pack; }

make_pie() { packed -pie -fPIE && ship pack && finish pack; }
make_no-pie() { packed -no-pie -fno-pie && ship pack && finish pack; }
make_static() { packed -static -no-pie -fno-pie && ship pack && finish pack; }
make_static-pie() { packed -static-pie -fPIE && ship pack && finish pack; }
make_dwarf4() { packed -gdwarf-4 && ship pack && finish pack; }
make_dwarf5() { packed -gdwarf-5 && ship pack && finish pack; }
make_dwarf3() { packed -gdwarf-3 -gstrict-dwarf && ship pack && finish pack; }
make_debug-types() { packed -gdwarf-4 -fdebug-types-section && ship pack && finish pack; }

make_clang() {
	need clang-19 || return $?
	clang pack.c -O2 -g -o pack && run pack && ship pack && finish pack
}

make_clang-dwarf4() {
	need clang-19 || return $?
	clang pack.c -O2 -gdwarf-4 -o pack && run pack && ship pack && finish pack
}

make_zlib() { packed -gz=zlib && ship pack && finish pack; }
make_zlib-gnu() { packed -gz=zlib-gnu && ship pack && finish pack; }

make_zstd() {
	packed || return 1
	objcopy --compress-debug-sections=zstd "$dir/pack" "$dir/pack.z" 2>/dev/null ||
		llvm-objcopy-19 --compress-debug-sections=zstd "$dir/pack" "$dir/pack.z" ||
		{ say "skip $case: no objcopy that knows zstd"; return $skipped; }
	ship pack.z pack && finish pack
}

make_stripped() { packed && strip "$dir/pack" && ship pack && finish pack; }

# Like Fedora: an xz-compressed ELF file with only the symbol table.
make_minidebuginfo() {
	need xz || return $?
	packed || return 1
	(
		cd "$dir" || exit 1
		nm pack --defined-only --format=posix | awk '$2 ~ /[Tt]/ { print $1 }' >keep
		objcopy --only-keep-debug pack pack.debug
		objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep pack.debug mini &&
			xz -f mini && strip --strip-all -R .comment pack &&
			objcopy --add-section .gnu_debugdata=mini.xz pack
	) && ship pack && finish pack
}

# split_debug: leaves $dir/pack.debug and a stripped $dir/pack.
split_debug() {
	objcopy --only-keep-debug "$dir/pack" "$dir/pack.debug" && strip "$dir/pack"
}

make_debuglink() {
	packed -Wl,--build-id=none && split_debug || return 1
	(cd "$dir" && objcopy --add-gnu-debuglink=pack.debug pack) &&
		ship pack && ship pack.debug .debug/pack.debug && finish pack
}

make_build-id() {
	local id
	packed && split_debug || return 1
	id=$(readelf -n "$dir/pack" | awk '/Build ID/ { print $3 }')
	ship pack && ship pack.debug "debug/.build-id/${id:0:2}/${id:2}.debug" && finish pack
}

# dwz moves what two programs share into a third file.
make_dwz() {
	need dwz || return $?
	packed && cp "$dir/pack" "$dir/twin" || return 1
	(cd "$dir" && dwz -q -m pack.dwz -M pack.dwz pack twin) &&
		ship pack && ship pack.dwz && finish pack
}

make_split-dwarf() {
	packed -gsplit-dwarf || return 1
	ship pack && (cd "$dir" && for f in *.dwo; do ship "$f"; done) && finish pack
}

# The .dwo files of clang in a package, as made by llvm-dwp.
make_split-dwp() {
	need clang-19 llvm-dwp-19 || return $?
	(cd "$src" && clang-19 -fdebug-compilation-dir=/src -ffile-prefix-map="$src"=/src -O2 -gdwarf-5 -gsplit-dwarf -c pack.c -o "$dir/pack.o") &&
		(cd "$dir" && clang-19 pack.o -o pack && llvm-dwp-19 pack.dwo -o pack.dwp) &&
		run pack && ship pack && ship pack.dwp && finish pack
}

make_lto() { packed -flto && ship pack && finish pack; }

# The core is of the first build; version.other has another build-id.
make_mismatch() {
	cc version.c -O2 -g -DVERSION=1 -o version && run version && ship version || return 1
	cc version.c -O2 -g -DVERSION=2 -o version.other && ship version.other && finish version
}

make_so-linked() {
	cc plugin.c -O2 -g -shared -fPIC -Wl,-soname,libshapes.so -o libshapes.so &&
		cc plugin_linked.c -O0 -g -o plugin_linked "$dir/libshapes.so" -Wl,-rpath,'$ORIGIN' &&
		run plugin_linked && ship plugin_linked && ship libshapes.so && finish plugin_linked
}

make_so-dlopen() {
	cc plugin.c -O2 -g -shared -fPIC -Wl,-soname,libshapes.so -o libshapes.so &&
		cc plugin_loaded.c -O0 -g -o plugin_loaded -ldl &&
		run plugin_loaded "$dir/libshapes.so" && ship plugin_loaded && ship libshapes.so && finish plugin_loaded
}
