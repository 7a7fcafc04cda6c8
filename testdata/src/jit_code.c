/* What jit.c registers: code that calls nothing outside of itself. */
static int jit_middle(int *p, int n);

int jit_entry(int *p, int n)
{
	return jit_middle(p, n + 1) + 1;
}

static __attribute__((noinline)) int jit_leaf(int *p, int n)
{
	return *p + n;
}

static __attribute__((noinline)) int jit_middle(int *p, int n)
{
	volatile int kept[4] = { n };

	return jit_leaf(p, kept[0] * 2) + kept[0];
}
