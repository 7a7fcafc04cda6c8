// A crash in position-independent code with guarded stacks, called through
// procedure linkage stubs: by the program in the library, and by the library in
// itself.
//   poke < fill < main < _start
#ifdef LIBRARY
__attribute__((noreturn, visibility("hidden"))) void __stack_chk_fail_local(void) { __builtin_trap(); }

int shared_count;

__attribute__((noipa)) int poke(int *at, int value) {
	char text[16];
	for (int i = 0; i < 15; i++)
		text[i] = 'a' + (value + i) % 26;
	text[15] = 0;
	__asm__ volatile("" : : "m"(text));
	shared_count++;
	*at = value;
	return text[value & 7];
}

__attribute__((noipa)) int fill(int *at, int n) {
	int squares[8];
	for (int i = 0; i < 8; i++)
		squares[i] = i * i;
	__asm__ volatile("" : : "m"(squares));
	return poke(at, n + shared_count) + squares[n & 7];
}
#else
#include "start.h"

int fill(int *at, int n);

int main(void) { return fill((int *)0, 7) + 1; }
#endif
