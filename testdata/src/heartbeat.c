// A program of 100 threads, 98 of which wait below a few calls. One measures how long
// it was kept from running: at each line that main reads, it prints the longest time
// between two of its beats since the last, in microseconds.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static sem_t never;
static atomic_long longest;

static int wait_below(int depth)
{
	volatile int here = depth;

	if (depth == 0)
		return sem_wait(&never);
	return wait_below(depth - 1) + here;
}

static void *waiter(void *arg)
{
	wait_below((int)(long)arg % 20 + 5);
	return 0;
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
}

static void *beat(void *arg)
{
	struct timespec pause = { 0, 50000 };
	long last = now();

	(void)arg;
	for (;;) {
		long t;

		nanosleep(&pause, 0);
		t = now();
		if (t - last > longest)
			longest = t - last;
		last = t;
	}
	return 0;
}

int main(void)
{
	pthread_t t;
	char line[16];

	sem_init(&never, 0, 0);
	for (long i = 0; i < 98; i++)
		pthread_create(&t, 0, waiter, (void *)i);
	pthread_create(&t, 0, beat, 0);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		printf("%ld\n", longest / 1000);
		fflush(stdout);
		longest = 0;
	}
	return 0;
}
