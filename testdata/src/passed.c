// Values that only callers know, and values in registers that a signal saved.
//
// Built with -O2. first tail-calls second, which tail-calls third: neither leaves
// a frame, and what third was given is what main gave first, by way of both.
// third writes to null while numbers are in floating-point registers; the handler
// of the signal aborts. Expected stack:
//   <libc's raise>..., abort, on_segv, <signal>, third, second (tail),
//   first (tail), main
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>

#define noipa __attribute__((noipa))

static volatile double seen;

static void on_segv(int signal)
{
	if (signal == SIGSEGV)
		abort();
}

// c is 2 * 21 by way of second, b is 7 + 1 by way of first: b is not in a register
// any more, c has changed.
noipa double third(volatile int *p, long b, long c, double x)
{
	double half = x / 2;
	float third = (float)(x / 3);

	seen = b + c;
	c = 0;
	*p = 1;
	seen = half;
	return third;
}

noipa double second(volatile int *p, long b, long c, double x)
{
	return third(p, c, b * 2, x + 1);
}

noipa double first(volatile int *p, long b, long c, double x)
{
	return second(p, b, c + 1, x);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_segv };

	sigaction(SIGSEGV, &action, NULL);
	seen = first(NULL, 21, 7, 3.5);
	return argv[0][0] + argc;
}
