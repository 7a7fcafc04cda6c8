# 32-bit Windows code with PDBs, stepped through as windows/stepper32.c describes. It
# uses nothing of Windows, so it needs no wine.
#
# Debian packages: clang-19 lld-19 llvm-19 gcc-multilib gcc-mingw-w64-i686-posix

make_windows-steps32() {
	local name files=() libgcc=/usr/lib/gcc/i686-w64-mingw32/12-posix
	need clang-19 ld.lld-19 llvm-strip-19 i686-w64-mingw32-gcc-posix || return $skipped
	cc -m32 -static -O1 -Wl,-Ttext-segment=0x60000000 windows/stepper32.c -o stepper32 || return
	for name in O0 O2 Os; do
		clang --target=i686-w64-mingw32 -"$name" -g -gcodeview -nostdlib -c windows/frames32.c -o frames32.o && (
			cd "$dir" && clang-19 --target=i686-w64-mingw32 -fuse-ld=lld -nostdlib -o "clang-$name.exe" frames32.o -L"$libgcc" -lgcc \
				-Wl,--entry=_run -Wl,--pdb="clang-$name.pdb" -Wl,-Xlink=-pdbaltpath:"C:\\build\\clang-$name.pdb"
		) && llvm-strip-19 --strip-debug "$dir/clang-$name.exe" || return 1
		"$dir/stepper32" "$dir/clang-$name.exe" >"$dir/clang-$name.steps" || return 1
		say "clang-$name: $(grep -c '^i' "$dir/clang-$name.steps") instructions"
		files+=("clang-$name.exe" "clang-$name.pdb" "clang-$name.steps")
	done
	rm "$dir/stepper32"
	windows_images steps32 "${files[@]}"
}
