// borrowed HOW HANDLER: a handler that is a function of the C library, or has no line: it fails itself, or ends the program. What the signal interrupted
// failed only where HOW is fault.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int *nowhere;

__attribute__((noipa)) static int work(const char *how) {
	if (!strcmp(how, "fault")) return *nowhere;
	if (!strcmp(how, "raise")) return raise(SIGUSR1);
	alarm(1);
	for (;;) pause();
}

#line 1 ""
__attribute__((noipa)) static void lineless(int number) { abort(); }
#line 21 "borrowed.c"

int main(int argc, char **argv) {
	void (*handler)(int) = !strcmp(argv[2], "puts") ? (void (*)(int))puts : !strcmp(argv[2], "abort") ? (void (*)(int))abort : lineless;
	signal(SIGALRM, handler);
	signal(SIGUSR1, handler);
	if (handler != (void (*)(int))puts) signal(SIGSEGV, handler);
	return work(argv[1]);
}
