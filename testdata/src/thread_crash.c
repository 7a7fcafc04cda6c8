// A thread that is not the first one crashes.
//
// Expected stacks:
//   crashing thread "picker"  crash, pick, picker_main, <libc>...
//   main                      <libc>..., <pthread_join>, collect, main
//   the other                 <libc's nanosleep>..., idle, idler_main, <libc>...
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static void crash(volatile int *p, int v)
{
	*p = v;
}

static void pick(volatile int *p)
{
	usleep(100000); // lets the other threads park
	crash(p, 3);
}

static void *picker_main(void *arg)
{
	pthread_setname_np(pthread_self(), "picker");
	pick(arg);
	return NULL;
}

static void idle(void)
{
	struct timespec t = { 1000, 0 };

	nanosleep(&t, NULL);
}

static void *idler_main(void *arg)
{
	pthread_setname_np(pthread_self(), "idler");
	idle();
	return arg;
}

static void collect(pthread_t t)
{
	pthread_join(t, NULL);
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t idler, picker;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 32768);
	pthread_create(&idler, &attr, idler_main, NULL);
	pthread_create(&picker, &attr, picker_main, NULL);
	collect(picker);
	return 0;
}
