#!/bin/sh
# Makes layouts.txt and opcodes.txt of Lua's sources: layouts.sh GIT, a clone of github.com/lua/lua with its tags.
set -e
git=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for v in 5.1.1 5.2.3 5.3.6 5.4.0 5.4.1 5.4.2 5.4.3 5.4.4; do
	mkdir "$work/$v"
	git -C "$git" archive "v$v" | tar x -C "$work/$v"
	gcc -w -I"$work/$v" "$here/layout.c" -o "$work/layout"
	"$work/layout" > "$work/out-$v"
done
cd "$work"
python3 "$here/layouts.py" "$here/.."
