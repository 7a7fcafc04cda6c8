# Cores that lack something: filtered, truncated, or with pages left out.

# Bit 0 only: no ELF headers, no file-backed memory, no shared memory.
make_filter-0x01() {
	core_filter=0x01
	simple recursion -O0 -g -- 12
}

# Everything, including text: a walk needs files for names only.
make_filter-all() {
	need musl-gcc || return $?
	core_filter=0x7f
	compile musl-gcc recursion.c -O0 -g -static -o recursion && run recursion 12 &&
		ship recursion && finish recursion
}

# No private memory: the stack's pages are not in the core.
make_filter-none() {
	core_filter=0x00
	simple recursion -O0 -g -- 12
}

make_relro-omitted() { simple relro -O0 -g -fPIE -pie -Wl,-z,relro,-z,now; }

# The file ends in the middle of the stack, as when the disk is full or RLIMIT_CORE was
# reached: the inner frames are there, the outer ones are not. Without address
# randomisation, so that the cut always hits the same frame.
make_truncated() {
	local offset size
	launcher=(setarch -R)
	backtrace=("${deep_backtrace[@]}")
	cc recursion.c -O0 -g -o recursion && run recursion 4000 && ship recursion || return 1
	read -r offset size < <(readelf -lW "$dir/core" | awk '$1 == "LOAD" && $7 == "RW" { last = $2 " " $5 } END { print last }')
	truncate -s $((offset + size * 3 / 4)) "$dir/core" && finish recursion
}
