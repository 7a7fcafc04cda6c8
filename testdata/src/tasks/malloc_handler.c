// A handler of a timer's signal allocates memory. Sooner or later the timer interrupts malloc where it has the lock of its
// arena, and the thread waits for itself. A second thread sees that nothing goes on, and ends the program.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static volatile unsigned long rounds;
static void *volatile kept;
static pthread_t first;

static void allocate(int sig)
{
	kept = malloc(3000);
	free(kept);
}

static void *watch(void *x)
{
	for (unsigned long seen = ~0ul; seen != rounds; usleep(300000))
		seen = rounds;
	pthread_kill(first, SIGABRT);
	for (;;)
		pause();
}

int main(void)
{
	sigset_t alarms;
	struct itimerval often = {{0, 50}, {0, 50}};
	pthread_t t;
	first = pthread_self();
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, 0);
	pthread_create(&t, 0, watch, 0);
	pthread_sigmask(SIG_UNBLOCK, &alarms, 0);
	signal(SIGALRM, allocate);
	setitimer(ITIMER_REAL, &often, 0);
	for (;; rounds++) {
		void *p[100];
		for (int i = 0; i < 100; i++)
			p[i] = malloc(1100 + i * 32);
		for (int i = 0; i < 100; i++)
			free(p[i]);
	}
}
