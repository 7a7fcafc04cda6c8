// Two threads wait for each other, one for input, one sleeps. Each is sent a signal whose handler returns; then, as the first argument says, the
// program aborts, or a thread is sent one whose handler raises it again: it is handled by nobody, at once when the handler has returned.
//   resumed abort|lock|poll|sleep|join [restart]
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "settle.h"

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;
static int ends[2];

static void returns(int signal) { (void)signal; }

static void again(int number) {
	signal(number, SIG_DFL);
	raise(number);
}

static void *forward(void *arg) {
	pthread_mutex_lock(&one);
	pthread_barrier_wait(&ready);
	pthread_mutex_lock(&two);
	return arg;
}

static void *backward(void *arg) {
	pthread_mutex_lock(&two);
	pthread_barrier_wait(&ready);
	pthread_mutex_lock(&one);
	return arg;
}

static void *reader(void *arg) {
	struct pollfd p = {ends[0], POLLIN, 0};
	pthread_barrier_wait(&ready);
	for (;;)
		poll(&p, 1, 1000000);
	return arg;
}

static void *sleeper(void *arg) {
	struct timespec left = {1000, 0};
	pthread_barrier_wait(&ready);
	while (nanosleep(&left, &left))
		;
	return arg;
}

int main(int argc, char **argv) {
	static const char *const names[] = {"lock", "backward", "poll", "sleep"};
	void *(*const work[])(void *) = {forward, backward, reader, sleeper};
	pthread_t threads[4];
	struct sigaction how;
	memset(&how, 0, sizeof how);
	how.sa_flags = argc > 2 ? SA_RESTART : 0;
	how.sa_handler = returns;
	sigaction(SIGUSR1, &how, 0);
	how.sa_handler = again;
	sigaction(SIGQUIT, &how, 0);
	if (pipe(ends))
		return 1;
	pthread_barrier_init(&ready, 0, 5);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, work[i], 0);
	pthread_barrier_wait(&ready);
	settle();
	for (int i = 0; i < 4; i++)
		pthread_kill(threads[i], SIGUSR1);
	settle();
	for (int i = 0; i < 4; i++)
		if (!strcmp(argv[1], names[i])) {
			pthread_kill(threads[i], SIGQUIT);
			pthread_join(threads[i], 0);
		}
	abort();
}
