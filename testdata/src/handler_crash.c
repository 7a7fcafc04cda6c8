// A signal handler that crashes, on the stack of what it interrupted.
//
// SIGSEGV is blocked while its handler runs, so the second null write kills.
// Expected stack: report, on_segv, <signal>, crash, outer, main
#include <signal.h>
#include <stddef.h>

static volatile int last_signal;

static void report(volatile int *log, int signal)
{
	*log = signal;
}

static void on_segv(int signal)
{
	last_signal = signal;
	report(NULL, signal);
}

static void crash(volatile int *p)
{
	*p = 1;
}

static void outer(volatile int *p)
{
	crash(p);
}

int main(void)
{
	signal(SIGSEGV, on_segv);
	outer(NULL);
	return 0;
}
