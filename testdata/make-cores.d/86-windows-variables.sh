# Programs with variables for PDBs: with Microsoft's object model, without a C library. A
# second, unoptimised build prints its own variables (windows/vars_show.h).

# vars_msvc FLAG...: compiles windows/vars.cpp.
vars_msvc() {
	clang --target=x86_64-pc-windows-msvc -std=c++17 -fno-rtti -fno-stack-protector -mno-stack-arg-probe -fno-builtin -w \
		-c windows/vars.cpp "$@"
}

# link_msvc ARG...: links a program whose entry point is start.
link_msvc() (cd "$dir" && lld-link-19 /nodefaultlib /entry:start /subsystem:console /opt:ref "$@" 2>"link.log" || { cat link.log >&2; exit 1; })

windows_vars() {
	windows_tools clang-19 lld-link-19 || return
	local libs=/usr/x86_64-w64-mingw32/lib
	vars_msvc -g -gcodeview -"$1" -o vars.obj && vars_msvc -O0 -DSHOW -o show.obj &&
		link_msvc /debug vars.obj "$libs/libmsvcrt.a" /out:vars.exe /pdb:vars.pdb '/pdbaltpath:C:\build\vars.pdb' &&
		link_msvc show.obj "$libs/libmsvcrt.a" "$libs/libkernel32.a" /out:show.exe &&
		windows_images "msvc-$1" vars.exe vars.pdb && windows_dumps "msvc-$1" vars.exe vars &&
		wine64 show.exe | tr -d '\r' >"$here/minidumps/amd64-msvc-$1-vars/printed.txt"
}

make_windows-vars-O0() { windows_vars O0; }
make_windows-vars-O2() { windows_vars O2; }
