// Tail calls of which the stack cannot tell which were taken.
//
// Built with -O2. start tail-calls left or right, both tail-call sink, which
// crashes. The return address says that main called start; whether left or
// right ran is lost. Expected stack, with what must not be guessed left out:
//   sink, start (tail), main
#include <stddef.h>

#define noipa __attribute__((noipa))

noipa int sink(volatile int *p, int v)
{
	*p = v;
	return v;
}

noipa int left(volatile int *p, int v)
{
	return sink(p, v + 1);
}

noipa int right(volatile int *p, int v)
{
	return sink(p, v * 2);
}

noipa int start(volatile int *p, int v)
{
	if (v > 10)
		return left(p, v);
	return right(p, v);
}

int main(int argc, char **argv)
{
	int got = start(NULL, argc);

	return argv[0][0] + got;
}
