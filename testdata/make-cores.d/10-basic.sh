# The everyday stacks: recursion, threads, signals, inlines.

make_recursion-O0() {
	cc recursion.c -O0 -g -o recursion && run recursion 12 && ship recursion && finish recursion
}

make_threads() {
	cc threads.c -O1 -fno-inline -g -pthread -o threads && run threads && ship threads && finish threads
}

make_signal-altstack() {
	cc sigalt.c -O0 -g -o sigalt && run sigalt && ship sigalt && finish sigalt
}

make_inline-tail-O2() {
	cc inline_tail.c -O2 -g -o inline_tail && run inline_tail && ship inline_tail && finish inline_tail
}
