// Signal handlers that raise their signal again, as Python's faulthandler does: of a fault, and of SIGABRT that another process sent.
//
// Expected stack: raise, <signal>, store, fill, main; or raise, <signal>, pause, idle, main
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void again(int signo)
{
	signal(signo, SIG_DFL);
	raise(signo); // a tail call: the handler has no frame
}

__attribute__((noinline)) static void store(volatile int *p)
{
	*p = 1;
}

__attribute__((noinline)) static void fill(volatile int *p)
{
	store(p);
	*p = 2;
}

__attribute__((noinline)) static void idle(void)
{
	for (;;)
		pause();
}

int main(void)
{
	struct sigaction act = {.sa_handler = again, .sa_flags = SA_NODEFER};
#ifdef SENT
	sigaction(SIGABRT, &act, NULL);
	if (fork() == 0) {
		usleep(200000);
		kill(getppid(), SIGABRT);
		_exit(0);
	}
	idle();
#else
	sigaction(SIGSEGV, &act, NULL);
	fill(NULL);
#endif
	return 0;
}
