// locks KIND: threads that wait for locks which lie where they are easily taken for others; then SIGABRT after a moment.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "settle.h"

// A lock after a pointer, of which half would be thousands of readers.
struct map {
	char *name;
	pthread_rwlock_t lock;
};
static struct map *maps[2];

static void *write_it(void *arg) {
	pthread_rwlock_wrlock(arg);
	return arg;
}
static void *read_it(void *arg) {
	pthread_rwlock_rdlock(arg);
	return arg;
}

// rwlocks: main reads two of them. In the second writers come before readers.
static void rwlocks(void) {
	pthread_t t;
	for (int i = 0; i < 2; i++) {
		pthread_rwlockattr_t a;
		pthread_rwlockattr_init(&a);
#ifdef __GLIBC__
		if (i) pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
		maps[i] = calloc(1, sizeof *maps[i]);
		maps[i]->name = malloc(16);
		pthread_rwlock_init(&maps[i]->lock, &a);
		pthread_rwlock_rdlock(&maps[i]->lock);
		pthread_create(&t, 0, write_it, &maps[i]->lock);
		usleep(50000);
		pthread_create(&t, 0, write_it, &maps[i]->lock);
		usleep(50000);
	}
	pthread_create(&t, 0, read_it, &maps[1]->lock);
}

// stdio: a thread has a FILE and wants a mutex; another has that, and wants to write to the FILE in some way.
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static FILE *out;
static void *lock_file(void *arg) {
	flockfile(out);
	usleep(100000);
	pthread_mutex_lock(&door);
	return arg;
}
static void *write_to_it(void *arg) {
	const char *how = arg;
	pthread_mutex_lock(&door);
	usleep(150000);
	if (!strcmp(how, "fprintf")) fprintf(out, "%p\n", arg);
	if (!strcmp(how, "fputs")) fputs("x\n", out);
	if (!strcmp(how, "fputc")) fputc('x', out);
	if (!strcmp(how, "fflush")) fflush(out);
	if (!strcmp(how, "all")) fflush(0);
	return arg;
}

// stopped: waits with time limits, in a process that was stopped meanwhile and went on.
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static struct timespec far = {2000000000L, 0};
static int word;
static void *timed_lock(void *arg) {
	pthread_mutex_timedlock(&door, &far);
	return arg;
}
static void *timed_condition(void *arg) {
	static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&mine);
	pthread_cond_timedwait(&never, &mine, &far);
	return arg;
}
static void *timed_poll(void *arg) {
	struct pollfd in = {0, 0, 0};
	poll(&in, 1, 3600000);
	return arg;
}
static void *timed_sleep(void *arg) {
	sleep(3600);
	return arg;
}
static void *timed_call(void *arg) {
	struct timespec hour = {3600, 0};
	syscall(SYS_futex, &word, FUTEX_WAIT, 0, &hour);
	return arg;
}
static void stopped(void) {
	static void *(*const waits[])(void *) = {timed_lock, timed_condition, timed_poll, timed_sleep, timed_call};
	pthread_mutex_lock(&door);
	for (unsigned i = 0; i < sizeof waits / sizeof *waits; i++) {
		pthread_t t;
		pthread_create(&t, 0, waits[i], 0);
	}
	usleep(300000);
	pid_t self = getpid();
	if (!fork()) {
		kill(self, SIGSTOP);
		usleep(200000);
		kill(self, SIGCONT);
		_exit(0);
	}
	wait(0);
}

int main(int argc, char **argv) {
	const char *kind = argc > 1 ? argv[1] : "";
	if (!strcmp(kind, "rwlocks"))
		rwlocks();
	else if (!strcmp(kind, "stdio")) {
		pthread_t t;
		out = fopen("/dev/null", "w");
		pthread_create(&t, 0, lock_file, 0);
		pthread_create(&t, 0, write_to_it, argv[2]);
	} else if (!strcmp(kind, "stopped"))
		stopped();
	else
		return 2;
	usleep(300000); // some sleep before they wait
	if (strcmp(kind, "stdio")) // where one has the list of all FILEs, nobody opens another
		settle();
	else
		usleep(400000);
	abort();
}
