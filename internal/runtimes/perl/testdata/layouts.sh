#!/bin/sh
# Makes layouts.txt of Perl's headers: layouts.sh 5.36=/usr/lib/x86_64-linux-gnu/perl/5.36/CORE ... > ../layouts.txt, with the directory that a version with threads
# installs ($Config{archlibexp}/CORE). Each makes two columns: 5.36t with threads, and 5.36 of the same headers without. The order is that of the columns.
set -e
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
columns=
for pair; do
	version=${pair%%=*} headers=${pair#*=}
	cp -rL "$headers" "$out/headers"
	say() { cc -w -O1 -S -DHAS_MEMCHR -I"$out/headers" -o "$out/s" "$here/layout.c" && sed -n 's/^->//p' "$out/s" >"$out/$1"; }
	say "${version}t"
	sed -i -E 's/^#[[:space:]]*define[[:space:]]+(USE_ITHREADS|USE_THREADS|MULTIPLICITY|PERL_IMPLICIT_CONTEXT|USE_REENTRANT_API)\b.*$//' "$out/headers/config.h"
	say "$version"
	rm -rf "$out/headers"
	columns="$columns ${version}t $version"
done
echo "# Where Perl keeps things: offsets in bytes, 64-bit, and numbers that differ. Made by testdata/layouts.sh; t: with threads; - if a version does not have it."
cd "$out"
"$here/../../layouts/testdata/columns.sh" $columns
