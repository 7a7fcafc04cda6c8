// One program in two builds: a core of the first, and the second beside it,
// which has another build-id and other addresses. Expected stack of the core:
//   crash, work, main
// With the second build's symbols every name below would be another's.
#include <stddef.h>

#if VERSION == 2
static __attribute__((noipa)) int added(int v)
{
	return v * v + 1;
}

static __attribute__((noipa)) int also_added(int v)
{
	return added(v) - added(v / 2);
}
#else
#define also_added(v) (v)
#endif

static __attribute__((noipa)) int crash(volatile int *p, int v)
{
	*p = v;
	return v;
}

static __attribute__((noipa)) int work(int v)
{
	return crash(NULL, also_added(v)) + 1;
}

int main(int argc, char **argv)
{
	return work(argc) + argv[0][0];
}
