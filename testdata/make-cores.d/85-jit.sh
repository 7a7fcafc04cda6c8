# Code that a program registers with GDB's JIT interface.

# jit MODE: one of the crashes of jit.c. The code is at the start of its section.
jit() {
	cc -c jit_code.c -O1 -g -fno-toplevel-reorder -fcf-protection=none -o jit_code.o &&
		(cd "$dir" && ld -e jit_entry -Ttext=0x10000000 --build-id=none jit_code.o -o jit_code.elf) &&
		cc jit.c jit_files.S -I"$dir" -Wa,-I"$dir" -O1 -g -o jit && run jit "$1" && ship jit && finish jit
}

make_jit-object() { jit object; }
make_jit-placed() { jit placed; }

# jit_map MODE FILE: a crash in code that is recorded for profilers. The record is beside the core.
jit_map() {
	cc jit-map.c -O1 -g -o jit-map && run jit-map "$1" && ship jit-map && ship "$(basename "$dir"/$2)" && finish jit-map
}

make_jit-map() { jit_map map 'perf-*.map'; }
make_jit-dump() { jit_map dump 'jit-*.dump'; }
make_jit-unwind() { jit_map unwind 'jit-*.dump'; }
