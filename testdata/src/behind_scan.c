// A function without unwind tables, whose frame has a size that the code does not tell: its caller is found by
// scanning. It keeps rbp for itself, and what it saves beside its return address is not its caller's frame pointer, but looks
// like one: rbx, in which outer has put the frame of main.
#include <stdlib.h>

void hidden(void);
__asm__(".text\n"
	".type hidden,@function\n"
	"hidden:\n"
	"	pushq %rbx\n"
	"	pushq %rbp\n"
	"	subq size(%rip),%rsp\n"
	"	xorl %ebp,%ebp\n"
	"	call deep\n"
	"	addq size(%rip),%rsp\n"
	"	popq %rbp\n"
	"	popq %rbx\n"
	"	ret\n"
	".data\n"
	"size:	.quad 0x100\n"
	".text\n");

void deep(void) { abort(); }

__attribute__((noinline)) int caller(int n, const char *s)
{
	volatile int next = n + 1;
	hidden();
	return next + s[0];
}

__attribute__((noinline)) int outer(int n)
{
	volatile int twice = n * 2;
	register long frame __asm__("rbx") = *(long *)__builtin_frame_address(0);
	__asm__ volatile("" ::"r"(frame));
	return caller(n + 5, "hi") + twice;
}

int main(int argc, char **argv) { return outer(argc + 10); }
