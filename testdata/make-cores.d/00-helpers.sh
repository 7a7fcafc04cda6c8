# Helpers of make-cores.sh: compile, run until the core, ship, check.
#
# The function of a case uses $case (its name), $dir (where it builds and runs), $src
# (the sources) and $stage (the files to ship). It usually does
#   cc recursion.c -O0 -g -o recursion && run recursion 12 && ship recursion && finish recursion
# and returns non-zero on failure.

skipped=77
extra_gdb=()                    # gdb commands before the backtrace
backtrace=('thread apply all bt') # gdb commands whose output is kept
core_limit=unlimited            # ulimit -c
stack_limit=8192                # ulimit -s, KiB
core_filter=0x33                # /proc/PID/coredump_filter
launcher=()                     # command that starts the program, such as setarch -R
gdb_limit=300                   # time limit for gdb, in seconds
debugger=gdb                    # the gdb that knows the core's architecture
ship_plain=262144               # files larger than this, in bytes, are shipped compressed

say() { echo "make-cores: $*" >&2; }

# need TOOL...: prints a message and returns $skipped if a tool is missing.
need() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || { say "skip $case: $tool is not installed"; return $skipped; }
	done
}

# compile COMPILER ARG...: runs a compiler in $src. Paths in the result start with /src
# on every machine. -o names a file in $dir.
compile() {
	local args=() next=
	for arg; do
		[ "$next" = -o ] && arg=$dir/$arg
		args+=("$arg")
		next=$arg
	done
	(cd "$src" && "${args[@]}" -ffile-prefix-map="$src"=/src -ffile-prefix-map="$dir"=/src)
}

cc() { compile gcc "$@"; }
cxx() { compile g++ "$@"; }
clang() { compile clang-19 -fdebug-compilation-dir=/src "$@"; }

# clean_env: runs a program without this machine's environment.
clean_env() { env -i PATH=/usr/bin LC_ALL=C "$@"; }

# run PROGRAM ARG...: runs $dir/PROGRAM until it dies. It succeeds if there is a core in
# $dir/core. The shell's own message about the death is dropped.
run() {
	local program=$1
	shift
	rm -f "$dir/core"
	(
		cd "$dir" || exit 1
		ulimit -c "$core_limit" && ulimit -s "$stack_limit" || exit 1
		echo "$core_filter" >/proc/self/coredump_filter
		clean_env "${launcher[@]}" "$dir/$program" "$@" </dev/null
	) >"$dir/run.log" 2>&1
	[ -s "$dir/core" ] || { say "$case: no core"; cat "$dir/run.log" >&2; return 1; }
}

# ship FILE [AS]: ships a file of $dir; a file larger than $ship_plain is shipped
# compressed, as AS.zst.
ship() {
	local from=$dir/$1 to=$stage/${2-$1}
	mkdir -p "$(dirname "$to")"
	if [ "$(stat -c %s "$from")" -gt "$ship_plain" ]; then
		zstd -q -f -19 "$from" -o "$to.zst"
	else
		cp "$from" "$to"
	fi
}

# finish PROGRAM: packs the core, checks the shipped files, installs them, and records
# gdb's view. PROGRAM is the name of the shipped binary.
finish() {
	local program=$1
	zstd -q -f -19 "$dir/core" -o "$stage/core.zst" || return 1
	cp "$dir/core" "$stage/core"
	no_machine_paths || return 1
	mkdir -p "$out"
	find "$out" -mindepth 1 -maxdepth 1 ! -name case.json -exec rm -rf {} +
	rm -f "$stage/core"
	cp -R "$stage"/. "$out/" && find "$out" -type f -exec chmod go+r {} +
	record_gdb "$program" >"$out/gdb.txt"
	[ -f "$out/case.json" ] || say "$case: write $out/case.json"
}

