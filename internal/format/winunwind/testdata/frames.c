/* Functions with all kinds of frames, for Windows, without a library. */

#define NOINLINE __attribute__((noinline))
#define EXPORT __declspec(dllexport)

volatile int sink;
volatile double fsink;

int _fltused; /* wanted where floating point is used */
void __chkstk(void) {}

NOINLINE int leaf(int a, int b) { return a * b + sink; }
NOINLINE double fleaf(double a) { return a * fsink; }

EXPORT NOINLINE int saves(int a, int b, int c, int d)
{
	int x = leaf(a, b), y = leaf(c, d);
	return leaf(x, y) + a + b + c + d;
}

EXPORT NOINLINE int many(int *p)
{
	int a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7], i = p[8], j = p[9];
	for (int k = 0; k < 10; k++) {
		a += leaf(a, b); b += leaf(b, c); c += leaf(c, d); d += leaf(d, e); e += leaf(e, f);
		f += leaf(f, g); g += leaf(g, h); h += leaf(h, i); i += leaf(i, j); j += leaf(j, a);
	}
	return a + b + c + d + e + f + g + h + i + j;
}

EXPORT NOINLINE double floats(double *p)
{
	double a = p[0], b = p[1], c = p[2], d = p[3], e = p[4];
	for (int k = 0; k < 10; k++) {
		a += fleaf(b); b += fleaf(c); c += fleaf(d); d += fleaf(e); e += fleaf(a);
	}
	return a * b * c * d * e;
}

EXPORT NOINLINE int array(int n)
{
	volatile int a[n];
	for (int i = 0; i < n; i++)
		a[i] = leaf(i, n);
	return a[n / 2];
}

EXPORT NOINLINE int realigned(int n)
{
	volatile char a[64] __attribute__((aligned(64)));
	for (int i = 0; i < 64; i++)
		a[i] = n + i;
	return saves(a[3], a[5], a[7], n);
}

EXPORT NOINLINE int middling(int n)
{
	volatile char a[700];
	a[n] = 1;
	return leaf(a[n], n);
}

EXPORT NOINLINE int large(int n)
{
	volatile char a[20000];
	a[n] = 1;
	return leaf(a[n], n) + leaf(n, n);
}

EXPORT NOINLINE int huge(int n)
{
	volatile char a[1200000];
	a[n] = 1;
	return leaf(a[n], n) + n;
}

EXPORT NOINLINE int variable(int n, ...)
{
	__builtin_va_list ap;
	int s = 0;
	__builtin_va_start(ap, n);
	while (n-- > 0)
		s += leaf(__builtin_va_arg(ap, int), n);
	__builtin_va_end(ap);
	return s;
}

EXPORT NOINLINE int branches(int n)
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

EXPORT NOINLINE int tails(int n, int (*f)(int))
{
	int x = leaf(n, n);
	if (x == 3)
		return saves(x, n, 1, 2);
	if (x == 4)
		return f(leaf(x, n));
	return x == 5 ? variable(3, x, n, 7) : huge(x + n);
}
