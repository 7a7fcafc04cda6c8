// The main thread waits for the end of a thread that waits for something, until it is told to abort.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int flushed, ends[2];

__attribute__((noinline)) void wait_for_flush(void) {
	pthread_mutex_lock(&lock);
	while (!flushed)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) int read_reply(void) {
	char c;
	int n = 0;
	while (read(ends[0], &c, 1) == 1)
		n++;
	return n;
}

static void *work(void *how) {
	if (!strcmp(how, "flush"))
		wait_for_flush();
	else
		read_reply();
	return how;
}

int main(int argc, char **argv) {
	pthread_t t;
	pid_t self = getpid();
	if (pipe(ends))
		return 1;
	if (fork() == 0) { // another process tells it
		usleep(300000);
		kill(self, SIGABRT);
		_exit(0);
	}
	pthread_create(&t, 0, work, argv[argc - 1]);
	pthread_join(t, 0);
	return 0;
}
