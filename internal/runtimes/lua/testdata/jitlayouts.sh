#!/bin/sh
# Makes jitlayouts.txt of LuaJIT's sources: jitlayouts.sh GIT..., clones of github.com/LuaJIT/LuaJIT and of github.com/openresty/luajit2 with
# their branches v2.1 and v2.1-agentzh.
set -e
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for git; do
	branch=$(git -C "$git" rev-parse -q --verify v2.1-agentzh || git -C "$git" rev-parse v2.1)
	for c in $(git -C "$git" rev-list --reverse --first-parent --since=2017-05-01 "$branch" -- src/lj_obj.h src/lj_jit.h src/lj_dispatch.h src/lj_arch.h src/lj_bc.h src/lj_frame.h src/lj_def.h src/lj_ir.h); do
		mkdir "$work/src"
		git -C "$git" archive "$c" src | tar x -C "$work/src"
		has=
		grep -q mcofs "$work/src/src/lj_jit.h" && has=-DHAS_MCOFS
		day=$(git -C "$git" log -1 --format=%cd --date=short "$c")
		for gc64 in ENABLE DISABLE; do
			gcc -w $has "-DLUAJIT_${gc64}_GC64" "-I$work/src/src" "$here/jitlayout.c" -o "$work/layout"
			n=$((n + 1))
			"$work/layout" > "$work/out-$gc64-$day-$(printf %04d $n)"
		done
		rm -rf "$work/src"
	done
done
cd "$work"
python3 "$here/jitlayouts.py" "$here/.."
