#!/bin/sh
# Makes layouts.txt anew from the headers of CPythons: directories with Python.h of 3.6 to 3.15, one for each. Of each it makes
# a column of the usual build, one of the debug build (d, --with-pydebug), and from 3.13 on one of the free-threaded (t).
# No header has asyncio's tasks: they are in the debug information of the module _asyncio, of which TASKS is a list, separated by blanks.
# usage: TASKS="$(echo ~/.pyenv/versions/*/lib/python*/lib-dynload/_asyncio.*.so)" sh testdata/layouts.sh ~/.pyenv/versions/*/include/python* > layouts.txt
set -eu
here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# tasks MODULE SIZE prints where tasks have their fields, if an object's head has SIZE bytes. A version lacks some of the fields.
tasks() {
	so=$1 size=$2
	set --
	for field in waiter=task_fut_waiter coro=task_coro name=task_name node=task_node awaited_by=task_awaited_by awaited_by_is_set=task_awaited_by_is_set; do
		set -- "$@" -ex "printf \"task.${field%=*} %d\\n\", (int)&((TaskObj*)0)->${field#*=} - (int)sizeof(PyObject) + $size"
	done
	gdb -nx -batch "$@" "$so" 2>/dev/null | sed -n '/^task\./p'
}

for v in 3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13 3.14 3.15; do
	for d in "$@"; do
		case $d in */python$v | */python$v[mt]) ;; *) continue ;; esac
		[ -f "$d/Python.h" ] || continue
		for kind in "" d t; do
			case $kind$v in
			t3.6 | t3.7 | t3.8 | t3.9 | t3.1[012]) continue ;;
			t*) flag=-DPy_GIL_DISABLED ;;
			d*) flag=-DPy_DEBUG ;;
			*) flag= ;;
			esac
			case $d in *t) [ "$kind" = t ] || continue ;; esac
			gcc -w $flag -I"$(dirname "$d")" -I"$d" -I"$d/internal" -o "$tmp/layout" "$here/layout.c"
			full=$("$tmp/layout" version)$kind
			[ -f "$tmp/$full" ] && continue
			"$tmp/layout" >"$tmp/$full"
			# The object's head is all that differs between builds.
			for so in ${TASKS-}; do
				case $so in */python$v/* | */python${v}t/* | */python${v}d) ;; *) continue ;; esac
				tasks "$so" "$(sed -n 's/^object.size //p' "$tmp/$full")" >>"$tmp/$full"
				break
			done
			echo "$full" >>"$tmp/versions"
		done
	done
done
echo "# Where CPython keeps things: offsets in bytes, 64-bit. The last letter of a version: d is a debug build, t a free-threaded one."
echo "# Made by testdata/layouts.sh from the headers of these releases; - if a version does not have a field."
awk 'FILENAME ~ /versions$/ { n++; col[$1] = n; full[n] = $1; next }
{ v = FILENAME; sub(/.*\//, "", v); if (!($1 in at)) { at[$1] = ++rows; name[rows] = $1 }; val[at[$1], col[v]] = $2 }
END { printf "field"; for (i = 1; i <= n; i++) printf " %s", full[i]; print ""
	for (r = 1; r <= rows; r++) { printf "%s", name[r]; for (i = 1; i <= n; i++) printf " %s", ((r, i) in val) ? val[r, i] : "-"; print "" } }' \
	"$tmp/versions" $(sed "s,^,$tmp/," "$tmp/versions")
