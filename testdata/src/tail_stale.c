// A call through a value that changed afterwards.
//
// Built with -O2. main calls now through a structure, and now puts next there, which would leave
// to now by a tail call. But next did not run. Expected stack:
//   now, main
#include <stddef.h>

#define noipa __attribute__((noipa))

struct machine {
	int (*step)(struct machine *, volatile int *);
	int count;
};

noipa int next(struct machine *, volatile int *);

noipa int now(struct machine *m, volatile int *p)
{
	m->step = next;
	*p = m->count;
	return m->count;
}

noipa int next(struct machine *m, volatile int *p)
{
	m->count++;
	return now(m, p);
}

struct machine machine = { now, 1 };

noipa struct machine *choose(void) { return &machine; }

int main(int argc, char **argv)
{
	struct machine *m = choose();

	return m->step(m, NULL) + argc + argv[0][0] + m->count;
}
