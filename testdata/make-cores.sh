#!/bin/bash
# Makes the fixtures under testdata/cores from the sources in testdata/src.
#
#   testdata/make-cores.sh            makes every case, and the sysroot
#   testdata/make-cores.sh NAME...    makes the named cases
#   testdata/make-cores.sh sysroot    refreshes testdata/sysroot/amd64 only
#   testdata/make-cores.sh -l         lists the cases
#
# It runs on x86-64 Linux with /proc/sys/kernel/core_pattern set to `core`, and must be
# able to create /opt/corewalk-fixtures: programs are built and run there, because their
# paths end up in the cores. It installs nothing. It uses these Debian packages:
#   gcc g++ libc6-dev binutils gdb zstd xz-utils dwz elfutils musl-tools
#   clang-19 llvm-19 libc++-19-dev libc++abi-19-dev rustc gfortran gnat, and Go 1.22 or newer
# A case whose tool is missing is skipped with a message, and its files stay.
# src/README.md explains how to add a case.
#
# The working directory is removed after success, so that tests do not find the programs
# at the paths in the cores; KEEP=1 keeps it.
set -u -o pipefail
export LC_ALL=C DEBUGINFOD_URLS=

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=/opt/corewalk-fixtures
src=$work/src
sysroot=$here/sysroot/amd64

# shellcheck source=/dev/null
for part in "$here"/make-cores.d/*.sh; do
	. "$part"
done

cases() { declare -F | sed -n 's/^declare -f make_//p'; }

# build_case NAME: makes one case in a fresh directory. It runs in a subshell, so that
# the settings and limits of a case end with it.
build_case() (
	case=$1
	declare -F "make_$case" >/dev/null || { say "no such case: $case"; exit 1; }
	dir=$work/$case
	out=$here/cores/amd64-$case
	stage=$work/.stage/$case
	rm -rf "$dir" "$stage" && mkdir -p "$dir" "$stage" || exit 1
	"make_$case"
	status=$?
	[ $status = $skipped ] && exit 0
	[ $status = 0 ] || { say "FAILED $case (see $dir)"; exit 1; }
	say "made $case"
)

main() {
	local failed=0 name
	[ "${1-}" = -l ] && { cases; return; }
	[ "$(uname -sm)" = "Linux x86_64" ] || { say "needs x86-64 Linux"; return 1; }
	[ "$(cat /proc/sys/kernel/core_pattern)" = core ] || { say "needs kernel.core_pattern=core"; return 1; }
	mkdir -p "$src" || return 1
	cp -R "$here"/src/. "$src/"
	[ $# = 0 ] && set -- sysroot $(cases)
	for name; do
		if [ "$name" = sysroot ]; then
			copy_sysroot || failed=1
		else
			build_case "${name#amd64-}" || failed=1
		fi
	done
	[ $failed = 1 ] || [ -n "${KEEP-}" ] || rm -rf "$work"
	return $failed
}

main "$@"
