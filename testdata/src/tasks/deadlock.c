// deadlock KIND: threads that wait for each other, or almost; then SIGABRT after a moment.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "settle.h"

#ifndef __GLIBC__
#define PTHREAD_MUTEX_ADAPTIVE_NP PTHREAD_MUTEX_NORMAL
#endif
#define MAX 5
static pthread_mutex_t door[MAX];
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all_here;
static pthread_barrier_t too_many;
static sem_t empty;
static int threads;
static pthread_t who[MAX + 1];

static void *circle(void *arg) {
	long i = (long)arg;
	pthread_mutex_lock(&door[i]);
	pthread_barrier_wait(&all_here);
	pthread_mutex_lock(&door[(i + 1) % threads]);
	return 0;
}

static void *circle_of(void *arg) {
	pthread_mutex_t **pair = arg;
	pthread_mutex_lock(pair[0]);
	pthread_barrier_wait(&all_here);
	pthread_mutex_lock(pair[1]);
	return arg;
}

static void make(int type, int protocol, int robust) {
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	pthread_mutexattr_setprotocol(&a, protocol);
	if (robust) pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < MAX; i++) pthread_mutex_init(&door[i], &a);
}

static void *relock(void *arg) {
	pthread_mutex_lock(&door[0]);
	pthread_mutex_lock(&door[0]);
	return arg;
}
static void *join_main(void *arg) { pthread_join(*(pthread_t *)arg, 0); return 0; }
static void *wait_cond(void *arg) {
	pthread_mutex_lock(&door[1]);
	pthread_cond_wait(&never, &door[1]);
	return arg;
}
static void *write_lock(void *arg) { pthread_rwlock_wrlock(&rw); return arg; }
static void *read_lock(void *arg) { pthread_rwlock_rdlock(&rw); return arg; }
static void *wait_sem(void *arg) { sem_wait(&empty); return arg; }
static void *wait_barrier(void *arg) { pthread_barrier_wait(&too_many); return arg; }
static void *hold_and_end(void *arg) { pthread_mutex_lock(&door[2]); return arg; }
static void *hold(void *arg) { pthread_mutex_lock(arg); pause(); return arg; }
static void *lock_it(void *arg) { pthread_mutex_lock(arg); return arg; }
static void *timed(void *arg) {
	struct timespec t = {2000000000L, 0};
	pthread_mutex_timedlock(arg, &t);
	return arg;
}
static void *hold_write_then_lock(void *arg) {
	pthread_rwlock_wrlock(&rw);
	usleep(50000);
	pthread_mutex_lock(arg);
	return arg;
}
static void *lock_then_read(void *arg) {
	pthread_mutex_lock(arg);
	usleep(100000);
	pthread_rwlock_rdlock(&rw);
	return arg;
}
static void *read_then_lock(void *arg) {
	pthread_rwlock_rdlock(&rw);
	usleep(50000);
	pthread_mutex_lock(arg);
	return arg;
}
static void *lock_then_write(void *arg) {
	pthread_mutex_lock(arg);
	usleep(100000);
	pthread_rwlock_wrlock(&rw);
	return arg;
}

static void die(int sig) { (void)sig; abort(); }

int main(int argc, char **argv) {
	const char *kind = argc > 1 ? argv[1] : "normal";
	threads = argc > 2 ? atoi(argv[2]) : 2;
	pthread_barrier_init(&all_here, 0, threads);
	pthread_barrier_init(&too_many, 0, 3);
	sem_init(&empty, 0, 0);
	pthread_t t;
	pthread_t self = pthread_self();
	make(!strcmp(kind, "recursive") ? PTHREAD_MUTEX_RECURSIVE : !strcmp(kind, "errorcheck") ? PTHREAD_MUTEX_ERRORCHECK
	     : !strcmp(kind, "adaptive") ? PTHREAD_MUTEX_ADAPTIVE_NP : PTHREAD_MUTEX_NORMAL,
	     !strncmp(kind, "pi", 2) ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE, !strcmp(kind, "robust"));
	if (!strcmp(kind, "self")) {
		pthread_create(&t, 0, relock, 0);
	} else if (!strcmp(kind, "join")) {
		pthread_create(&t, 0, join_main, &self);
		usleep(200000);
		signal(SIGALRM, die);
		alarm(1);
		pthread_join(t, 0);
	} else if (!strcmp(kind, "rwlock")) {
		pthread_create(&t, 0, hold_write_then_lock, &door[0]);
		pthread_create(&t, 0, lock_then_read, &door[0]);
	} else if (!strcmp(kind, "readers")) {
		pthread_create(&t, 0, read_then_lock, &door[0]);
		pthread_create(&t, 0, lock_then_write, &door[0]);
	} else if (!strcmp(kind, "forked")) { // the child has a lock that a thread of its parent holds
		pthread_create(&t, 0, hold, &door[0]);
		usleep(50000);
		if (fork()) {
			wait(0);
			return 1; // as the child, which died
		}
		signal(SIGALRM, die);
		alarm(1);
		pthread_mutex_lock(&door[0]);
	} else if (!strcmp(kind, "none")) { // nobody waits for ever, as far as memory tells
		pthread_mutex_lock(&door[0]);
		pthread_create(&t, 0, wait_cond, 0);
		pthread_create(&t, 0, wait_sem, 0);
		pthread_create(&t, 0, wait_barrier, 0);
		pthread_create(&t, 0, wait_barrier, 0);
		pthread_create(&t, 0, timed, &door[0]);
		pthread_create(&t, 0, lock_it, &door[0]);
		pthread_rwlock_rdlock(&rw);
		pthread_create(&t, 0, write_lock, 0);
		usleep(50000);
		pthread_create(&t, 0, read_lock, 0);
	} else if (!strcmp(kind, "abandoned")) {
		pthread_create(&t, 0, hold_and_end, 0);
		pthread_join(t, 0);
		pthread_create(&t, 0, lock_it, &door[2]);
	} else if (!strcmp(kind, "mapped")) { // another process may have it
		pthread_mutex_t *m = mmap(0, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		pthread_mutexattr_t a;
		pthread_mutexattr_init(&a);
		pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
		pthread_mutex_init(m, &a);
		pthread_mutex_lock(m);
		pthread_create(&t, 0, lock_it, m);
	} else if (!strcmp(kind, "pi-abandoned")) {
		pthread_create(&t, 0, hold_and_end, 0);
		pthread_join(t, 0);
		pthread_create(&t, 0, lock_it, &door[2]);
	} else if (!strcmp(kind, "pi-pointers")) {
		static pthread_mutex_t *pairs[MAX][2];
		for (int i = 0; i < threads; i++) {
			pairs[i][0] = &door[i];
			pairs[i][1] = &door[(i + 1) % threads];
			pthread_create(&t, 0, circle_of, pairs[i]);
		}
	} else {
		for (long i = 0; i < threads; i++) pthread_create(&who[i], 0, circle, (void *)i);
		settle();
		pthread_create(&t, 0, lock_it, &door[0]);
	}
	usleep(300000); // some sleep before they wait
	settle();
	if (argc > 3) pause(); // until the test ends it
	abort();
}
