/* Functions with all kinds of frames, without a library. Single-stepped from
   _start to the end by TestSingleStep. */
#include <stddef.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile int sink;

NOINLINE int leaf(int a, int b) { return a * b + sink; }

NOINLINE int saves(int a, int b, int c, int d)
{
	int x = leaf(a, b), y = leaf(c, d);
	return leaf(x, y) + a + b + c + d;
}

NOINLINE int array(int n)
{
	volatile int a[n];
	for (int i = 0; i < n; i++)
		a[i] = leaf(i, n);
	return a[n / 2];
}

NOINLINE int realigned(int n)
{
	volatile char a[64] __attribute__((aligned(64)));
	for (int i = 0; i < 64; i++)
		a[i] = n + i;
	return saves(a[3], a[5], a[7], n);
}

NOINLINE int large(int n)
{
	volatile char a[20000];
	a[n] = 1;
	return leaf(a[n], n);
}

NOINLINE int branches(int n)
{
	switch (n) {
	case 0: return saves(1, 2, 3, 4);
	case 1: return leaf(n, 7) + array(3);
	case 2: sink++; break;
	case 3: return array(4) + 1;
	case 4: return large(9);
	case 5: return leaf(6, n) - saves(n, n, 1, 1);
	case 6: sink--; break;
	case 7: return realigned(n);
	}
	return n;
}

NOINLINE int recursive(int n, int m)
{
	if (n == 0)
		return leaf(m, 1);
	return recursive(n - 1, m + 1) + leaf(n, m);
}

NOINLINE int wrapped(int n)
{
	if (n == 0) /* the prologue may come after this */
		return 0;
	int a = leaf(n, 1), b = leaf(a, 2), c = leaf(b, 3);
	return saves(a, b, c, recursive(2, n));
}

NOINLINE int many(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
	return saves(a + h, b + i, c + g, d + e + f);
}

NOINLINE int through(int (*f)(int), int n) { return f(n); }

NOINLINE int run(void)
{
	int sum = 0;
	for (int i = 0; i < 9; i++)
		sum += branches(i) + wrapped(i & 1) + through(realigned, i) + through(array, i + 1);
	return sum + many(1, 2, 3, 4, 5, 6, 7, 8, 9);
}

void finish(int code)
{
	__asm__ volatile("syscall" : : "a"(60), "D"(code) : "memory");
	for (;;)
		;
}

__attribute__((force_align_arg_pointer)) void _start(void) { finish(run() & 1); }
