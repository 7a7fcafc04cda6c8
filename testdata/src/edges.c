// Crashes at a function's edges; the functions are in edges.S.
//
//   prologue  stumble, caller, main: after push %rbp, before mov %rsp, %rbp
//   epilogue  leave_late, caller, main: after pop %rbp, before ret
//   first     <libc>..., abort, on_ill, <signal>, trap_at_entry, caller, main:
//             the signal arrives at the function's first instruction
//   stack     lose_stack: ret with a stack pointer that points nowhere
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int stumble(int *p);
int leave_late(int *p);
int trap_at_entry(int *p);
int lose_stack(int *p);

static void on_ill(int signal)
{
	if (signal == SIGILL)
		abort();
}

static __attribute__((noipa)) int caller(int (*f)(int *), int *p)
{
	return f(p) + 1;
}

int main(int argc, char **argv)
{
	const char *edge = argc > 1 ? argv[1] : "";

	signal(SIGILL, on_ill);
	if (strcmp(edge, "prologue") == 0)
		return caller(stumble, NULL);
	if (strcmp(edge, "epilogue") == 0)
		return caller(leave_late, NULL);
	if (strcmp(edge, "first") == 0)
		return caller(trap_at_entry, NULL);
	return caller(lose_stack, NULL);
}
