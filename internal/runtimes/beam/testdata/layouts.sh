#!/bin/sh
# Makes layouts.txt of Erlang's sources: layouts.sh RELEASE=SOURCES ... > ../layouts.txt, with the directory of the sources of a release, in whose erts
# ./configure has run. Each release has two columns: the virtual machine that compiles, and the one that interprets. The order is that of the columns.
set -e
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
columns=
for pair; do
	release=${pair%%=*} erts=${pair#*=}/erts
	beam=$erts/emulator
	made=$out/made$release
	mkdir "$made"
	: >"$made/beam_opcodes.h" # which a build makes, as the others
	(cd "$beam" && perl utils/make_tables -src "$made" -include "$made" beam/atom.names beam/bif.tab &&
		perl utils/make_alloc_types -src beam/erl_alloc.types -dst "$made/erl_alloc_types.h" beam_smp) >/dev/null
	kind=$(basename "$(dirname "$(ls -d "$beam"/*/config.h "$erts"/*/config.h 2>/dev/null | head -1)")")
	includes=
	for dir in "$made" "$beam/beam" "$beam/sys/unix" "$beam/sys/common" "$beam/$kind" "$erts/$kind" "$erts/include" "$erts/include/$kind" \
		"$erts/include/internal" "$erts/include/internal/$kind" "$beam/drivers/common" "$beam/zlib" "$beam/openssl/include" "$beam/ryu"; do
		includes="$includes -I$dir"
	done
	for flavor in jit emu; do
		own="-I$beam/beam/emu" name=${release}emu
		[ $flavor = emu ] || own="-DBEAMASM -I$beam/beam/jit -I$beam/beam/jit/x86" name=$release
		cc -w -O1 -S -DHAVE_CONFIG_H -D_THREAD_SAFE -D_REENTRANT -DPOSIX_THREADS -DUSE_THREADS -D_GNU_SOURCE $own $includes -o - "$here/layout.c" |
			sed -n 's/^->//p' >"$out/$name"
		columns="$columns $name"
	done
done
echo "# Where Erlang keeps things: offsets in bytes, 64-bit, and numbers that differ. Made by testdata/layouts.sh; - if a version does not have it."
cd "$out"
"$here/../../layouts/testdata/columns.sh" $columns
