// A little program with an inlined call, to be linked and packed in many ways.
//
// Built with -O2 -g. store is inlined into fill. Expected stack:
//   store (inlined), fill, visit, main
#include <stddef.h>

#ifdef __clang__
#define noipa __attribute__((noinline))
#else
#define noipa __attribute__((noipa))
#endif

enum colour { red, green, blue };

struct tile {
	struct tile *next;
	enum colour colour;
	char name[12];
	union {
		int whole;
		short half[2];
	} weight;
};

static inline __attribute__((always_inline)) void store(struct tile *t, enum colour c)
{
	*(volatile enum colour *)&t->colour = c;
}

noipa static int fill(struct tile *t, enum colour c)
{
	store(t, c);
	return t->weight.half[0];
}

noipa static int visit(struct tile *first, int depth)
{
	struct tile *t = first;

	while (depth-- > 0)
		t = t->next;
	return fill(t, depth + 2 == 1 ? green : blue) + depth;
}

int main(int argc, char **argv)
{
	static struct tile last = { NULL, red, "last", { 7 } };
	struct tile first = { &last, blue, "first", { argc } };

	return visit(&first, 2) + argv[0][0];
}
