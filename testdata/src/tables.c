// Frames of several shapes, to be built with and without unwind tables.
//
// crash has next to no frame, fold pushes callee-saved registers, spread has a
// large array, deep only passes on. Expected stack:
//   crash, fold, spread, deep, main
#include <stddef.h>

#define noipa __attribute__((noipa))

noipa int crash(volatile int *p, int v)
{
	*p = v;
	return v + 1;
}

noipa int fold(volatile int *p, int a, int b, int c)
{
	int x = a * b, y = b * c, z = c * a;

	for (int i = 0; i < 2; i++) {
		x += crash(p, y + i);
		y += crash(p, z + i);
		z += crash(p, x + i);
	}
	return x + y + z + a + b + c;
}

noipa int spread(volatile int *p, int n)
{
	volatile int many[100];

	for (int i = 0; i < 100; i++)
		many[i] = i * n;
	return fold(p, many[1], many[2], many[n]) + many[3];
}

noipa int deep(volatile int *p, int n)
{
	return spread(p, n + 1) - 1;
}

int main(int argc, char **argv)
{
	return deep(NULL, argc) + argv[0][0];
}
