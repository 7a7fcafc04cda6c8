// Variables of every kind that C has.
//
// Dies in stop, called by arrays, called by records, called by numbers, called
// by main. Built with and without optimisation, by gcc and clang.
#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#if defined(__clang__)
#define noipa __attribute__((noinline))
#else
#define noipa __attribute__((noipa))
#endif

enum colour { red, green, blue = 7 };
enum flag { none = 0, readable = 1, writable = 2, executable = 4 };
enum level { low = -1, middle, high };

struct point {
	int x, y;
};

struct bits {
	unsigned a : 3;
	int b : 5;
	unsigned long c : 40;
	enum colour colour : 4;
	bool on : 1;
};

struct node {
	struct node *next;
	const char *name;
	int (*visit)(int, long);
	union {
		int whole;
		short half[2];
		float real;
	} weight;
	struct {
		char tag;
		struct point at;
	};
	enum flag flags;
};

struct opaque;
typedef struct point point_t;
typedef const volatile int cvint;
typedef int vec4 __attribute__((vector_size(16)));

static int total = 42;
static __thread int per_thread = 77;
static const char *const names[] = { "zero", "one", NULL };
struct node tail = { NULL, "tail", NULL, { 9 }, { { 'z', { 3, 4 } } }, readable };
#include "vars_show.h"
static int visit(int a, long b)
{
	return a + (int)b;
}

noipa static void stop(volatile int *p, const char *why)
{
	*p = why[0];
}

noipa static int arrays(int n, const struct point *first, size_t len)
{
	int plain[5] = { 1, 2, 3, 4, 5 };
	int grid[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
	char text[16] = "fixed \"text\"\n";
	char zeros[64] = "";
	unsigned char raw[8] = { 0, 1, 2, 0xff, 'a' };
	double reals[3] = { 0.5, -1.25, 1e300 };
	point_t points[2] = { { 1, 2 }, { 3, 4 } };
	int same[40] = { 0 };
	int vla[n];
	char label[n + 1];
	const char *words[3] = { "alpha", "beta", NULL };
	vec4 vector = { 1, 2, 3, 4 };
	wchar_t wide[6] = L"wid\u00e9";

	for (int i = 0; i < n; i++) {
		vla[i] = i * i;
		label[i] = (char)('a' + i);
	}
	label[n] = 0;
	same[39] = 1; SHOW_ARRAYS
	stop(NULL, words[0]);
	return plain[n % 5] + grid[1][n % 3] + text[0] + zeros[n] + raw[3] + (int)reals[0] + points[1].x + vla[1] +
	       label[0] + words[1][0] + vector[0] + (int)wide[0] + (int)len + first->x + same[n];
}

noipa static int records(struct point p, struct node *list, struct opaque *hidden, enum colour c)
{
	struct bits b = { 5, -3, 0x123456789aUL, blue, true };
	struct node here = { list, "here", visit, { 0x00020001 }, { { 't', { -1, 1 } } }, readable | executable };
	struct point *at = &p;
	struct node **handle = &list;
	union { long l; double d; } both = { .d = 1.5 };
	struct { int in; struct { int deep; } more; } nameless = { 1, { 2 } };
	struct point empty[0];
	int sum = p.x + p.y;
	SHOW_RECORDS
	sum += arrays(p.x, at, sizeof(here));
	return sum + b.a + here.flags + (int)both.l + nameless.in + (*handle)->flags + c + (hidden != NULL) + (int)sizeof(empty);
}

noipa static long numbers(int argc, char **argv)
{
	signed char sc = -5;
	unsigned char uc = 200;
	char ch = 'Q';
	short sh = -300;
	unsigned short us = 60000;
	long lo = -1234567890123L;
	unsigned long ul = 0xfedcba9876543210UL;
	float fl = 0.1f;
	double db = 3.141592653589793;
	long double ld = 1.0L / 3;
	float complex fc = 1.5f - 2.0f * I;
	double complex dc = 0.25 + 4.0 * I;
	__int128 big = -((__int128)1 << 100);
	unsigned __int128 ubig = ((unsigned __int128)1 << 127) + 5;
	bool yes = true;
	enum colour col = green;
	enum flag fg = readable | writable;
	enum flag odd = 9;
	enum level lv = low;
	wchar_t wc = L'\u00e9';
	cvint cv = 12;
	void *nothing = NULL;
	int (*call)(int, long) = visit;
	const char *str = "a string with \ttab";
	const char *bad = (const char *)0x10;
	const int *ptr = &total;
	struct node *node = &tail;
	int8_t small = 'x';
	uint64_t counter = 1UL << 40;
	static int kept = 11;
	const char *const *table = names;
	struct point in = { 3, 4 };
	float inf = 1.0f / 0.0f;
	double minus = -0.0;

	static __thread long own = 99; // at an address of each thread

	kept += per_thread;
	own++;
	{
		int inner = argc + 100;
		long ch = inner * 2L; // hides the other
		lo += ch; SHOW_NUMBERS
		ul += (unsigned long)records(in, &tail, (struct opaque *)&total, col);
		lo += inner + ch;
	}
	return sc + uc + ch + sh + us + lo + (long)ul + (long)fl + (long)db + (long)ld + (long)crealf(fc) + (long)creal(dc) +
	       (long)big + (long)ubig + yes + col + fg + odd + lv + wc + cv + (nothing == NULL) + call(1, 2) + str[0] +
	       (bad != NULL) + *ptr + node->flags + small + (long)counter + kept + table[0][0] + argv[0][0] + (long)inf + (long)minus;
}

int main(int argc, char **argv)
{
	long got = numbers(argc, argv);

	return (int)got;
}
