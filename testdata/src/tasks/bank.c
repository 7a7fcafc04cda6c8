// bank FIRST TARGET SIGNAL MILLISECONDS: one deadlock of two threads in two functions. FIRST is the function that starts
// first; the signal (0 SIGABRT, 1 SIGQUIT) is for main, the first or the second thread.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t north = PTHREAD_MUTEX_INITIALIZER, south = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *deposit(void *arg) {
	pthread_mutex_lock(&north);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&south);
	return arg;
}

static void *withdraw(void *arg) {
	pthread_mutex_lock(&south);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&north);
	return arg;
}

static void *audit(void *arg) {
	pthread_mutex_lock(&north);
	return arg;
}

int main(int argc, char **argv) {
	int n[4];
	for (int i = 0; i < 4; i++) n[i] = argc > i + 1 ? atoi(argv[i + 1]) : 0;
	pthread_t t[3];
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&t[0], 0, n[0] ? deposit : withdraw, 0);
	pthread_create(&t[1], 0, n[0] ? withdraw : deposit, 0);
	usleep(n[3] * 1000);
	if (n[3] % 2) pthread_create(&t[2], 0, audit, 0);
	usleep(20000);
	int sig = n[2] ? SIGQUIT : SIGABRT;
	if (n[1]) pthread_kill(t[n[1] - 1], sig);
	else if (n[2]) kill(getpid(), sig);
	else abort();
	pause();
}
