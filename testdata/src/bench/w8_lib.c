// One of many stripped libraries. enterK calls the next function of a list through a few
// functions of its own with frames of several sizes. fill.S makes the library large.
typedef struct step {
	long (*enter)(const struct step *, long);
	const struct step *next;
} step;

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)

__attribute__((noinline)) static long small(const step *s, long x)
{
	return s->enter(s->next, x + 1) + x;
}

__attribute__((noinline)) static long middle(const step *s, long x)
{
	volatile long a[16 + K % 7];

	for (unsigned i = 0; i < sizeof a / sizeof a[0]; i++)
		a[i] = x + i;
	return small(s, a[3]) + a[5];
}

__attribute__((noinline)) static long large(const step *s, long x, long y, long z)
{
	volatile char text[400 + 16 * (K % 11)];

	text[x & 15] = y;
	return middle(s, text[x & 15] + z) + text[y & 15] + z * y;
}

long CAT(enter, K)(const step *s, long x)
{
	return large(s, x, x + 2, x * 3) + 1;
}
