// Inlined calls three deep below a chain of tail calls.
//
// Built with -O2. first tail-calls second, which tail-calls third, so that
// neither leaves a frame; the crash is in poke, inlined into set_field,
// inlined into update, inlined into third. There is one path from main's
// call to third, so a debugger can tell. Expected stack:
//   poke (inlined), set_field (inlined), update (inlined), third,
//   second (tail), first (tail), main
#include <stddef.h>

#define noipa __attribute__((noipa))
#define inlined static inline __attribute__((always_inline))

struct record {
	long id;
	long value;
};

inlined void poke(long *p, long v)
{
	*(volatile long *)p = v;
}

inlined void set_field(struct record *r, long v)
{
	poke(&r->value, v + 1);
}

inlined void update(struct record *r, long v)
{
	set_field(r, v * 3);
}

noipa long third(struct record *r, long v)
{
	update(r, v);
	return v;
}

noipa long second(struct record *r, long v)
{
	return third(r, v + 2);
}

noipa long first(struct record *r, long v)
{
	return second(r, v + 1);
}

int main(int argc, char **argv)
{
	long got = first(NULL, argc);

	return argv[0][0] + (int)got;
}
