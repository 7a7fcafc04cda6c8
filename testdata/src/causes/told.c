// Two reasons to end the program that one function has, told to another one that compilers inline: gcc makes one call of both, and keeps the arguments
// of one of them in the debugging information. The argument is the number that is refused.
#include <stdio.h>
#include <stdlib.h>

static void stop(const char *why, int code)
{
	fprintf(stderr, "relay: %s %d\n", why, code);
	abort();
}

__attribute__((noinline)) int frame(const char *s, long n)
{
	if (n < 4)
		stop("short frame", 4);
	if (n > 64)
		stop("long frame", 64);
	return s[3];
}

int main(int argc, char **argv)
{
	return frame(argv[0], atol(argv[1]));
}
