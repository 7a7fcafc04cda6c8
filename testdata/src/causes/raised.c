// SIGABRTs of the process itself that are no abort here, and some that are. The argument is the way to die.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long turns;
static pthread_t first;
static void again(int s) { turns++; signal(s, SIG_DFL); raise(s); turns++; }
static void *watch(void *none) { usleep(200000); pthread_kill(first, SIGABRT); for (;;) pause(); return none; }
__attribute__((noinline)) static void waits(void) { for (;;) { pause(); turns++; } }
__attribute__((noinline)) static void works(void) { for (;;) turns++; }
__attribute__((noinline)) static void spins(void) { __asm__ volatile("xor %%eax, %%eax\n1: jmp 1b" ::: "eax"); } // with what a call that succeeded returns
__attribute__((noinline)) static void fails(void) { abort(); }
__attribute__((noinline)) static void raises(void) { raise(SIGABRT); turns++; }
static void killed(void)
{
	if (fork() == 0) {
		usleep(200000);
		kill(getppid(), SIGABRT);
		_exit(0);
	}
}
int main(int argc, char **argv)
{
	pthread_t t;
	first = pthread_self();
	switch (argv[1][0]) {
	case 'h': case 'w': signal(SIGABRT, again); killed(); break;
	case 't': case 'b': case 'z': pthread_create(&t, 0, watch, 0); break;
	case 'a': fails(); break;
	case 'r': raises(); break;
	}
	if (argv[1][0] == 'z')
		spins();
	argv[1][0] == 'h' || argv[1][0] == 't' ? waits() : works();
	return 0;
}
