/* A program as Dyninst's rewriter leaves it: the functions of rewritten.S have
   copies with instrumentation (relocated.S), and jumps into those over their first bytes. What
   the run-time library does, this file does. Dies of SIGSEGV, in
     probe     probe, called by instrumentation at the entry of inner
     nopoint   probe, called by instrumentation in work whose frame does not tell where
     copy      the copy of inner
     tramp     instrumentation of work that has no frame
   Stack: ... < inner < tiny < work < main, or < work < main in nopoint and tramp. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

struct trap_map {
	uint32_t signature, entries;
	int32_t pos;
	uint32_t pad;
	uint64_t low, high;
	struct { uint64_t source, target; } entry[1];
};

extern struct trap_map trap_map;
long work(long);

long zero, count;
long *wild = &zero, *counter = &count;
static const char *mode;

void probe(const char *where)
{
	if (strcmp(mode, where) == 0)
		*(volatile int *)0 = 1;
}

/* The dynamic linker has made the entries absolute already. */
__attribute__((constructor)) static void register_traps(void)
{
	trap_map.pos = 0;
	trap_map.low = trap_map.high = trap_map.entry[0].source;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	if ((uint64_t)*pc == trap_map.entry[0].source + 1)
		*pc = trap_map.entry[0].target;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	mode = argv[1];
	if (strcmp(mode, "copy") == 0)
		wild = 0;
	if (strcmp(mode, "tramp") == 0)
		counter = 0;
	sigaction(SIGTRAP, &sa, 0);
	return work(3) + 1;
}
