// pageless HOW: an access to a page that its mapped file does not have; a handler raises the SIGBUS again, and returns. Or nothing is wrong with the access.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *page;
static const char *how;
static int file;

__attribute__((noipa)) static int load(int n) { return page[n] + 1; }
__attribute__((noipa)) static void store(int n) { page[n] = n; }
// spin is at such an access when the signal comes that another process sends; it failed at the first one, before.
__attribute__((noipa)) static void spin(void) {
	for (;;) __asm__ volatile(".rept 1000\n\ttestb $0, (%0)\n\t.endr" : : "r"(page) : "memory", "cc");
}

static void again(int number) {
	static int before;
	if (!strcmp(how, "mended") || !strcmp(how, "child") && !before++) {
		ftruncate(file, 4096); // and the access succeeds
		return;
	}
	signal(number, SIG_DFL);
	if (!strcmp(how, "kill")) kill(getpid(), number);
	else raise(number);
}
static void asked(int number, siginfo_t *info, void *context) { again(number); }

int main(int argc, char **argv) {
	struct sigaction act;
	how = argv[1];
	memset(&act, 0, sizeof act);
	act.sa_handler = again;
	if (!strcmp(how, "asked") || !strcmp(how, "child")) {
		act.sa_flags = SA_SIGINFO;
		act.sa_sigaction = asked;
	}
	sigaction(SIGBUS, &act, 0);
	file = memfd_create("pages", 0);
	ftruncate(file, 4096);
	page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (!strcmp(how, "sent")) {
		raise(SIGBUS);
		return 1;
	}
	ftruncate(file, 0);
	if (!strcmp(how, "child")) {
		if (!fork()) {
			usleep(300000);
			kill(getppid(), SIGBUS);
			_exit(0);
		}
		spin();
	}
	if (!strcmp(how, "store")) store(7);
	load(5);
	signal(SIGBUS, SIG_DFL); // mended
	raise(SIGBUS);
}
