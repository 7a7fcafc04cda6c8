# Programs as a binary rewriter leaves them.

# symbol FILE NAME: the symbol's address.
symbol() { echo $((0x$(nm "$dir/$1" | awk -v n="$2" '$3 == n { print $1 }'))); }

# offset FILE ADDRESS: prints where the byte at the address is in the file.
offset() {
	local off vaddr size
	while read -r off vaddr size; do
		if (($2 >= vaddr && $2 < vaddr + size)); then echo $(($2 - vaddr + off)) && return; fi
	done < <(readelf -lW "$dir/$1" | awk '$1 == "LOAD" { print $2, $3, $5 }')
	return 1
}

# poke FILE OFFSET SIZE NUMBER: writes a little-endian number.
poke() {
	local i bytes=
	for ((i = 0; i < $3; i++)); do bytes+=$(printf '\\x%02x' $(($4 >> (8 * i) & 255))); done
	printf "$bytes" | dd of="$dir/$1" bs=1 seek="$2" conv=notrunc status=none
}

# springboard FILE NAME: a jump to NAME_dyninst over NAME's first bytes.
springboard() {
	local from to at
	from=$(symbol "$1" "$2") && to=$(symbol "$1" "$2_dyninst") && at=$(offset "$1" "$from") || return 1
	poke "$1" "$at" 1 0xe9 && poke "$1" $((at + 1)) 4 $((to - from - 5))
}

# spare_tag FILE TAG VALUE: puts a dynamic entry in place of the first DT_NULL; linkers
# leave several.
spare_tag() {
	local at used spare
	at=$((0x$(readelf -SW "$dir/$1" | sed -n 's/.* \.dynamic  *DYNAMIC  *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')))
	used=$(readelf -dW "$dir/$1" | grep -c -E '^ 0x.*\(' )
	spare=$(readelf -SW "$dir/$1" | sed -n 's/.* \.dynamic  *DYNAMIC  *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/\1/p')
	((used + 1 <= 0x$spare / 16)) || return 1 # the DT_NULL after it stays
	at=$((at + 16 * (used - 1)))
	poke "$1" $at 8 "$2" && poke "$1" $((at + 8)) 8 "$3"
}

# rewritten MODE: one of the crashes of rewritten.c.
rewritten() {
	cc -c relocated.S -o relocated.o &&
		cc rewritten.c rewritten.S "$dir/relocated.o" -O1 -g -o rewritten &&
		springboard rewritten work && springboard rewritten inner &&
		poke rewritten "$(offset rewritten "$(symbol rewritten tiny)")" 1 0xcc &&
		spare_tag rewritten 0x6D191957 "$(symbol rewritten trap_map)" &&
		run rewritten "$1" && ship rewritten && finish rewritten
}

make_rewritten-probe() { rewritten probe; }
make_rewritten-nopoint() { rewritten nopoint; }
make_rewritten-copy() { rewritten copy; }
make_rewritten-tramp() { rewritten tramp; }
