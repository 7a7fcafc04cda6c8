/* again FIRST HOW: SIGABRT comes from abort or from another process (FIRST: own, other), and its handler, which is told who sent it, ends the program by
 * kill, raise or abort (HOW), or fails by itself (assert). */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *how;

static void closing(int signo, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	if (!strcmp(how, "kill"))
		kill(getpid(), signo);
	else if (!strcmp(how, "raise"))
		raise(signo);
	else if (!strcmp(how, "assert"))
		assert(how == NULL);
	else
		abort();
}

__attribute__((noinline)) static void idle(void)
{
	for (;;)
		pause();
}

__attribute__((noinline)) static void give_up(void)
{
	abort();
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_sigaction = closing, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESETHAND};
	how = argv[argc - 1];
	sigaction(SIGABRT, &act, NULL);
	if (!strcmp(argv[1], "own"))
		give_up();
	pid_t parent = getpid();
	if (fork() == 0) {
		usleep(200000);
		kill(parent, SIGABRT);
		_exit(0);
	}
	idle();
}
