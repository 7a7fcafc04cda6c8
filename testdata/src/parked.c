// A process that nothing ails: it waits, and gdb's gcore dumps it.
//
// Expected stacks: main: <libc>..., pause, wait_here, main;
// the other thread: <libc>..., <nanosleep>, idle, idler_main, <libc>...
#include <pthread.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static void idle(void)
{
	struct timespec t = { 1000, 0 };

	nanosleep(&t, NULL);
}

static void *idler_main(void *arg)
{
	idle();
	return arg;
}

static void wait_here(void)
{
	pause();
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t idler;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 32768);
	pthread_create(&idler, &attr, idler_main, NULL);
	wait_here();
	return 0;
}
