// Handlers without SA_SIGINFO, for which the kernel writes no siginfo_t: what lies in its place is older. The argument
// says how the program dies.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

int *volatile nowhere;
volatile int zero;
volatile int seen;

static void end(int number)
{
	seen = number;
	abort();
}

static void keep(int number) { seen = number; }

static void informed(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	seen = number;
}

static void broken(int number) { *nowhere = number; }

// litter leaves what looks like the siginfo_t of SIGFPE in the stack below.
__attribute__((noinline)) static void litter(void)
{
	volatile unsigned long words[800];
	for (int i = 0; i < 800; i++)
		words[i] = i & 1 ? 0x0000000100000008 : 8;
}

__attribute__((noinline)) static int touch(int k) { return *nowhere + k; }
__attribute__((noinline)) static int divide(int k) { return k / zero; }
__attribute__((noinline)) static void illegal(void) { __builtin_trap(); }
__attribute__((noinline)) static void stop(void) { __asm__ volatile("int3"); }

static void handle(int number, void (*handler)(int), int flags, int also)
{
	struct sigaction action;

	memset(&action, 0, sizeof action);
	action.sa_handler = handler;
	action.sa_flags = flags;
	if (also)
		sigaddset(&action.sa_mask, also);
	sigaction(number, &action, NULL);
}

// pending delivers two signals at once: the second interrupts the handler of the first at its first instruction.
static void pending(void)
{
	sigset_t both;

	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	sigprocmask(SIG_BLOCK, &both, NULL);
	raise(SIGUSR1);
	raise(SIGUSR2);
	sigprocmask(SIG_UNBLOCK, &both, NULL);
}

__attribute__((noinline)) static int work(const char *how)
{
	struct itimerval soon = { .it_value = { .tv_usec = 1000 } };

	if (!strcmp(how, "read") || !strcmp(how, "nodefer") || !strcmp(how, "crash") || !strcmp(how, "once"))
		return touch(1);
	if (!strcmp(how, "divide"))
		return divide(1);
	if (!strcmp(how, "illegal"))
		illegal();
	if (!strcmp(how, "stop"))
		stop();
	if (!strcmp(how, "stale")) {
		raise(SIGUSR1);
		raise(SIGUSR2);
	}
	if (!strcmp(how, "raise") || !strcmp(how, "other"))
		raise(SIGUSR1);
	if (!strcmp(how, "pending"))
		pending();
	if (!strcmp(how, "alarm")) {
		setitimer(ITIMER_REAL, &soon, NULL);
		for (;;)
			seen++;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	handle(SIGSEGV, !strcmp(how, "crash") ? broken : end, !strcmp(how, "nodefer") ? SA_NODEFER : !strcmp(how, "once") ? SA_RESETHAND | SA_NODEFER : 0, 0);
	handle(SIGFPE, end, 0, 0);
	handle(SIGILL, end, 0, 0);
	handle(SIGTRAP, end, 0, 0);
	handle(SIGALRM, end, 0, 0);
	handle(SIGUSR1, end, 0, 0);
	handle(SIGUSR2, end, 0, 0);
	if (!strcmp(how, "other"))
		handle(SIGUSR1, end, SA_NODEFER, SIGUSR2);
	if (!strcmp(how, "stale")) {
		struct sigaction action;

		memset(&action, 0, sizeof action);
		action.sa_sigaction = informed;
		action.sa_flags = SA_SIGINFO;
		sigaction(SIGUSR1, &action, NULL);
	}
	if (!strcmp(how, "pending"))
		handle(SIGUSR1, keep, 0, 0);
	litter();
	return work(how);
}
