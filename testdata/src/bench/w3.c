// 200 threads that wait in several places of libc, and one that crashes.
// Stacks: main crashes in finish; of the workers 80 wait for a condition, 40 each read
// a pipe, sleep, or wait for a semaphore.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { workers = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static atomic_int entered;
static sem_t free_slots;
static int requests[2];

struct worker {
	int id;
	const char *name;
	long handled;
};

static struct worker all[workers];

__attribute__((noinline)) static void wait_for_work(struct worker *w)
{
	pthread_mutex_lock(&lock);
	while (w->handled == 0)
		pthread_cond_wait(&work, &lock);
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static long read_request(struct worker *w)
{
	char buf[64];

	return read(requests[0], buf, sizeof buf) + w->id;
}

__attribute__((noinline)) static int nap(struct worker *w, int seconds)
{
	struct timespec t = { seconds, 0 };

	return nanosleep(&t, NULL) + w->id;
}

__attribute__((noinline)) static int take_slot(struct worker *w, sem_t *slots)
{
	return sem_wait(slots) + w->id;
}

__attribute__((noinline)) static long serve(struct worker *w, int kind)
{
	long n = w->id;

	entered++;
	switch (kind) {
	case 0:
	case 1:
		wait_for_work(w);
		break;
	case 2:
		n += read_request(w);
		break;
	case 3:
		n += nap(w, 1000 + w->id);
		break;
	default:
		n += take_slot(w, &free_slots);
	}
	return n;
}

static void *worker(void *arg)
{
	struct worker *w = arg;

	w->handled = serve(w, w->id % 5) & 1;
	return NULL;
}

__attribute__((noinline)) static void finish(volatile int *result)
{
	*result = entered;
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t t;

	if (pipe(requests) != 0 || sem_init(&free_slots, 0, 0) != 0)
		return 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < workers; i++) {
		all[i] = (struct worker){ i, i % 2 ? "odd" : "even", 0 };
		if (pthread_create(&t, &attr, worker, &all[i]) != 0)
			return 2;
	}
	while (entered < workers)
		usleep(1000);
	sleep(1); // the last ones are between counting themselves and waiting
	finish(NULL);
	return 0;
}
