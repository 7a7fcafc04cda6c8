// A call to a function that does not return, as the caller's last instruction.
//
// Built with -O2 -falign-functions=1: the return address that fail_hard leaves
// is innocent's first byte, so a walker that looks up the return address itself
// names the wrong function. Expected stack: die, fail_hard, check, main
#include <stddef.h>
#include <stdlib.h>

#define noipa __attribute__((noipa))

noipa static __attribute__((noreturn)) void die(volatile int *p)
{
	*p = 1;
	for (;;)
		;
}

noipa static void fail_hard(int why)
{
	die(why ? (volatile int *)NULL : &why);
}

noipa static int innocent(int v)
{
	return v * 3;
}

noipa static int check(int v)
{
	if (v > 0)
		fail_hard(v);
	return innocent(v);
}

int main(int argc, char **argv)
{
	return check(argc) + argv[0][0];
}
