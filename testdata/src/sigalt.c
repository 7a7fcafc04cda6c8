// A null write whose handler runs on an alternate stack and aborts.
//
// Expected stack:
//   <libc's raise>..., abort, give_up, on_segv, <signal>, crash, outer, main
// The alternate stack is static data, far below the interrupted stack, so the
// stack pointer jumps upwards by terabytes when the walk passes the signal.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>

static char alternate[16384] __attribute__((aligned(16)));

static void give_up(int signal)
{
	if (signal == SIGSEGV)
		abort();
}

static void on_segv(int signal, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	give_up(signal);
}

static void crash(volatile int *p)
{
	*p = 1;
}

static void outer(int *p)
{
	crash(p);
}

int main(void)
{
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };
	struct sigaction action = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	outer(NULL);
	return 0;
}
