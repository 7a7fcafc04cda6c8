/* Functions of 32-bit Windows with all kinds of frames, which stepper32.c steps through.
   They call each other only: run is the entry point, and needs no system. */

#define KEEP __attribute__((noinline))
#define STDCALL __attribute__((stdcall))
#define FASTCALL __attribute__((fastcall))

static volatile int sink;

KEEP int leaf(int a) { return sink + a; }

/* One saved register, several, all of them. */
KEEP int one(int a) { return leaf(a) + a; }

KEEP int many(int a, int b, int c, int d)
{
	int x = leaf(a), y = leaf(b), z = leaf(c), w = leaf(d);
	int v = leaf(x + y), u = leaf(z + w), t = leaf(x + w);
	return x * y + z * w + v * u + t + one(a + b) + c + d;
}

/* Functions that take their parameters off the stack. */
KEEP int STDCALL drops(int a, int b, int c)
{
	return leaf(a) + many(a, b, c, 4) + b;
}

KEEP int FASTCALL registers(int a, int b, int c)
{
	return drops(a, b, c) + drops(c, one(b), a) + c;
}

/* Calls within the parameters of calls. */
KEEP int nested(int a)
{
	return many(leaf(a), drops(a, leaf(a + 1), 3), registers(1, a, leaf(2)), one(a)) + a;
}

/* More than a page: the stack is probed. */
KEEP int probed(int n)
{
	volatile char block[9000];
	block[n] = (char)n;
	return leaf(block[n]) + block[n];
}

/* A frame of a size that is known at run time. */
KEEP int variable(int n)
{
	volatile char *block = __builtin_alloca(n);
	block[n - 1] = 3;
	int got = leaf(block[n - 1]) + many(1, 2, 3, n);
	return got + block[n - 1];
}

/* An aligned frame, and one of both kinds. */
KEEP int aligned(int n)
{
	volatile int block[16] __attribute__((aligned(64)));
	block[n & 15] = n;
	return leaf(n) + block[n & 15] + variable(n + 40);
}

KEEP int both(int n)
{
	volatile int block[8] __attribute__((aligned(32)));
	volatile char *more = __builtin_alloca(n + 8);
	more[n] = 1;
	block[n & 7] = drops(n, more[n], 2);
	return leaf(block[n & 7]) + more[n];
}

/* Several epilogues. */
KEEP int branches(int a)
{
	if (a < 2)
		return one(a) + 1;
	if (a == 5) {
		int x = many(a, a, a, a);
		return x + one(x);
	}
	for (int i = 0; i < a; i++)
		if (leaf(i) > 100)
			return i;
	return one(a) * a;
}

/* A jump in place of a call. */
KEEP int jumps(int a)
{
	sink = one(a);
	return branches(a + 1);
}

KEEP int recursive(int n)
{
	volatile int block[4];
	block[n & 3] = n;
	if (n == 0)
		return leaf(1);
	return recursive(n - 1) + block[n & 3];
}

KEEP double floats(double a, int n)
{
	return a * n + leaf(n);
}

KEEP int through(int (*f)(int), int n) { return f(n) + n; }

KEEP int all(int n)
{
	int got = one(n) + many(n, 2, 3, 4) + drops(n, 5, 6) + registers(7, n, 8) + nested(n) + probed(n);
	got += aligned(n) + both(n) + branches(1) + branches(5) + branches(3) + jumps(2) + recursive(3);
	return got + (int)floats(1.5, n) + through(one, n) + through(jumps, 4);
}

int run(void)
{
	sink = 1;
	return all(4);
}
