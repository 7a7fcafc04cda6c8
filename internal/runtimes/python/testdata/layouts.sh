#!/bin/sh
# Makes layouts.txt anew from the headers of the CPythons under $1 (such as ~/.pyenv/versions): one column for each.
# usage: sh testdata/layouts.sh ~/.pyenv/versions > layouts.txt
set -eu
here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for v in 3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13; do
	for d in "$1"/$v.*/include/python*; do
		[ -f "$d/Python.h" ] || continue
		gcc -w -I"$d" -I"$d/internal" -o "$tmp/layout" "$here/layout.c"
		"$tmp/layout" | grep -v '^version' >"$tmp/$v"
		# No header has asyncio's tasks: they are in the debug information of its module.
		case $v in 3.11 | 3.12 | 3.13)
			for field in waiter=task_fut_waiter coro=task_coro name=task_name; do
				echo "task.${field%=*}" $(gdb -nx -batch -ex "print (int)&((TaskObj*)0)->${field#*=}" "$d"/../../lib/python$v/lib-dynload/_asyncio.*.so | sed 's/.*= //')
			done >>"$tmp/$v" ;;
		esac
		echo "$v" "$(basename "$(dirname "$(dirname "$d")")")" >>"$tmp/versions"
	done
done
echo "# Where CPython keeps things: offsets in bytes, 64-bit, builds without --with-pydebug."
echo "# Made by testdata/layouts.sh from the headers of these releases; - if a version does not have a field."
awk 'FILENAME ~ /versions$/ { n++; col[$1] = n; full[n] = $2; next }
{ v = FILENAME; sub(/.*\//, "", v); if (!($1 in at)) { at[$1] = ++rows; name[rows] = $1 }; val[at[$1], col[v]] = $2 }
END { printf "field"; for (i = 1; i <= n; i++) printf " %s", full[i]; print ""
	for (r = 1; r <= rows; r++) { printf "%s", name[r]; for (i = 1; i <= n; i++) printf " %s", ((r, i) in val) ? val[r, i] : "-"; print "" } }' \
	"$tmp/versions" $(cut -d' ' -f1 "$tmp/versions" | sed "s,^,$tmp/,")
