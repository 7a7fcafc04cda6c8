// Frames whose CFA is an expression or a moving register.
//
// Built with -O2: wide realigns its stack for a local aligned to 64 bytes,
// beside a variable-length array, so its unwind rule for the CFA is an
// expression. Expected stack: crash, wide, main
#include <stddef.h>

#define noipa __attribute__((noipa))

noipa static int crash(volatile int *p, volatile int *scratch)
{
	*p = scratch[0];
	return scratch[1];
}

noipa static int wide(volatile int *p, int n)
{
	_Alignas(64) volatile int block[32];
	volatile int tail[n];

	block[0] = n;
	tail[n - 1] = 2;
	return crash(p, block) + crash(p, tail) + block[n] + tail[0];
}

int main(int argc, char **argv)
{
	return wide(NULL, argc + 4) + argv[0][0];
}
