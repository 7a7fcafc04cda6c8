// A program under load, for attaching to again and again: threads that compute, that
// begin and end and that wait; a timer's signals, and signals to one thread; children
// that are forked and waited for. At SIGTERM it says how often each happened, and
// exits; it fails when something got lost.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_long alarms, got, sent, threads, forks;
static volatile sig_atomic_t done;

static void on_alarm(int n) { (void)n; alarms++; }
static void on_usr(int n) { (void)n; got++; }
static void on_term(int n) { (void)n; done = 1; }

static void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static void handle(int signo, void (*f)(int))
{
	struct sigaction a;

	memset(&a, 0, sizeof a);
	a.sa_handler = f;
	a.sa_flags = SA_RESTART;
	if (sigaction(signo, &a, 0) != 0)
		fail("sigaction");
}

static void *compute(void *arg)
{
	volatile unsigned long x = (unsigned long)arg;

	while (!done)
		for (int i = 0; i < 10000; i++)
			x = x * 6364136223846793005u + 1;
	return 0;
}

static void *brief(void *arg) { return arg; }

static void *spawn(void *arg)
{
	(void)arg;
	while (!done) {
		pthread_t t;
		void *back = 0;

		if (pthread_create(&t, 0, brief, &threads) != 0)
			fail("pthread_create");
		if (pthread_join(t, &back) != 0 || back != &threads)
			fail("pthread_join");
		threads++;
		usleep(200);
	}
	return 0;
}

static void *parent(void *arg)
{
	(void)arg;
	while (!done) {
		int status;
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid == 0)
			_exit(42);
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 42)
			fail("a child did not end by itself");
		forks++;
		usleep(500);
	}
	return 0;
}

int main(void)
{
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	pthread_t t[4];

	handle(SIGALRM, on_alarm);
	handle(SIGUSR1, on_usr);
	handle(SIGTERM, on_term);
	pthread_create(&t[0], 0, compute, (void *)1);
	pthread_create(&t[1], 0, compute, (void *)2);
	pthread_create(&t[2], 0, spawn, 0);
	pthread_create(&t[3], 0, parent, 0);
	setitimer(ITIMER_REAL, &every, 0);
	puts("ready");
	fflush(stdout);
	while (!done) {
		// One at a time: those that are not real-time do not queue.
		pthread_kill(t[0], SIGUSR1);
		sent++;
		while (got < sent && !done)
			usleep(100);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	printf("alarms %d signals %d threads %d forks %d\n", alarms > 0, got >= sent - 1 && got > 0, threads > 0, forks > 0);
	return 0;
}
