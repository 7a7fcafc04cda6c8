# testdata/blame: programs that die of a bad value in many ways (src/blame/), built by
# two compilers with and without optimisation. The cores of one build are similar, so
# they share one archive; without address randomisation they are even more similar.
#
#   blame/BUILD/blame.zst, blamexx.zst   the programs
#   blame/BUILD/cores.tar.zst            PROGRAM.WAY, one core each

blame_c='field passed lookup list index never_set global freed function strlen memcpy by_value inlined tail
eighth set element member kept switch either write divide folded folded_two strcpy overrun'
blame_cxx='this virtual vtable reference smart'

# blame_build COMPILER++ COMPILER LEVEL
blame_build() {
	local way cores=$dir/cores out=$here/blame/${2%%-*}-$3
	need "$1" "$2" setarch || return $?
	compile "$2" "-$3" -g blame/blame.c -o blame &&
		compile "$1" "-$3" -g -fno-exceptions -fno-rtti blame/blame.cpp -o blamexx -nodefaultlibs -lc || return 1
	launcher=(setarch -R)
	mkdir -p "$cores" "$out"
	for way in $blame_c; do
		[ "$way-$2-$3" = never_set-clang-19-O2 ] && continue # there clang reads what the other path would have set
		run blame "$way" && mv "$dir/core" "$cores/blame.$way" || return 1
	done
	for way in $blame_cxx; do
		run blamexx "$way" && mv "$dir/core" "$cores/blamexx.$way" || return 1
	done
	tar --sort=name --mtime=@0 --owner=0 --group=0 --mode=644 -cf "$dir/cores.tar" -C "$cores" . || return 1
	for file in cores.tar blame blamexx; do
		zstd -q -f -19 --long=27 "$dir/$file" -o "$out/$file.zst" || return 1
	done
	chmod go+r "$out"/*
}

make_blame-gcc-O0() { blame_build g++ gcc O0; }
make_blame-gcc-O2() { blame_build g++ gcc O2; }
make_blame-clang-O0() { blame_build clang++-19 clang-19 O0; }
make_blame-clang-O2() { blame_build clang++-19 clang-19 O2; }
