# The same small programs on every architecture: src/arch. A line of the table defines
# the cases LINE-crash-O0, LINE-crash-O1, LINE-signal, LINE-notables and LINE-threads in
# cores/LINE-CASE. If a case has no case.json, it is made from src/arch. Up to its first
# "-" a line is the name of an architecture, which may have libraries in
# sysroot/ARCHITECTURE; a line with a "-" has no case threads.
#
#   line | compiler | what runs it: a qemu-user program, "kernel", or "stub:" and a
#   qemu-user program that writes no cores (stubcore then does) | flags
arch_table='
aarch64   | aarch64-linux-gnu-gcc   | qemu-aarch64 |
aarch64-pac | aarch64-linux-gnu-gcc | qemu-aarch64 | -march=armv8.3-a -mbranch-protection=standard
arm       | arm-linux-gnueabihf-gcc | qemu-arm     | -marm
arm-thumb | arm-linux-gnueabihf-gcc | qemu-arm     | -mthumb
i386      | gcc                     | kernel       | -m32
amd64     | gcc                     | kernel       |
m68k      | m68k-linux-gnu-gcc      | qemu-m68k    |
sparc64   | sparc64-linux-gnu-gcc   | stub:qemu-sparc64 |
alpha     | alpha-linux-gnu-gcc     | stub:qemu-alpha |
hppa      | hppa-linux-gnu-gcc      | stub:qemu-hppa |
mips      | mips-linux-gnu-gcc      | qemu-mips    |
mipsel    | mipsel-linux-gnu-gcc    | qemu-mipsel  |
mips64el  | mips64el-linux-gnuabi64-gcc | qemu-mips64el |
mips64-eb | mips64el-linux-gnuabi64-gcc | qemu-mips64 | -EB
mipsn32-n32 | mips64el-linux-gnuabi64-gcc | qemu-mipsn32 | -mabi=n32 -EB
mipsn32el-n32 | mips64el-linux-gnuabi64-gcc | qemu-mipsn32el | -mabi=n32
riscv64   | riscv64-linux-gnu-gcc   | stub:qemu-riscv64 | -mno-relax
loongarch64 | clang-19              | stub:qemu-loongarch64 | --target=loongarch64-linux-gnu -fuse-ld=lld-19 -mno-lsx
ppc64le   | powerpc64le-linux-gnu-gcc | qemu-ppc64le |
ppc64     | powerpc64-linux-gnu-gcc | qemu-ppc64   |
ppc       | powerpc-linux-gnu-gcc   | qemu-ppc     |
s390x     | s390x-linux-gnu-gcc     | qemu-s390x   |
'
# Cases in which nothing can be found: without unwind tables where no code is decoded
# (Debian's C library for m68k has none), and signals on a stack that grows up.
arch_without=' alpha-notables hppa-notables hppa-signal m68k-threads hppa-crash-O0 '
# The largest packed program with a C library that is shipped, in bytes.
threads_limit=372736

arch_lines() { sed -n 's/^\([a-z0-9_-]\+\) *|.*/\1/p' <<<"$arch_table"; }

# arch_setup LINE: sets $compiler, $runner and $flags from the line, and the settings of
# the helpers.
arch_setup() {
	local line
	line=$(grep "^$1 *|" <<<"$arch_table")
	IFS='|' read -r _ compiler runner flags <<<"$line"
	read -r compiler <<<"$compiler"
	read -r runner <<<"$runner"
	read -ra flags <<<"$flags"
	libraries=(-lgcc)
	page=4096
	[ "$1" = loongarch64 ] && page=16384
	[[ $1 == sparc64 || $1 == alpha ]] && page=8192
	[[ $compiler == clang* || $case == *-n32-* || $case == *-eb-* ]] && libraries=()
	out=$here/cores/$case
	sysroot=$here/sysroot/${1%%-*}
	ship_plain=4096
	gdb_limit=20
	extra_gdb=('set print entry-values no') # gdb searches for them endlessly
	backtrace=('thread apply all bt 40')
	need "$compiler" objcopy zstd || return $?
	[ "$runner" = kernel ] && return
	debugger=gdb-multiarch
	need "${runner#stub:}"
}

# arch_bare OUTPUT SOURCE FLAG...: compiles a program without a C library.
arch_bare() {
	local output=$1 source=$2
	shift 2
	[[ $compiler == mips* ]] && set -- "$@" -mno-abicalls -G0 # no register for a table of addresses
	compile "$compiler" "${flags[@]}" "$@" -nostdlib -static -fno-stack-protector -fno-pie -no-pie \
		-Wl,-z,noseparate-code -Wl,-z,max-page-size=$page -Wl,--build-id=sha1 "arch/$source" "${libraries[@]}" -o "$output"
}

# arch_run PROGRAM: runs it. qemu names the guest's core after the program and the time,
# and dies of the same signal: a file named core is qemu's own.
arch_run() {
	[ "$runner" = kernel ] && { run "$1"; return; }
	[[ $runner == stub:* ]] && { arch_stub "$1"; return; }
	launcher=("$runner")
	rm -f "$dir"/qemu_*.core
	run "$1"
	rm -f "$dir/core"
	mv "$dir"/qemu_*.core "$dir/core" 2>/dev/null || { say "$case: no core by $runner"; return 1; }
}

