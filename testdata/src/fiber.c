// A crash on the stack of a fiber made with makecontext.
//
// The fiber's stack is static data. It was entered by swapcontext, so the walk
// ends in libc's __start_context and does not reach main. Expected stack:
//   crash, body, fiber_main, <libc's __start_context>
#include <stddef.h>
#include <ucontext.h>

static ucontext_t back, fiber;
static char stack[16384] __attribute__((aligned(16)));

static void crash(volatile int *p)
{
	*p = 1;
}

static void body(int turns)
{
	for (int i = 0; i < turns; i++)
		swapcontext(&fiber, &back);
	crash(NULL);
}

static void fiber_main(int turns)
{
	body(turns);
}

static void resume(void)
{
	swapcontext(&back, &fiber);
}

int main(void)
{
	getcontext(&fiber);
	fiber.uc_stack.ss_sp = stack;
	fiber.uc_stack.ss_size = sizeof stack;
	fiber.uc_link = &back;
	makecontext(&fiber, (void (*)(void))fiber_main, 1, 2);
	for (;;)
		resume();
}
