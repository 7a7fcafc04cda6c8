#!/bin/sh
# Makes layouts.txt of Ruby's sources: layouts.sh VERSION=SOURCES,HEADERS ... > ../layouts.txt, with the directory of the sources of a release and that of the
# configuration with which it was built (of config.h, below RbConfig::CONFIG["rubyarchhdrdir"]). The order is that of the columns.
set -e
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
columns=
for pair; do
	version=${pair%%=*} dirs=${pair#*=}
	sources=${dirs%%,*} config=${dirs#*,}
	number=$(echo "$version" | awk -F. '{ printf "%d%02d", $1, $2 }')
	main=main_thread
	[ "$number" -lt 300 ] || main=ractor.main_thread
	: >"$out/probes.h" # which a build makes
	for part in 0 1 2 3 4; do
		cc -w -O1 -S -DTRUE=1 -DFALSE=0 -DPART=$part -DVERSION="$number" -DVM_MAIN_THREAD=$main -I"$out" -I"$config" -I"$sources/include" -I"$sources" -o - "$here/layout.c" |
			sed -n 's/^->//p'
	done >"$out/$version"
	columns="$columns $version"
done
echo "# Where Ruby keeps things: offsets in bytes, 64-bit, and numbers that differ. Made by testdata/layouts.sh; - if a version does not have it."
cd "$out"
"$here/../../layouts/testdata/columns.sh" $columns
