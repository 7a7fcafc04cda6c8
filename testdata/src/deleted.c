// A program that has removed its own file when it crashes: the core's file
// list names it with " (deleted)". Expected stack: crash, main
#include <unistd.h>

static void crash(volatile int *p)
{
	*p = 1;
}

int main(int argc, char **argv)
{
	(void)argc;
	if (unlink(argv[0]) != 0)
		return 1;
	crash(0);
	return 0;
}
