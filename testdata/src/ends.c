// Several ways to die, chosen by the first argument.
//
//   abort   <libc>..., abort, give_up, main
//   assert  <libc>..., abort, <libc>, __assert_fail, claim, main
//   divide  SIGFPE in quotient, main
//   trap    SIGILL in trap, main
//   bus     SIGBUS in sum_file, main: the file has become shorter than its mapping
//   wait    parked in wait_here, main, until somebody sends a signal
#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void give_up(void)
{
	abort();
}

static void claim(int x)
{
	assert(x == 7);
}

static int quotient(volatile int a, volatile int b)
{
	return a / b;
}

static void trap(void)
{
	__builtin_trap();
}

static int sum_file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600), sum = 0;
	volatile char *map;

	if (fd < 0 || ftruncate(fd, 8192) != 0)
		return 1;
	map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || ftruncate(fd, 4096) != 0)
		return 2;
	for (int i = 0; i < 8192; i++)
		sum += map[i];
	return sum;
}

static void wait_here(void)
{
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "abort";

	if (strcmp(way, "abort") == 0)
		give_up();
	if (strcmp(way, "assert") == 0)
		claim(argc);
	if (strcmp(way, "divide") == 0)
		return quotient(argc, argc - 2);
	if (strcmp(way, "trap") == 0)
		trap();
	if (strcmp(way, "bus") == 0)
		return sum_file("mapped.dat");
	if (strcmp(way, "wait") == 0)
		wait_here();
	return 0;
}
