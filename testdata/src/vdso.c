// A crash inside the vDSO: the time is to be written to a bad address.
//
// Expected stack: __vdso_clock_gettime (or the kernel's inner function),
// clock_gettime in libc, stamp, main
#include <stddef.h>
#include <time.h>

static int stamp(struct timespec *t)
{
	return clock_gettime(CLOCK_MONOTONIC, t) + 1;
}

int main(void)
{
	return stamp((struct timespec *)16);
}
