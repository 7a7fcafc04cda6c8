// As behind_scan.c, but optimised: what is known of an argument is what the caller passed, and the caller is found by way of a
// frame pointer that was guessed. That it passed a constant proves nothing, then. With PLAIN the stack pointer leads to it, which was not.
#include <alloca.h>
#include <stdlib.h>

void hidden(void);
__asm__(".text\n"
	".type hidden,@function\n"
	"hidden:\n"
	"	pushq %rbp\n"
	"	subq size(%rip),%rsp\n"
	"	xorl %ebp,%ebp\n"
	"	call deep\n"
	"	addq size(%rip),%rsp\n"
	"	popq %rbp\n"
	"	ret\n"
	".data\n"
	"size:	.quad 0x100\n"
	".text\n");

void deep(void) { abort(); }

volatile int sink;
char *volatile kept;

__attribute__((noipa)) void caller(int n, unsigned room)
{
	int twice = n * 2;
#ifdef PLAIN
	char here[64];
#else
	char *here = alloca(room); // the frame pointer leads to the frame
#endif
	kept = here;
	hidden();
	sink = here[0] + kept[0];
}

// As caller, found by way of the stack pointer with PLAIN, again and again.
__attribute__((noipa)) int again(int depth)
{
	if (depth == 0)
		caller(21, sink + 64);
	else
		sink = again(depth - 1);
	return sink + depth;
}

// The frame pointer, which hidden keeps, is this one's.
__attribute__((noipa, optimize("no-omit-frame-pointer"))) int outer(int n)
{
	int mine = n * 3;
	return again(4) + mine;
}

__attribute__((optimize("no-omit-frame-pointer"))) int main(int argc, char **argv) { return outer(argc + 10); }
