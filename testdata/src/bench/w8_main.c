// 33 threads that wait below functions of many stripped libraries, and one that crashes there.
// MODULES libraries are loaded from the program's directory; with each thread the order differs.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { workers = 33, depth = 12 };

typedef struct step {
	long (*enter)(const struct step *, long);
	const struct step *next;
} step;

static long (*enter[MODULES])(const step *, long);
static step steps[workers + 1][depth + 1];
static atomic_int waiting;

static long rest(const step *s, long x)
{
	waiting++;
	for (;;)
		pause();
	return x + (s == NULL);
}

static long crash(const step *s, long x)
{
	return *(volatile long *)s + x;
}

static void *work(void *arg)
{
	long id = (long)arg;

	for (int i = 0; i < depth; i++) {
		steps[id][i].enter = enter[(id * 5 + i * 7) % MODULES];
		steps[id][i].next = &steps[id][i + 1];
	}
	steps[id][depth].enter = id == workers ? crash : rest;
	return (void *)(steps[id][0].enter(steps[id][0].next, id) + 1);
}

int main(int argc, char **argv)
{
	pthread_t t;

	for (int i = 0; i < MODULES; i++) {
		char name[4096];
		void *lib;

		snprintf(name, sizeof name, "%s/libw8_%d.so", argc > 1 ? argv[1] : ".", i);
		lib = dlopen(name, RTLD_NOW);
		snprintf(name, sizeof name, "enter%d", i);
		if (!lib || !(enter[i] = (long (*)(const step *, long))dlsym(lib, name)))
			return 2;
	}
	for (long id = 0; id < workers; id++)
		if (pthread_create(&t, NULL, work, (void *)id) != 0)
			return 3;
	while (waiting < workers)
		usleep(1000);
	usleep(200000);
	return work((void *)(long)workers) != NULL;
}
