// Values in registers that calls need not preserve, in frames that made a call.
//
// Built with -O2. gcc sees that step changes few registers and keeps the locals of climb in
// others (-fipa-ra); clang leaves arguments where they were passed. climb's loop is left when
// step writes to null. spoil has overwritten the registers in which wasted was passed before it
// calls climb: what wasted had in them is gone, although its call says that they are there.
// Expected stack:
//   step, climb, spoil, wasted, main
#define noinline __attribute__((noinline))

static volatile long seen;

static noinline void step(volatile int *p, long n)
{
	seen = n;
	*p = (int)n;
}

static noinline long climb(volatile int *p, long low, long high, const char *name)
{
	long sum = low * 3;

	for (long i = low; i < high; i++) {
		step(i == 12 ? 0 : p, i);
		sum += i;
	}
	seen = name[0];
	return sum;
}

static noinline long spoil(volatile int *p, long low, long high)
{
	return climb(p, high - low, high * 2, "kept") + 1;
}

noinline long wasted(volatile int *p, long low, long high)
{
	return spoil(p, low, high) + 1;
}

int main(void)
{
	int n = 0;

	return (int)wasted(&n, 10, 20);
}
