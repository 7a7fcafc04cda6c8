// As many threads as the argument says, which wait, and the death of the first.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t all;

static void *waits(void *arg)
{
	pthread_barrier_wait(&all);
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10;
	pthread_attr_t small;
	pthread_barrier_init(&all, NULL, n + 1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 16);
	for (int i = 0; i < n; i++) {
		pthread_t t;
		if (pthread_create(&t, &small, waits, NULL) != 0)
			return 1;
	}
	pthread_barrier_wait(&all);
	abort();
}
