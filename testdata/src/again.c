/* again FIRST HOW: SIGABRT comes from abort, from another process or from the program itself (FIRST: own, other, self), and its handler, which is told who sent it, ends the program by
 * kill, raise or abort (HOW), fails by itself (assert), or waits for another one (wait). FIRST may be term, too: SIGTERM from another process. */
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
	else if (!strcmp(how, "wait"))
		pause();
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
	int signo = strcmp(argv[1], "term") ? SIGABRT : SIGTERM;
	sigaction(signo, &act, NULL);
	if (!strcmp(argv[1], "own"))
		give_up();
	if (!strcmp(argv[1], "self"))
		kill(getpid(), SIGABRT);
	pid_t parent = getpid();
	if (fork() == 0) {
		usleep(200000);
		kill(parent, signo);
		if (!strcmp(how, "wait")) {
			usleep(200000);
			kill(parent, signo);
		}
		_exit(0);
	}
	idle();
}
