/* Dies of a division. The argument says which. */
#include <limits.h>
#include <stdlib.h>

#define APART __attribute__((noinline))

struct parts { int id; int count; short few; unsigned char k; int *from, *to; long far; };
APART int member(struct parts *p, int total) { return total / p->count; }
APART int narrow(struct parts *p, int total) { return total % p->few + total; }
APART int difference(struct parts *p, int total) { return total / (p->k - 3); }
APART long pointers(struct parts *p, long sum) { return sum / (p->to - p->from); }
unsigned long buckets;
APART unsigned long global(unsigned long h) { return h % buckets; }
int sizes[8] = { 1, 2, 3, 0, 5 };
APART int element(unsigned i, int t) { return t % sizes[i]; }
APART int product(int w, int h, int t) { return t / (w * h); }
APART int least(int a, int b) { return a / b; }
APART long rest(long a, long b) { return a % b; }
/* Neither is zero: 65536 * 65536 in 32 bits. */
APART int overflowed(unsigned w, unsigned h, int t) { return t / (int)(w * h); }
/* What is subtracted from is another number by then. */
APART long stored(struct parts *p, long total) { return total / (p->far++ - 3); }
/* What was shifted was 5. What it is computed from is another number by then, of which 0 would come. */
APART long shifted(struct parts *p, long total) { long d = p->far - 3; p->far = 3; return total / (d >> 4) + d; }

/* Neither argument is in a register any more, nor are the halves of these. */
APART int between(int a, int b, int total) { return total / (b - a); }
APART int halves(long a, long b, int total) { return total / ((int)b - (int)a); }
APART int minus(int a, int b, int c, int total) { return total / (a - b * c); }

APART int quarter(int a, int b, int total) { return total / ((a - b) >> 2); }
APART int lower(long a, long b, int total) { return total / (int)(a - b); }
APART long mixed(int a, unsigned b, unsigned total) { return total / (a - b); }
APART int common(int a, int b, int total) { return total / (a & b); }
/* Of these the division takes a part, which is zero, although they are not. */
APART int part(long b, int total) { return total / (int)b; }
APART int lowest(struct parts *p, int total) { return total / (unsigned char)p->id; }
APART int factor(long a, long b, int total) { return total / ((int)a * (int)b); }
long wide;
APART int partly(int total) { return total % (short)wide; }

int main(int argc, char **argv)
{
	int c = argc - 1; /* 1 */
	struct parts p = { .k = 3 };
	switch (argv[1][0]) {
	case 'm': return member(&p, c * 100);
	case 'n': return narrow(&p, c * 100);
	case 'd': return difference(&p, c * 100);
	case 'p': return pointers(&p, c * 100);
	case 'g': return global(c * 77);
	case 'e': return element(c + 2, c * 9);
	case 'w': return product(c * 12, c - 1, c * 9);
	case 'l': return least(INT_MIN, -c);
	case 'r': return rest((long)(1UL << 63) * c, -c);
	case 't': p.far = 3; return stored(&p, c * 100);
	case 'h': p.far = 8; return shifted(&p, c * 100);
	case 'B': return between(c, c, c * 9);
	case 'H': return halves(c, c + (1L << 32), c * 9);
	case 'M': return minus(c * 6, c * 2, c * 3, c * 9);
	case 'P': return part(c * (1L << 32), c * 9);
	case 'L': p.id = c * 0x300; return lowest(&p, c * 9);
	case 'F': return factor(c * 3, c * (1L << 32), c * 9);
	case 'G': wide = c * 0x10000; return partly(c * 9);
	case 'Q': return quarter(c * 3, c * 2, c * 9);
	case 'W': return lower(c + (1L << 32), c, c * 9);
	case 'X': return mixed(-c, c * 0xffffffffu, c * 9);
	case 'C': return common(c, c * 2, c * 9);
	case 'o': return overflowed(c << 16, c << 16, c * 9);
	}
	return 0;
}