# no_machine_paths: refuses files that contain directories of this machine. Files shipped
# compressed are checked unpacked, in $dir; debug sections are unpacked too.
no_machine_paths() {
	local file plain=$dir/plain found checkout=${here%/*}
	for file in $(find "$dir" "$stage" -type f ! -name '*.zst' ! -name '*.log' ! -path "$dir/view/*" ! -path "$dir/lib/*"); do # lib is not shipped
		objcopy --decompress-debug-sections "$file" "$plain" 2>/dev/null || cp "$file" "$plain"
		# /tmp/go-build is what the go command writes for its own directory, the others are in GNAT's and Free Pascal's libraries.
		found=$(strings -a "$plain" | grep -v -e '^/tmp/go-build' -e '^/tmp/gnat-XXXXXX' -e '^/tmp/$' | grep -m1 -F -e "$checkout/" -e "$HOME/" -e /home/ -e /root/ -e /tmp/)
		rm -f "$plain"
		[ -z "$found" ] || { say "$case: $(basename "$file") names a path of this machine: $found"; return 1; }
	done
}

# record_gdb PROGRAM: prints gdb's view of the installed case, with the shipped libraries
# only. gdb is the documented oracle, but it is not always right.
record_gdb() {
	local view=$dir/view commands=()
	command -v "$debugger" >/dev/null || { say "$case: no $debugger, gdb.txt is empty"; return 0; }
	mkdir -p "$view" && cp -R "$out"/. "$view/" && cp "$dir/core" "$view/core"
	find "$view" -name '*.zst' ! -name core.zst -exec zstd -q -d --rm {} \;
	for command in "${extra_gdb[@]}" "file $1" "core-file core" "${backtrace[@]}"; do
		commands+=(-ex "$command")
	done
	(cd "$view" && timeout "$gdb_limit" "$debugger" -nx -q -batch -ex 'set width 0' -ex 'set sysroot '"$sysroot" \
		-ex 'set solib-search-path .' -ex 'set debug-file-directory debug' \
		-ex 'set print frame-arguments all' "${commands[@]}" 2>&1) 2>/dev/null |
		sed -e "s#$here/##g" -e "s#$view/##g" -e 's/ *$//' \
			-e '/^----- Backtrace/,/^----------*$/d' | grep -v -E '^\[(New LWP|Current thread|Thread debugging)|^Using host libthread_db|^warning: (Can.t open file|Section .\.reg-xstate)|^[0-9]+\s.*No such file|auto-load|^of file '
}

# copy_sysroot: copies the libraries that the programs map, under the paths in the cores'
# NT_FILE notes, with the system's links.
copy_sysroot() {
	local file lib=usr/lib/x86_64-linux-gnu
	rm -rf "$sysroot" && mkdir -p "$sysroot/$lib" "$sysroot/usr/lib64" || return 1
	ln -s usr/lib "$sysroot/lib"
	ln -s usr/lib64 "$sysroot/lib64"
	for file in libc.so.6 libm.so.6 libgcc_s.so.1 libstdc++.so.6 libgmp.so.10.4.1 libffi.so.8.1.2 ld-linux-x86-64.so.2; do
		install -m 644 "$(readlink -f "/$lib/$file")" "$sysroot/$lib/$(basename "$(readlink -f "/$lib/$file")")" || return 1
		[ -L "/$lib/$file" ] && ln -s "$(basename "$(readlink -f "/$lib/$file")")" "$sysroot/$lib/$file"
	done
	ln -s ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$sysroot/usr/lib64/ld-linux-x86-64.so.2"
	if [ -f /usr/lib/x86_64-linux-musl/libc.so ]; then
		mkdir -p "$sysroot/usr/lib/x86_64-linux-musl"
		install -m 644 /usr/lib/x86_64-linux-musl/libc.so "$sysroot/usr/lib/x86_64-linux-musl/libc.so"
		ln -s x86_64-linux-musl/libc.so "$sysroot/usr/lib/ld-musl-x86_64.so.1"
	fi
	say "made sysroot"
}
