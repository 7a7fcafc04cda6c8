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

// joins: main and a thread wait for the end of each other, until a third thread cancels the one, or aborts before.
static pthread_t of_main, one;
static void *join_main(void *arg) {
	pthread_join(of_main, 0);
	return arg;
}
static void *cancel_or_abort(void *arg) {
	usleep(300000);
	if (!strcmp(arg, "abort")) abort();
	pthread_cancel(one);
	return arg;
}

// held: main waits for a mutex of a thread that is busy or idle, until another process sends SIGQUIT.
static void *hold(void *arg) {
	pthread_mutex_lock(&door);
	if (!strcmp(arg, "idle")) pause();
	for (volatile int busy = 1; busy;) {
	}
	return arg;
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
	else if (!strcmp(kind, "joins")) {
		pthread_t t;
		of_main = pthread_self();
		pthread_create(&one, 0, join_main, 0);
		pthread_create(&t, 0, cancel_or_abort, argv[2]);
		return pthread_join(one, 0);
	} else if (!strcmp(kind, "held")) {
		pthread_t t;
		pid_t self = getpid();
		signal(SIGQUIT, SIG_DFL);
		if (!fork()) {
			usleep(500000);
			return kill(self, SIGQUIT);
		}
		pthread_create(&t, 0, hold, argv[2]);
		usleep(200000);
		return pthread_mutex_lock(&door);
	} else
		return 2;
	usleep(300000); // some sleep before they wait
	if (strcmp(kind, "stdio")) // where one has the list of all FILEs, nobody opens another
		settle();
	else
		usleep(400000);
	abort();
}
