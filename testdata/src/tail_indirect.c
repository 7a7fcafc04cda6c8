// Functions that leave by a jump to an address that they computed, chosen by the first argument. Built with -O2 the jumps leave no frames.
//
//   once     step has one way out: the jump is known
//   twice    step has two: one of them led on, which is not known
//   inside   step calls, and is on the stack itself
//   bad      the address is that of nothing
//
// Expected stack: <libc>, stop (but for bad), step, walk, main
#include <signal.h>
#include <string.h>

typedef void stop_fn(int);

struct step {
	stop_fn *go, *back;
	int way;
};

__attribute__((noinline)) static void stop(int n)
{
	raise(n ? SIGABRT : SIGTERM);
	__asm__ volatile("");
}

__attribute__((noinline, noclone)) static void once(struct step *s)
{
	s->go(1);
}

__attribute__((noinline, noclone)) static void twice(struct step *s)
{
	if (s->way) {
		s->go(1);
		return;
	}
	s->back(0);
}

__attribute__((noinline, noclone)) static void inside(struct step *s)
{
	s->go(1);
	s->way++;
}

int main(int argc, char **argv)
{
	struct step s = {stop, stop, argc};

	if (strcmp(argv[1], "bad") == 0)
		s.go = (stop_fn *)0x41414141410;
	if (strcmp(argv[1], "twice") == 0)
		twice(&s);
	else if (strcmp(argv[1], "inside") == 0)
		inside(&s);
	else
		once(&s);
	return s.way;
}
