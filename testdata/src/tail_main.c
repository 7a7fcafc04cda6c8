// main leaves by a tail call.
//
// Built with -O2. main leaves to work, or to idle if there are arguments; work leaves to
// crash, which writes to a null pointer. The library calls main through a value in its own
// frame. work has lost its arguments, which main's call tells. Expected stack:
//   crash, work (tail), main (tail), then what starts programs
//
// With -DLIBRARY, crash is fclose, to which a linkage stub leads.
#include <stdio.h>

#ifdef __clang__
#define noipa __attribute__((noinline))
#else
#define noipa __attribute__((noipa))
#endif

volatile int seen;

noipa int crash(volatile int *p, int v)
{
	seen = v;
	v = seen / 2;
	*p = v;
	return v;
}

noipa int work(volatile int *p, int v)
{
	seen = v;
#ifdef LIBRARY
	return fclose((FILE *)(p + v));
#endif
	return crash(p, v + 2);
}

noipa int idle(volatile int *p, int v)
{
	return v + (p != NULL);
}

int main(int argc, char **argv)
{
	seen = argc;
	if (argc > 5)
		return idle((volatile int *)argv[1], argc);
	return work(NULL, 40);
}
