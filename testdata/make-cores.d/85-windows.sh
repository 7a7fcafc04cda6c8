# Minidumps of Windows programs, which wine runs and a small debugger (windows/dumper.c)
# dumps. The programs of a group share images, in minidumps/images/GROUP; each dump is a
# case, minidumps/amd64-GROUP-MODE.
#
# Debian packages: wine64 gcc-mingw-w64-x86-64-posix g++-mingw-w64-x86-64-posix clang-19
# lld-19 llvm-19 lldb-19

mingw_libs=/usr/lib/gcc/x86_64-w64-mingw32/12-posix
wine_loader=/usr/lib/wine/wine64
wine_dlls=/usr/lib/x86_64-linux-gnu/wine/x86_64-windows

# wine64 PROGRAM ARG...: runs a program in $dir, with a separate wine prefix for the
# fixtures.
wine64() (
	cd "$dir" && env -i PATH=/usr/bin HOME="$work" LC_ALL=C WINEPREFIX="$work/wine" WINEDEBUG=-all \
		WINEDLLOVERRIDES=mscoree,mshtml= timeout 120 "$wine_loader" "$@" </dev/null
)

# windows_tools TOOL...: returns $skipped if a tool is missing; otherwise makes the wine
# prefix and the debugger that writes the dumps.
windows_tools() {
	need "$wine_loader" x86_64-w64-mingw32-gcc-posix x86_64-w64-mingw32-g++-posix lldb-19 "$@" || return $skipped
	[ -d "$work/wine" ] || wine64 wineboot -i >"$dir/wineboot.log" 2>&1 || return 1
	mingw -O1 windows/dumper.c -o dumper.exe -ldbghelp
}

mingw() { compile x86_64-w64-mingw32-gcc-posix "$@"; }
mingwxx() { compile x86_64-w64-mingw32-g++-posix "$@"; }

# Clang with Microsoft debug information. Objects are compiled under fixed names, because
# clang records them.
clang_pdb() { clang --target=x86_64-w64-mingw32 -g -gcodeview "$@"; }

# lld_pdb FILE PDB ARG...: links with a PDB; the image keeps no other debug information.
lld_pdb() (
	cd "$dir" && clang-19 --target=x86_64-w64-mingw32 -fuse-ld=lld -L"$mingw_libs" -o "$1" -Wl,--pdb="$2" \
		-Wl,-Xlink=-pdbaltpath:"C:\\build\\$2" "${@:3}" && llvm-strip-19 --strip-debug "$1"
)

# windows_images GROUP FILE...: ships images and PDBs of $dir.
windows_images() {
	local file out=$here/minidumps/images/$1
	rm -rf "$out" && mkdir -p "$out" || return 1
	for file in "${@:2}"; do
		zstd -q -f -19 "$dir/$file" -o "$out/$file.zst" && chmod 644 "$out/$file.zst" || return 1
	done
	no_machine_paths
}

# windows_dumps GROUP PROGRAM MODE...: runs the program to its death in each of the
# modes, and ships the dumps with lldb's view of them.
windows_dumps() {
	local mode out
	for mode in "${@:3}"; do
		out=$here/minidumps/amd64-$1-$mode
		rm -f "$dir/dump.dmp"
		wine64 dumper.exe dump.dmp "$2" "$mode" >"$dir/run.log" 2>&1
		[ -s "$dir/dump.dmp" ] || { say "$case: no dump of $mode"; cat "$dir/run.log" >&2; return 1; }
		mkdir -p "$out" && zstd -q -f -19 "$dir/dump.dmp" -o "$out/dump.dmp.zst" && chmod 644 "$out/dump.dmp.zst" || return 1
		record_lldb "$1" "$2" >"$out/lldb.txt"
		[ -f "$out/case.json" ] || say "$case: write $out/case.json"
	done
}