# arch_stub PROGRAM: runs it, and takes its core through the debugger interface at the
# signal that kills it.
arch_stub() {
	local signals=1
	[ "$1" = signal ] && signals=3 # two are handled
	rm -f "$dir/stubcore" # from an earlier run
	"${GO:-go}" build -C "$here/stubcore" -o "$dir.stubcore" . || return 1
	(cd "$dir" && clean_env timeout 60 "$dir.stubcore" -arch "${case%%-*}" -signals $signals -o core "${runner#stub:}" "./$1")
}

# arch_make PROGRAM: makes its core and ships it.
arch_make() { arch_run "$1" && arch_ship "$1"; }

arch_ship() {
	ship "$1" || return 1
	mkdir -p "$out" && [ -f "$out/case.json" ] || cp "$here/src/arch/$1.json" "$out/case.json"
	finish "$1"
}

arch_crash-O0() { arch_bare crash crash.c -O0 -g -fasynchronous-unwind-tables && arch_make crash; }
arch_crash-O1() { arch_bare crash crash.c -O1 -g -fasynchronous-unwind-tables && arch_make crash; }
arch_signal() { arch_bare signal signal.c -O1 -g -fasynchronous-unwind-tables && arch_make signal; }

# The functions of the chain have neither tables nor symbols; on m68k, whose code is not
# decoded, they have frame pointers.
arch_notables() {
	[ "$compiler" = m68k-linux-gnu-gcc ] && flags+=(-fno-omit-frame-pointer)
	arch_bare notables crash.c -O1 -DNO_TABLES -fno-asynchronous-unwind-tables -fno-unwind-tables -s && arch_make notables
}

# Of the C library's symbols only those are kept that mark the start of a thread.
arch_threads() {
	compile "$compiler" "${flags[@]}" -O1 -g -fasynchronous-unwind-tables -static -pthread arch/threads.c -Wl,--build-id=sha1 -o threads || return 1
	"${compiler%gcc}objcopy" --strip-unneeded -K main -K work -K parked -K leaf -K start_thread -K clone -K __clone \
		-K __libc_start_main -K _start -K __start "$dir/threads" 2>/dev/null || strip -g "$dir/threads"
	[ "$(zstd -q -19 -c "$dir/threads" | wc -c)" -le $threads_limit ] ||
		{ say "skip $case: the program is larger than $threads_limit bytes"; return $skipped; }
	arch_make threads
}

# Position-independent code of i386, in which ebx has the address of the global offset
# table.
make_i386-pic() {
	arch_setup i386 || return $?
	[ -f "$sysroot/usr/lib32/ld-linux.so.2" ] || install -D -m 644 /usr/lib32/ld-linux.so.2 "$sysroot/usr/lib32/ld-linux.so.2" || return 1
	compile gcc -m32 -O1 -g -DLIBRARY -fPIC -shared -fstack-protector-all -nostdlib -Wl,--build-id=sha1 -Wl,-soname,libpic.so arch/pic.c -o libpic.so &&
		compile gcc -m32 -O1 -g -fPIE -pie -nostdlib -fno-stack-protector -Wl,--build-id=sha1 -Wl,-rpath,"$dir" arch/pic.c "$dir/libpic.so" -o pic &&
		run pic && cp "$dir/libpic.so" "$stage/" && arch_ship pic
}

for arch_line in $(arch_lines); do
	[ $arch_line = amd64 ] && continue # it has cases of its own
	arch_cases=(crash-O0 crash-O1 signal notables)
	[[ $arch_line == *-* || $arch_line == mipsel ]] || # mips has the case
		 grep -q "^$arch_line *|.*| stub:" <<<"$arch_table" || arch_cases+=(threads)
	for arch_case in "${arch_cases[@]}"; do
		[[ $arch_without == *" $arch_line-$arch_case "* ]] && continue
		eval "make_$arch_line-$arch_case() { arch_setup $arch_line && arch_$arch_case; }"
	done
done
unset arch_line arch_case arch_cases

# .ARM.exidx, without symbols and debug information: only 32-bit ARM has it.
arch_exidx() { arch_bare exidx crash.c -O1 -DNO_TABLES -funwind-tables -s && arch_make exidx; }
make_arm-exidx() { arch_setup arm && arch_exidx; }
make_arm-thumb-exidx() { arch_setup arm-thumb && arch_exidx; }

# Go on another machine keeps return addresses in a register, and changes stacks in its
# own way.
make_aarch64-go-stripped() {
	need go qemu-aarch64 || return $?
	runner=qemu-aarch64 debugger=gdb-multiarch
	out=$here/cores/$case
	rm -f "$dir"/qemu_*.core
	GOARCH=arm64 CGO_ENABLED=0 go_build gostripped -ldflags="-s -w" || return 1
	launcher=(GOTRACEBACK=crash GOMAXPROCS=1 qemu-aarch64)
	run gostripped throw
	rm -f "$dir/core"
	mv "$dir"/qemu_*.core "$dir/core" && ship gostripped && finish gostripped
}

# Tags in pointers, which only the processors of 64-bit ARM ignore without being asked to.
make_aarch64-tagged() {
	arch_setup aarch64 || return $?
	arch_bare tagged tagged.c -O1 -g -fasynchronous-unwind-tables && arch_make tagged
}
