// Two threads wait for a condition; a third crashes. With a C library.
//   leaf < work < the library's start of a thread
//   2 x: the library's wait < parked < the library's start of a thread
//   the library's pthread_join < main < the library's start
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t ready;

__attribute__((noipa)) static int leaf(int *at, int value) {
	*at = value;
	return value;
}

static void *parked(void *arg) {
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&ready);
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&never, &lock);
	return arg;
}

static void *work(void *arg) {
	pthread_barrier_wait(&ready);
	for (volatile int i = 0; i < 3000000; i++)
		;
	int got = leaf(arg, 42);
	return (char *)arg + got;
}

int main(void) {
	pthread_attr_t small;
	pthread_t threads[3];
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&ready, 0, 3);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], &small, i < 2 ? parked : work, 0);
	pthread_join(threads[2], 0);
	return 0;
}
