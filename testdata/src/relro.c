// A pointer in RELRO memory that the core leaves out.
//
// actions is in .data.rel.ro: the loader has written its addresses into the
// page, and the program asks the kernel to leave that page out of the core.
// The file holds other bytes there than memory did, so a reader must answer
// "not in the dump" and not the file's bytes. Expected stack:
//   crash, act, main
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static int crash(volatile int *p)
{
	*p = 1;
	return 2;
}

static int nothing(volatile int *p)
{
	(void)p;
	return 0;
}

struct action {
	const char *name;
	int (*run)(volatile int *);
};

static const struct action actions[] = {
	{ "nothing", nothing },
	{ "crash", crash },
};

static int act(const struct action *a, volatile int *p)
{
	return a->run(p);
}

int main(int argc, char **argv)
{
	long page = sysconf(_SC_PAGESIZE);
	char *start = (char *)((long)actions & -page);

	(void)argv;
	if (madvise(start, page, MADV_DONTDUMP) != 0)
		return 1;
	return act(&actions[argc], NULL);
}
