# Walking with poor or missing unwind tables.

no_tables=(-fno-asynchronous-unwind-tables -fno-unwind-tables)

make_no-tables-omit-fp() { simple tables -O2 "${no_tables[@]}" -fomit-frame-pointer; }
make_no-tables-fp() { simple tables -O2 "${no_tables[@]}" -fno-omit-frame-pointer; }

# With -g the tables go to .debug_frame instead of .eh_frame.
make_debug-frame-only() { simple tables -O2 -g "${no_tables[@]}" -fomit-frame-pointer; }

make_asm-between() {
	cc asm_between.c asm_between.S -O2 -g0 -o asm_between &&
		run asm_between 3 && ship asm_between && finish asm_between
}

# edge NAME: one of the crashes of edges.c.
edge() {
	cc edges.c edges.S -O1 -g0 -o edges && run edges "$1" && ship edges && finish edges
}

make_prologue-no-cfi() { edge prologue; }
make_epilogue-no-cfi() { edge epilogue; }
make_signal-first-insn() { edge first; }
make_bad-sp() { edge stack; }

make_wrong-cfi() {
	cc wrong_cfi.c wrong_cfi.S -O1 -g0 -o wrong_cfi && run wrong_cfi && ship wrong_cfi && finish wrong_cfi
}

# switched MODE: a stack that is left for another one, in a function that is marked as a signal frame's.
switched() { cc switched.c -O1 -g -o switched && run switched "$1" && ship switched && finish switched; }

make_switched-call() { switched call; }
make_switched-inside() { switched inside; }
