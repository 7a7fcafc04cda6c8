#!/bin/sh
# Makes layouts.txt of PHP's headers: layouts.sh VERSION=DIRECTORY ... > ../layouts.txt, with the directories of phpize's headers (php-config
# --include-dir), or with files that have the declarations of a version without the rest. The order is that of the columns. What a file of declarations
# lacks is "-": the last error, and before 8.3 generators.
set -e
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
columns=
for pair; do
	version=${pair%%=*} headers=${pair#*=}
	number=$(echo "$version" | awk -F. '{ printf "%d%02d", $1, $2 }')
	if [ -d "$headers" ]; then
		cc -w -DVERSION="$number" -I"$headers" -I"$headers/main" -I"$headers/Zend" -I"$headers/TSRM" -Wl,--unresolved-symbols=ignore-all -o "$out/layout" "$here/layout.c"
	else
		cc -w -DVERSION="$number" -DFRAGMENTS="\"$headers\"" $([ "$number" -ge 803 ] || echo -DNO_GENERATOR) -o "$out/layout" "$here/layout.c"
	fi
	"$out/layout" >"$out/$version"
	columns="$columns $version"
done
echo "# Where PHP keeps things: offsets in bytes, 64-bit. Made by testdata/layouts.sh; - if a version does not have a field, or if it is looked for."
cd "$out"
"$here/../../layouts/testdata/columns.sh" $columns