# record_lldb GROUP PROGRAM: prints lldb's view of the dump, with the shipped images.
# Messages about the debug information of MinGW's own objects are left out.
record_lldb() {
	local view=$dir/view pdb commands=()
	rm -rf "$view" && mkdir -p "$view" && cp "$dir/dump.dmp" "$here/minidumps/images/wine"/*.zst "$here/minidumps/images/$1"/*.zst "$view/"
	zstd -q -d --rm "$view"/*.zst
	for pdb in "${2%.exe}.pdb" plugin.pdb; do
		[ -f "$view/$pdb" ] && [ "$2/$pdb" != bank.exe/plugin.pdb ] && commands+=(-o "target symbols add $pdb")
	done
	(cd "$view" && timeout 120 lldb-19 --no-lldbinit -b -o 'settings set target.exec-search-paths .' -o "target create $2 --core dump.dmp" \
		"${commands[@]}" -o 'thread backtrace -c 60 all' 2>&1) |
		sed -e "s#$view/##g" -e 's/ *$//' | grep -v -e '^Core file ' -e '^(lldb)' -e 'DW_AT_ranges' -e 'DW_TAG_member' -e '^symbol file '
	rm -rf "$view"
}

# The parts of wine in which stacks begin and end, with the code around them.
make_windows-wine() {
	need go "$wine_loader" || return
	thin ntdll RtlUserThreadStart NtWaitForMultipleObjects && thin kernel32 BaseThreadInitThunk &&
		thin kernelbase WaitForSingleObject && thin msvcrt abort raise &&
		windows_images wine ntdll.dll kernel32.dll kernelbase.dll msvcrt.dll
}

thin() { go run "$src/windows/thin/main.go" "$wine_dlls/$1.dll" "$dir/$1.dll" "${@:2}"; }

make_windows-mingw() {
	windows_tools || return
	mingw -O2 -g -shared windows/plugin.c -o plugin.dll -Wl,--out-implib,"$dir/libplugin.a" &&
		mingw -O2 -g windows/crash.c "$dir/libplugin.a" -o crash.exe &&
		mingwxx -O2 -g -static windows/bank.cpp -o bank.exe &&
		windows_images mingw plugin.dll crash.exe bank.exe &&
		windows_dumps mingw crash.exe deep divide illegal int3 abort null overflow probe fastfail dll large floats tail &&
		windows_dumps mingw bank.exe fault uncaught caught
}

# windows_clang O: crash.exe and its library.
windows_clang() {
	windows_tools clang-19 ld.lld-19 llvm-strip-19 || return
	clang_pdb -"$1" -c windows/plugin.c -o plugin.o && clang_pdb -"$1" -c windows/crash.c -o crash.o &&
		lld_pdb plugin.dll plugin.pdb plugin.o -shared -Wl,--out-implib,libplugin.a &&
		lld_pdb crash.exe crash.pdb crash.o libplugin.a
}

make_windows-clang-O0() {
	windows_clang O0 || return
	windows_images clang-O0 plugin.dll plugin.pdb crash.exe crash.pdb &&
		windows_dumps clang-O0 crash.exe deep dll large
}

make_windows-clang-O2() {
	windows_clang O2 || return
	clang_pdb -O2 --driver-mode=g++ -c windows/bank.cpp -o bank.o &&
		lld_pdb bank.exe bank.pdb bank.o --driver-mode=g++ -static -lpthread &&
		windows_images clang-O2 plugin.dll plugin.pdb crash.exe crash.pdb bank.exe bank.pdb &&
		windows_dumps clang-O2 crash.exe deep dll large tail probe &&
		windows_dumps clang-O2 bank.exe fault uncaught
}

# Programs that are stepped through instruction by instruction; windows/stepper.c
# describes the records.
make_windows-steps() {
	windows_tools clang-19 ld.lld-19 llvm-strip-19 && mingw -O1 windows/stepper.c -o stepper.exe || return
	mingw -O2 -fno-toplevel-reorder windows/edges.c -o gcc-O2.exe && mingw -O0 windows/edges.c -o gcc-O0.exe &&
		mingw -Os -fno-toplevel-reorder windows/edges.c -o gcc-Os.exe &&
		stepped_clang O2 && stepped_clang O0 || return
	local name files=()
	for name in gcc-O0 gcc-O2 gcc-Os clang-O0 clang-O2; do
		llvm-strip-19 --strip-all "$dir/$name.exe" && wine64 stepper.exe "$name.exe" >"$dir/$name.steps" || return 1
		sed -i 's/\r$//' "$dir/$name.steps"
		say "$name: $(grep -c '^i' "$dir/$name.steps") instructions"
		files+=("$name.exe" "$name.steps")
	done
	windows_images steps "${files[@]}"
}

stepped_clang() {
	clang --target=x86_64-w64-mingw32 -"$1" -c windows/edges.c -o edges.o &&
		(cd "$dir" && clang-19 --target=x86_64-w64-mingw32 -fuse-ld=lld -L"$mingw_libs" -o "clang-$1.exe" edges.o)
}

# Programs for 32 bits and arm64, which need no library: windows/carrier.c runs their
# code on Linux and writes the dump that Windows would have written.
carried() { # ARCH TARGET O COMPILER... -- RUNNER...
	local arch=$1 target=$2 level=$3 compiler=() out
	shift 3
	while [ "$1" != -- ]; do compiler+=("$1"); shift; done
	shift
	need clang-19 lld-link-19 lldb-19 "${compiler[0]}" "$@" || return $skipped
	out=$here/minidumps/$arch-clang-$level
	compile "${compiler[@]}" -O1 windows/carrier.c -o carrier &&
		clang --target="$target-pc-windows-msvc" "-$level" -g -gcodeview -ffreestanding -funwind-tables -c windows/chain.c -o chain.obj &&
		(cd "$dir" && lld-link-19 -entry:start -subsystem:console -nodefaultlib -debug -pdb:chain.pdb \
			-pdbaltpath:'C:\build\chain.pdb' -out:chain.exe chain.obj && "$@" ./carrier chain.exe dump.dmp 'C:\build\chain.exe') &&
		windows_images "$arch-$level" chain.exe chain.pdb || return 1
	mkdir -p "$out" && zstd -q -f -19 "$dir/dump.dmp" -o "$out/dump.dmp.zst" && chmod 644 "$out/dump.dmp.zst" || return 1
	record_lldb "$arch-$level" chain.exe >"$out/lldb.txt"
	[ -f "$out/case.json" ] || say "$case: write $out/case.json"
}

make_windows-x86-O0() { carried i386 i686 O0 gcc -m32 --; }
make_windows-x86-O2() { carried i386 i686 O2 gcc -m32 --; }
make_windows-arm64-O0() { carried aarch64 aarch64 O0 aarch64-linux-gnu-gcc -static -- qemu-aarch64; }
make_windows-arm64-O2() { carried aarch64 aarch64 O2 aarch64-linux-gnu-gcc -static -- qemu-aarch64; }

# The same for arm64, under qemu and gdb: windows/stepper.py.
make_windows-steps-arm64() {
	need clang-19 lld-link-19 llvm-readobj-19 aarch64-linux-gnu-gcc qemu-aarch64 gdb-multiarch || return
	local level entry port=14321 files=() carrier
	compile aarch64-linux-gnu-gcc -static -O1 windows/carrier.c -o carrier || return 1
	for level in O0 O2; do
		clang --target=aarch64-pc-windows-msvc "-$level" -DRETURNS -ffreestanding -funwind-tables -c windows/chain.c -o chain.obj &&
			(cd "$dir" && lld-link-19 -entry:start -subsystem:console -nodefaultlib -out:"$level.exe" chain.obj) || return 1
		entry=$(llvm-readobj-19 --file-headers "$dir/$level.exe" | sed -n 's/ *AddressOfEntryPoint: //p')
		(cd "$dir" && exec timeout 120 qemu-aarch64 -g $port ./carrier "$level.exe" dump.dmp chain.exe) &
		carrier=$!
		sleep 1
		ENTRY=$((0x140000000 + entry)) OUT=$dir/$level.steps timeout 120 gdb-multiarch -nx -q -batch -ex 'set architecture aarch64' \
			-ex "target remote :$port" -ex "source $src/windows/stepper.py" >"$dir/gdb.log" 2>&1
		kill $carrier 2>/dev/null
		wait $carrier 2>/dev/null
		say "$level: $(grep -c '^i' "$dir/$level.steps") instructions"
		files+=("$level.exe" "$level.steps")
	done
	windows_images steps-arm64 "${files[@]}"
}
