// Fifty-one threads, parked in several places, and one that crashes.
//
// main starts 50 workers with small stacks, waits until each has entered its
// place, and writes through a null pointer. Expected stacks, from the inside:
//   main thread            crash, finish, main
//   20 workers (i%5 < 2)   <libc's futex wait>, pthread_cond_wait, wait_for_work, worker
//   10 workers (i%5 == 2)  <libc's read>, read_request, worker
//   10 workers (i%5 == 3)  <libc's nanosleep>, nap, worker
//   10 workers (i%5 == 4)  spin, worker
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { workers = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static atomic_int entered;
static atomic_int quit;
static int requests[2];

static void wait_for_work(int *jobs)
{
	pthread_mutex_lock(&lock);
	entered++;
	while (*jobs == 0)
		pthread_cond_wait(&work, &lock);
	pthread_mutex_unlock(&lock);
}

static long read_request(void)
{
	char buf[16];

	entered++;
	return read(requests[0], buf, sizeof buf);
}

static int nap(int seconds)
{
	struct timespec t = { seconds, 0 };

	entered++;
	return nanosleep(&t, NULL);
}

static void spin(void)
{
	entered++;
	while (!quit)
		;
}

static void *worker(void *arg)
{
	int i = (int)(long)arg, jobs = 0;

	switch (i % 5) {
	case 0:
	case 1:
		wait_for_work(&jobs);
		break;
	case 2:
		read_request();
		break;
	case 3:
		nap(1000);
		break;
	default:
		spin();
	}
	return NULL;
}

static void crash(volatile int *p)
{
	*p = workers;
}

static void finish(void)
{
	while (entered < workers)
		usleep(1000);
	usleep(200000); // the last ones are between counting themselves and blocking
	crash(NULL);
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t t;

	if (pipe(requests) != 0)
		return 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 32768);
	for (long i = 0; i < workers; i++)
		if (pthread_create(&t, &attr, worker, (void *)i) != 0)
			return 2;
	finish();
	return 0;
}
